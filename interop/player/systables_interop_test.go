//go:build interop

package player

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// The columns of system tables, their order and their types are Java's. ($commits is
// Tarn's own; of $snapshots, $files and the like the rows are compared elsewhere.)
func TestColumnsOfSystemTables(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
	s, err := interop.ParseScenario([]byte(`{"name":"t","table":"db.t","ops":[
		{"op":"create_table","columns":[["d","STRING NOT NULL"],["k","INT NOT NULL"],["v","STRING"]],"partition_keys":["d"],"primary_keys":["d","k"],"options":{"bucket":"1"}},
		{"op":"write","user":"u","commit_id":1,"rows":[["+I","x",1,"a"]]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Scenario(t.Context(), q.Warehouse, s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"snapshots", "schemas", "options", "files", "manifests", "partitions", "buckets", "statistics", "consumers"} {
		q.System = name
		rows, err := j.Read(t.Context(), q)
		if err != nil {
			t.Errorf("$%s: %v", name, err)
			continue
		}
		var want, got []string
		for i, c := range rows.Columns {
			want = append(want, c+" "+rows.Types[i])
		}
		err = open(t.Context(), q.Warehouse, q.Table+"$"+name, func(sys table.Table) error {
			for _, f := range sys.Schema().Fields {
				got = append(got, f.Name+" "+f.Type.String())
			}
			return nil
		})
		if err != nil {
			t.Errorf("$%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("$%s (-java +tarn):\n%s", name, diff)
		}
	}
}
