//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
)

// Java compacts what Tarn wrote and Tarn compacts what Java wrote, on one table
// for fifty rounds, minor and in full: after each round both read the rows of the
// model. Its levels differ in format, compression and statistics, and its files have no
// columns of the key.
func TestCompactionsTakeTurns(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
	play := func(java bool, op string) {
		t.Helper()
		var err error
		if java {
			err = j.Scenario(t.Context(), q.Warehouse, json.RawMessage(`{"name":"t","table":"db.t","ops":[`+op+`]}`))
		} else {
			err = replay(t.Context(), q.Warehouse, &interop.Scenario{Name: "t", Table: "db.t", Ops: []json.RawMessage{json.RawMessage(op)}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	play(true, `{"op":"create_table","columns":[["k","INT NOT NULL"],["v","STRING"],["s","BIGINT"]],"primary_keys":["k"],
		"options":{"bucket":"2","num-sorted-run.compaction-trigger":"3","write-only":"true","sequence.field":"s",
		"file.format.per.level":"0:avro","file.compression.per.level":"0:snappy,5:none","metadata.stats-mode.per.level":"0:none","data-file.thin-mode":"true","num-levels":"6"}}`)
	rnd := rand.New(rand.NewPCG(50, 1))
	type row struct {
		v       string
		s       int
		deleted bool
	}
	model := map[int]row{}
	for round := 1; round <= 50; round++ {
		javaWrites, javaCompacts := round%2 == 0, round%4 < 2
		var rows [][]any
		for range 1 + rnd.IntN(8) {
			k, s := rnd.IntN(25), round*10+rnd.IntN(30) // some are late
			r := row{v: fmt.Sprintf("round %d of %d", round, k), s: s, deleted: rnd.IntN(6) == 0}
			kind := "+I"
			if r.deleted {
				kind = "-D"
			}
			old, ok := model[k]
			if ok && old.deleted {
				// A compaction may have forgotten the delete, and how new it was.
				s = max(s, old.s)
				r.s = s
			}
			rows = append(rows, []any{kind, k, r.v, s})
			if !ok || s >= old.s {
				model[k] = r
			}
		}
		user := map[bool]string{true: "java", false: "tarn"}
		text, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		play(javaWrites, fmt.Sprintf(`{"op":"write","user":"w-%s","commit_id":%d,"rows":%s}`, user[javaWrites], round, text))
		full := rnd.IntN(5) == 0
		play(javaCompacts, fmt.Sprintf(`{"op":"compact","user":"c-%s","commit_id":%d,"full":%v}`, user[javaCompacts], round, full))
		want := []string{}
		for k, r := range model {
			if !r.deleted {
				want = append(want, fmt.Sprintf(`{"k":%d,"v":%q,"s":%d}`, k, r.v, r.s))
			}
		}
		slices.Sort(want)
		for who, i := range map[string]implementation{"java": j, "tarn": itself{}} {
			if d := cmp.Diff(want, read(t, i, q)); d != "" {
				t.Fatalf("round %d, %s writes, %s compacts, full %v: %s reads (-model +read) %s", round, user[javaWrites], user[javaCompacts], full, who, d)
			}
		}
	}
	for _, ending := range []string{"avro", "parquet"} {
		if files, err := filepath.Glob(filepath.Join(q.Warehouse, "db.db", "t", "bucket-*", "data-*."+ending)); err != nil || len(files) < 20 {
			t.Errorf("%d files of %s: %v", len(files), ending, err)
		}
	}
	for _, s := range checked(t, j, q) {
		if s.Error != "" {
			t.Errorf("snapshot %d: %s", s.ID, s.Error)
		}
	}
}
