//go:build interop

package player

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// A consumer that one side has noted is one of the other's, too.
func TestConsumersAreShared(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	dir := t.TempDir()
	if err := replay(t.Context(), dir, parse(t,
		`{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1"}}`,
		`{"op":"write","rows":[["+I",1,"a"]]}`, `{"op":"write","rows":[["+I",2,"b"]]}`,
		`{"op":"consumer","id":"weird-name.2","next_snapshot":2}`)); err != nil {
		t.Fatal(err)
	}
	if err := j.Scenario(t.Context(), dir, parse(t, `{"op":"consumer","id":"java","next_snapshot":1}`)); err != nil {
		t.Fatal(err)
	}
	err := open(t.Context(), dir, "db.t", func(tab table.Table) error {
		found, err := tab.Consumers(t.Context())
		if want := []table.Consumer{{ID: "java", Next: 1}, {ID: "weird-name.2", Next: 2}}; err != nil || !slices.Equal(found, want) {
			t.Errorf("%v, %v", found, err)
		}
		f, err := tab.Follow(t.Context(), table.FollowOptions{Consumer: "java", To: 1})
		if err != nil {
			return err
		}
		defer f.Close()
		if c, err := f.Next(t.Context()); err != nil || c.Snapshot.ID != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		return f.Acknowledge(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"consumer_id":"java","next_snapshot_id":2}`, `{"consumer_id":"weird-name.2","next_snapshot_id":2}`}
	if diff := cmp.Diff(want, read(t, j, interop.Query{Warehouse: dir, Table: "db.t", System: "consumers"})); diff != "" {
		t.Errorf("read by Java (-want +got):\n%s", diff)
	}
}
