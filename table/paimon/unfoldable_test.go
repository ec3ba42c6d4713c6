package paimon_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// A row that is alone with its key in a flush is not folded there. One that no
// compaction can fold is not committed where commits wait for looking up: its bucket
// could never be compacted again, and readers would miss all that comes later.
func TestUnfoldableRows(t *testing.T) {
	for _, c := range []struct {
		name    string
		options map[string]string
		kind    types.RowKind
		refused bool
		rows    []string // in the end
	}{
		{"first-row -D", map[string]string{"merge-engine": "first-row"}, types.Delete, true, []string{"0|1|0", "2|1|0"}},
		{"first-row -U", map[string]string{"merge-engine": "first-row"}, types.UpdateBefore, true, []string{"0|1|0", "2|1|0"}},
		{"first-row without -U", map[string]string{"merge-engine": "first-row", "ignore-update-before": "true"}, types.UpdateBefore, false, []string{"0|1|0", "2|1|0"}},
		{"first-row without -D", map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}, types.Delete, false, []string{"0|1|0", "2|1|0"}},
		{"max -D", map[string]string{"merge-engine": "aggregation", "fields.n.aggregate-function": "max", "changelog-producer": "lookup"}, types.Delete, true, []string{"0|1|0", "2|1|0"}},
		{"sum -D", map[string]string{"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "changelog-producer": "lookup"}, types.Delete, false, []string{"0|1|0", "1|-5|(null)", "2|1|0"}},
		{"partial-update -D", map[string]string{"merge-engine": "partial-update", "changelog-producer": "lookup"}, types.Delete, true, []string{"0|1|0", "2|1|0"}},
		{"partial-update -D removing", map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "changelog-producer": "lookup"}, types.Delete, false, []string{"0|1|0", "2|1|0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			options := map[string]string{"bucket": "1"}
			maps.Copy(options, c.options)
			fs := f.create(changeSpec(options))
			tbl := f.open(fs)
			write := func(id int64, key int, n int, kind types.RowKind) error {
				w := f.stream(tbl)
				defer w.Close()
				rec := f.kindedBatch(tbl, fmt.Sprintf(`[{"k":%d,"n":%d,"s":0}]`, key, n), []types.RowKind{kind})
				defer rec.Release()
				err := w.Write(f.ctx, rec)
				if err == nil {
					_, err = w.Commit(f.ctx, id)
				}
				return err
			}
			if err := write(1, 0, 1, types.Insert); err != nil {
				t.Fatal(err)
			}
			err := write(2, 1, 5, c.kind)
			if c.refused {
				wantKind(t, err, tarnerr.Invalid)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := write(3, 2, 1, types.Insert); err != nil {
				t.Fatal(err)
			}
			f.want(f.rows(tbl, table.Scan{}), c.rows...)
			f.noOrphans(fs)
		})
	}
}

// A first-row table refuses rows that take others back where they are written, also
// one whose compactions are somebody else's, and takes nothing of their batch.
func TestFirstRowTakesNothingBack(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(changeSpec(map[string]string{"bucket": "1", "merge-engine": "first-row", "write-only": "true"})))
	w := f.stream(tbl)
	defer w.Close()
	rec := f.kindedBatch(tbl, `[{"k":1,"n":1,"s":0},{"k":2,"n":1,"s":0}]`, []types.RowKind{types.Insert, types.Delete})
	defer rec.Release()
	wantKind(t, w.Write(f.ctx, rec), tarnerr.Invalid, "row=1", "kind=-D", "merge-engine=first-row", "ignore-delete=true")
	f.put(w, tbl, `[{"k":3,"n":1,"s":0}]`)
	if _, err := w.Commit(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.compact(tbl, table.CompactOptions{})
	f.want(f.rows(tbl, table.Scan{}), "3|1|0")
}

// Columns that updates are not compared by may be gone: their names mean nothing then,
// as in Java.
func TestIgnoredColumnsThatAreGone(t *testing.T) {
	for _, deduplicate := range []string{"false", "true"} {
		f := newFixture(t)
		fs := f.create(changeSpec(map[string]string{
			"bucket": "1", "changelog-producer": "lookup", "changelog-producer.row-deduplicate": deduplicate,
			"changelog-producer.row-deduplicate-ignore-fields": "s",
		}))
		f.mustWrite(f.open(fs), `[{"k":1,"n":1,"s":1}]`)
		if _, err := schema.NewStore(fs, dir, env.Real()).Alter(f.ctx, schema.RenameColumn{Path: []string{"s"}, To: "t"}); err != nil {
			t.Fatal(err)
		}
		tbl := f.open(fs)
		f.mustWrite(tbl, `[{"k":1,"n":1,"t":2},{"k":2,"n":1,"t":1}]`)
		f.compact(tbl, table.CompactOptions{})
		f.want(f.rows(tbl, table.Scan{}), "1|1|2", "2|1|1")
	}
}
