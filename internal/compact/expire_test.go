package compact

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// clock is what the fixture's clock shows.
const clock = int64(1_700_000_000)

// expiringFixture is a table whose rows expire an hour after the second in column u.
func expiringFixture(t failer, options map[string]string) *fixture {
	all := map[string]string{"record-level.expire-time": "1 h", "record-level.time-field": "u"}
	maps.Copy(all, options)
	return newFixture(t, []string{"k"}, all)
}

// at is a row of a key whose time is so many seconds ago.
func at(key, ago, seq int64, kind types.RowKind) record {
	return record{key: key, value: ago, user: clock - ago, seq: seq, kind: kind}
}

// texts are kinds, keys and values of rows.
func texts(rows []record) (out []string) {
	for _, r := range rows {
		out = append(out, fmt.Sprint(r.kind, " ", r.key, " ", r.value))
	}
	return out
}

func (f *fixture) rewrite(r *Rewriter, unit lsm.Unit, below ...*datafile.Meta) Result {
	f.t.Helper()
	out, err := r.Rewrite(context.Background(), Task{Unit: unit, Highest: 5, DropDeletes: unit.OutputLevel == 5, Below: below})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// Rows that have expired are not there for a compaction: older ones come to light,
// and deletes expire too.
func TestExpiredRowsGo(t *testing.T) {
	f := expiringFixture(t, nil)
	r := f.rewriter(1)
	old := f.flush(0, at(1, 0, 1, 0), at(2, 3600, 2, 0), at(3, 3601, 3, 0), at(5, 10, 4, 0))
	fresh := f.flush(0, at(1, 5000, 5, 0), record{key: 4, seq: 6}, at(5, 9999, 7, types.Delete), at(6, clock, 8, 0))
	out := f.rewrite(r, lsm.Unit{OutputLevel: 3, Files: append(fresh, old...)})
	if got, want := texts(f.rows(out.After...)), []string{"+I 1 0", "+I 2 3600", "+I 4 0", "+I 5 10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	gone := f.flush(0, at(1, 9999, 9, 0))
	if out = f.rewrite(r, lsm.Unit{OutputLevel: 5, Files: gone}); len(out.After) > 0 || len(out.Before) != 1 {
		t.Errorf("a file of expired rows gives %+v", out)
	}
	f.mem.AssertSize(t, 0)
}

// A file with expired rows is written anew where another one just moves, or stays.
func TestFilesWithExpiredRowsAreRewritten(t *testing.T) {
	f := expiringFixture(t, map[string]string{"target-file-size": "1 b"})
	r := f.rewriter(1)
	good, bad := f.flush(0, at(1, 0, 1, 0)), f.flush(0, at(2, 0, 2, 0), at(3, 4000, 3, 0))
	out := f.rewrite(r, lsm.Unit{OutputLevel: 4, Files: slices.Concat(bad, good)})
	if len(out.After) != 2 || out.After[0].FileName != good[0].FileName || out.After[1].FileName == bad[0].FileName || out.After[1].RowCount != 1 {
		t.Fatalf("after %+v", out.After)
	}
	for _, m := range slices.Concat(good, bad) {
		m.Level = 5
	}
	unit, ok := f.pickFull(r, f.levels(slices.Concat(good, bad), r))
	if !ok || !unit.Alone || len(unit.Files) != 1 || unit.Files[0] != bad[0] {
		t.Errorf("picked %+v, %v", unit, ok)
	}
	if unit, ok = f.pickFull(r, f.levels(good, r)); ok {
		t.Errorf("picked %+v", unit)
	}
	f.mem.AssertSize(t, 0)
}

// What expired is told by no changelog, and an update of it is an insert.
func TestChangelogOfExpiredRows(t *testing.T) {
	for _, c := range []struct {
		producer, engine string
		level            int32
		want             []string
	}{
		{"full-compaction", "deduplicate", 5, []string{"+I 1 0", "-U 2 7", "+U 2 1"}},
		{"lookup", "deduplicate", 4, []string{"+I 1 0", "-U 2 7", "+U 2 1"}},
		{"lookup", "first-row", 4, nil}, // it had its first rows
	} {
		f := expiringFixture(t, map[string]string{"changelog-producer": c.producer, "merge-engine": c.engine})
		r := f.rewriter(1)
		old := f.flush(5, at(1, 4000, 1, 0), at(2, 7, 2, 0), at(3, 5000, 3, 0))
		old[0].Level = 5
		fresh := f.flush(0, at(1, 0, 4, 0), at(2, 1, 5, 0), at(4, 6000, 6, 0))
		unit := lsm.Unit{OutputLevel: int(c.level), Files: fresh}
		if c.level == 5 {
			unit.Files = append(unit.Files, old...)
			old = nil
		}
		out := f.rewrite(r, unit, old...)
		if got := texts(f.rows(out.Changelog...)); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %q, want %q", c.producer, c.engine, got, c.want)
		}
		f.mem.AssertSize(t, 0)
	}
}

// Times are of these types and mean these seconds, in rows and in statistics.
func TestTimesOfRows(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for _, c := range []struct {
		typ  string
		text string
		want []int64 // −1<<63 for none
	}{
		{"INT", `[7, null, -3]`, []int64{7, -1 << 63, -3}},
		{"BIGINT", `[7, 999999999999, 1000000000000, 1700000000999, -1700000000999]`, []int64{7, 999999999999, 1000000000, 1700000000, -1700000000999}},
		{"TIMESTAMP(0)", `["1970-01-01 00:00:09"]`, []int64{9}},
		{"TIMESTAMP(3)", `["1970-01-01 00:00:09.999", "1969-12-31 23:59:59.500", "1969-12-31 23:59:58.500", null]`, []int64{9, 0, -1, -1 << 63}},
		{"TIMESTAMP(6)", `["1969-12-31 23:59:59.000001", "1969-12-31 23:59:59.001"]`, []int64{-1, 0}},
		{"TIMESTAMP(9) WITH LOCAL TIME ZONE", `["1970-01-02 00:00:00.000000001Z"]`, []int64{86400}},
	} {
		typ := types.MustParse(c.typ)
		s := &schema.Schema{PrimaryKeys: []string{"k"}, Fields: []types.Field{{ID: 1, Name: "k", Type: types.Type{Root: types.Int}}, {ID: 2, Name: "at", Type: typ}}}
		for shift, limit := range []int64{0, 1} {
			e := env.Seeded(1, time.Unix(0, 0))
			x, err := newExpiry(s, option.RecordExpire{Set: true, Field: "at"}, e)
			if err != nil {
				t.Fatal(err)
			}
			as, err := types.ArrowSchema(s.Fields[1:])
			if err != nil {
				t.Fatal(err)
			}
			column, _, err := array.FromJSON(mem, as.Field(0).Type, strings.NewReader(c.text))
			if err != nil {
				t.Fatal(c.typ, err)
			}
			for i, want := range c.want {
				r := &expiring{x: x, now: want + limit}
				one := array.NewSlice(column, int64(i), int64(i+1))
				if want == -1<<63 {
					r.now = 1 << 62
				}
				if got := r.mark(one); got != (shift == 1 && want != -1<<63) {
					t.Errorf("%s %d at %d: %v", c.typ, i, r.now, got)
				}
				one.Release()
				x.now = func() int64 { return r.now }
				v := types.ValueAt(typ, column, i)
				row, err := binaryrow.Encode([]types.Type{typ.WithNull(true)}, []types.Value{v})
				if err != nil {
					t.Fatal(err)
				}
				f := &datafile.Meta{ValueStats: datafile.Stats{Min: row}, ValueStatsCols: []string{"at"}}
				if got := x.oldest(f, s); got != (shift == 1 && want != -1<<63) {
					t.Errorf("%s %d at %d by statistics: %v", c.typ, i, r.now, got)
				}
			}
			column.Release()
		}
	}
	for _, typ := range []string{"STRING", "DATE", "SMALLINT"} {
		s := &schema.Schema{PrimaryKeys: []string{"at"}, Fields: []types.Field{{ID: 1, Name: "at", Type: types.MustParse(typ)}}}
		if _, err := newExpiry(s, option.RecordExpire{Set: true, Field: "at"}, env.Seeded(1, time.Unix(0, 0))); err == nil {
			t.Errorf("%s is taken for a time", typ)
		}
	}
}

// Statistics of files of older schemas are found by the field's id, and converted;
// what nobody knows expires nothing.
func TestStatisticsOfOlderSchemas(t *testing.T) {
	f := expiringFixture(t, nil)
	r := f.rewriter(1)
	older := &schema.Schema{ID: 1, Fields: []types.Field{
		{ID: 9, Name: "x", Type: types.Type{Root: types.Int, Nullable: true}},
		{ID: 2, Name: "was", Type: types.Type{Root: types.SmallInt, Nullable: true}},
	}}
	without := &schema.Schema{ID: 2, Fields: older.Fields[:1]}
	r.cfg.SchemaByID = func(_ context.Context, id int64) (*schema.Schema, error) {
		return map[int64]*schema.Schema{1: older, 2: without}[id], nil
	}
	stats := func(values ...types.Value) datafile.Stats {
		row, err := binaryrow.Encode([]types.Type{older.Fields[0].Type, older.Fields[1].Type}[:len(values)], values)
		if err != nil {
			t.Fatal(err)
		}
		return datafile.Stats{Min: row}
	}
	for name, c := range map[string]struct {
		file *datafile.Meta
		want bool
	}{
		"old":          {&datafile.Meta{SchemaID: 1, ValueStats: stats(nil, int64(5))}, true},
		"null":         {&datafile.Meta{SchemaID: 1, ValueStats: stats(int64(5), nil)}, false},
		"dense":        {&datafile.Meta{SchemaID: 1, ValueStats: stats(int64(5)), ValueStatsCols: []string{"x"}}, false},
		"none":         {&datafile.Meta{SchemaID: 1, ValueStats: datafile.EmptyStats(), ValueStatsCols: []string{}}, false},
		"added later":  {&datafile.Meta{SchemaID: 2, ValueStats: stats(int64(5))}, false},
		"unreadable":   {&datafile.Meta{SchemaID: 1, ValueStats: datafile.Stats{Min: binaryrow.Row{0, 0, 0, 2}}}, false},
		"no row":       {&datafile.Meta{SchemaID: 1}, false},
		"of the table": {&datafile.Meta{SchemaID: f.schema.ID, ValueStatsCols: []string{"was"}, ValueStats: stats(int64(5))}, false},
	} {
		must, err := r.MustRewrite(context.Background(), []*datafile.Meta{c.file})
		if err != nil {
			t.Fatal(err)
		}
		if got := must(c.file); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
