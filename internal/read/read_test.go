package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// expected merges records the plain way and shows what a read must return.
func expected(runs [][]record, sequence, descending bool, match *expr.Bound, columns []string, kind bool) []string {
	byKey := map[int64][]record{}
	for _, r := range slices.Concat(runs...) {
		byKey[r.key] = append(byKey[r.key], r)
	}
	var out []string
	for _, rows := range byKey {
		slices.SortFunc(rows, func(a, b record) int {
			if sequence && a.user != b.user {
				switch {
				case a.user == nil:
					return -1
				case b.user == nil:
					return 1
				case descending:
					return cmp.Compare(b.user.(int64), a.user.(int64))
				}
				return cmp.Compare(a.user.(int64), b.user.(int64))
			}
			return cmp.Compare(a.seq, b.seq)
		})
		last := rows[len(rows)-1]
		if last.kind.IsRetract() || !match.Match(last.value) {
			continue
		}
		var cells []string
		if kind {
			cells = append(cells, fmt.Sprint(int8(last.kind)))
		}
		for _, c := range columns {
			v := last.value(c)
			if v == nil {
				v = "(null)"
			}
			cells = append(cells, fmt.Sprint(v))
		}
		out = append(out, strings.Join(cells, " "))
	}
	slices.Sort(out)
	return out
}

func TestMergeReadEqualsModel(t *testing.T) {
	filters := []expr.Expr{
		nil,
		expr.Compare{Column: "k", Op: expr.Lt, Value: 20},
		expr.Compare{Column: "v", Op: expr.Ge, Value: 50},
		expr.IsNull{Column: "v"},
		expr.And{expr.Compare{Column: "k", Op: expr.Gt, Value: 5}, expr.Not{Child: expr.In{Column: "v", Values: []types.Value{1, 2, 3}}}},
		expr.Or{expr.Compare{Column: "k", Op: expr.Eq, Value: 7}, expr.Prefix{Column: "s", Prefix: "1"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(keyFields, []string{"k"}, nil)
		defer f.mem.AssertSize(t, 0)
		seq := int64(0)
		var runs [][]record
		var files []*datafile.Meta
		for i := range rapid.IntRange(1, 5).Draw(t, "runs") {
			level, key := int32(0), rapid.Int64Range(0, 30).Draw(t, "first key")
			if i == 0 && rapid.Bool().Draw(t, "compacted") {
				level = 5
				f.target = 1 // a file for each batch of the writer
			}
			var rows []record
			for range rapid.IntRange(1, 12).Draw(t, "rows") {
				seq++
				r := record{key: key, seq: seq, v: rapid.SampledFrom([]types.Value{nil, int64(1), int64(2), int64(60), int64(70)}).Draw(t, "v")}
				r.user = rapid.SampledFrom([]types.Value{nil, int64(0), int64(1)}).Draw(t, "u")
				if level == 0 {
					r.kind = rapid.SampledFrom([]types.RowKind{0, 0, 0, 2, 3}).Draw(t, "kind")
				}
				rows = append(rows, r)
				key += rapid.Int64Range(1, 6).Draw(t, "gap")
			}
			runs = append(runs, rows)
			files = append(files, f.writeRun(t, level, rows)...)
			f.target = 128 << 20
		}
		if rapid.Bool().Draw(t, "ages unknown") {
			for i, m := range files {
				vague := *m
				vague.MinSequence = 0
				files[i] = &vague
			}
		}
		options := map[string]string{}
		sequence, descending := rapid.Bool().Draw(t, "sequence field"), rapid.Bool().Draw(t, "descending")
		if sequence {
			options["sequence.field"] = "u"
			if descending {
				options["sequence.field.sort-order"] = "descending"
			}
		}
		columns := rapid.SampledFrom([][]string{{"v", "k", "u", "s"}, {"s"}, {"k", "v"}, {"u"}}).Draw(t, "columns")
		match := where(t, rapid.SampledFrom(filters).Draw(t, "filter"), keyFields)
		req := Request{Columns: columns, Where: match, Kind: rapid.Bool().Draw(t, "kind"), Workers: rapid.IntRange(0, 3).Draw(t, "workers")}

		// One split of all, or one for each section.
		splits := []*split.Split{splitOf(false, files...)}
		if rapid.Bool().Draw(t, "split") {
			sections, err := lsm.Sections(files, []types.Type{keyFields[1].Type})
			if err != nil {
				t.Fatal(err)
			}
			splits = nil
			for _, s := range sections {
				splits = append(splits, splitOf(false, s.Files()...))
			}
		}
		cfg := f.config(t, options)
		cfg.Budget = budget.New(5 << 20) // a split at a time
		r, err := Open(context.Background(), cfg, req, splits)
		if err != nil {
			t.Fatal(err)
		}
		got := rowsOf(t, r)
		slices.Sort(got)
		if want := expected(runs, sequence, descending, match, columns, req.Kind); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if used := cfg.Budget.Used(); used != 0 {
			t.Errorf("%d bytes of the budget are still taken", used)
		}
	})
}

// appendFixture is an append table of n files with rows id = 0, 1, 2 ….
func appendFixture(t failer, files, rows int) (*fixture, []*split.Split) {
	f := newFixture([]types.Field{
		{ID: 0, Name: "id", Type: types.Type{Root: types.BigInt}},
		{ID: 1, Name: "name", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}},
	}, nil, nil)
	// Pooled coders outlive a test; one made in a bubble of package synctest cannot be
	// used by another test.
	f.coding.Compression = "none"
	var splits []*split.Split
	for i := range files {
		var values [][]types.Value
		for j := range rows {
			id := int64(i*rows + j)
			values = append(values, []types.Value{id, fmt.Sprint("n", id)})
		}
		splits = append(splits, splitOf(true, f.write(t, 0, values)...))
	}
	return f, splits
}

func TestOrderAndLimit(t *testing.T) {
	f, splits := appendFixture(t, 4, 50)
	defer f.mem.AssertSize(t, 0)
	all := make([]string, 200)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		req  Request
		want []string
	}{
		{Request{}, all},
		{Request{Limit: 1}, all[:1]},
		{Request{Limit: 50}, all[:50]},
		{Request{Limit: 73}, all[:73]},
		{Request{Limit: 1000}, all},
		{Request{Limit: 3, Where: where(t, expr.Compare{Column: "id", Op: expr.Ge, Value: 120}, f.table.Fields)}, all[120:123]},
	} {
		for _, workers := range []int{1, 3} {
			c.req.Columns, c.req.Workers = []string{"id"}, workers
			r, err := Open(context.Background(), f.config(t, nil), c.req, splits)
			if err != nil {
				t.Fatal(err)
			}
			got := rowsOf(t, r)
			if workers > 1 && len(got) == len(c.want) {
				continue // any rows that many; which ones is a matter of time
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("limit %d, %d workers: %v", c.req.Limit, workers, got)
			}
		}
	}
}

func TestNoColumnsCountsRows(t *testing.T) {
	f, splits := appendFixture(t, 2, 5)
	defer f.mem.AssertSize(t, 0)
	r, err := Open(context.Background(), f.config(t, nil), Request{Columns: []string{}}, splits)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, r); len(got) != 10 {
		t.Errorf("%d rows", len(got))
	}
	if f.pages.Load() != 0 {
		t.Errorf("%d pages decoded for a count", f.pages.Load())
	}
	r, err = Open(context.Background(), f.config(t, nil), Request{Columns: []string{}, Where: where(t, expr.Compare{Column: "id", Op: expr.Lt, Value: 7}, f.table.Fields)}, splits)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, r); len(got) != 7 {
		t.Errorf("%d rows match", len(got))
	}
}

// TestRawFilesOfKeyTables: rows come as they are, all +I as in Java, unless a
// file of old does not say whether it holds deletes.
func TestRawFilesOfKeyTables(t *testing.T) {
	f := newFixture(keyFields, []string{"k"}, nil)
	defer f.mem.AssertSize(t, 0)
	files := f.writeRun(t, 5, []record{{key: 1, seq: 1, kind: types.UpdateAfter}, {key: 2, seq: 2}})
	old := f.writeRun(t, 5, []record{{key: 7, seq: 3}, {key: 8, seq: 4, kind: types.Delete}})
	old[0].DeleteRowCount = nil
	r, err := Open(context.Background(), f.config(t, nil), Request{Columns: []string{"k"}, Kind: true},
		[]*split.Split{splitOf(true, append(files, old...)...)})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, r); !slices.Equal(got, []string{"0 1", "0 2", "0 7"}) {
		t.Errorf("rows are %q", got)
	}
}

func TestPartitionPredicateIsJudgedOnce(t *testing.T) {
	fields := []types.Field{
		{ID: 0, Name: "p", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}},
		{ID: 1, Name: "a", Type: types.Type{Root: types.Int, Nullable: true}},
	}
	f := newFixture(fields, nil, []string{"p"})
	defer f.mem.AssertSize(t, 0)
	var splits []*split.Split
	for _, p := range []types.Value{"x", nil} {
		row, err := binaryrow.Encode([]types.Type{fields[0].Type}, []types.Value{p})
		if err != nil {
			t.Fatal(err)
		}
		dir := "p=x"
		if p == nil {
			dir = "p=__DEFAULT_PARTITION__"
		}
		files := f.write(t, 0, [][]types.Value{{p, int64(1)}, {p, int64(2)}})
		for _, m := range files {
			from, to := f.layout.DataFile("", 0, m.FileName), f.layout.DataFile(dir, 0, m.FileName)
			if err := f.fs.Rename(context.Background(), from, to); err != nil {
				t.Fatal(err)
			}
		}
		splits = append(splits, &split.Split{Partition: row, Files: files, RawConvertible: true})
	}
	for _, c := range []struct {
		e    expr.Expr
		want []string
	}{
		{nil, []string{"x 1", "x 2", "(null) 1", "(null) 2"}},
		{expr.IsNull{Column: "p"}, []string{"(null) 1", "(null) 2"}},
		{expr.And{expr.Compare{Column: "p", Op: expr.Eq, Value: "x"}, expr.Compare{Column: "a", Op: expr.Gt, Value: 1}}, []string{"x 2"}},
		{expr.Or{expr.Compare{Column: "p", Op: expr.Eq, Value: "x"}, expr.Compare{Column: "a", Op: expr.Gt, Value: 1}}, []string{"x 1", "x 2", "(null) 2"}},
	} {
		r, err := Open(context.Background(), f.config(t, nil), Request{Where: where(t, c.e, fields)}, splits)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, r); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q", c.e, got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	f := newFixture(keyFields, []string{"k"}, nil)
	file := &datafile.Meta{FileName: "f.parquet"}
	vector := splitOf(false, file)
	vector.Deletions = []*split.DeletionFile{{Path: "dv-1"}}
	for name, c := range map[string]struct {
		options map[string]string
		req     Request
		split   *split.Split
		kind    tarnerr.Kind
		text    string
	}{
		"deletion vector": {nil, Request{}, vector, tarnerr.Unsupported, "f.parquet"},
		"no column":       {nil, Request{Columns: []string{"k", "nope"}}, splitOf(false), tarnerr.Invalid, "nope"},
		"no sequence":     {map[string]string{"sequence.field": "nope"}, Request{}, splitOf(false), tarnerr.Invalid, "nope"},
	} {
		_, err := Open(context.Background(), f.config(t, c.options), c.req, []*split.Split{c.split})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShutdown ends reads in every way: nothing may be left running, held or reserved.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, splits := appendFixture(t, 6, 40)
		gone := splitOf(true, &datafile.Meta{FileName: "gone.parquet", FileSize: 100, RowCount: 1})
		for _, workers := range []int{1, 3} {
			cfg := f.config(t, nil)
			cfg.Budget = budget.New(14 << 20)
			end := func(how string, ctx context.Context, splits []*split.Split, batches int, want error, stop func()) {
				r, err := Open(ctx, cfg, Request{Workers: workers}, splits)
				if err != nil {
					t.Fatal(err)
				}
				for range batches {
					if _, err := r.Next(context.Background()); err != nil {
						t.Errorf("%s: %v", how, err)
					}
				}
				if stop != nil {
					stop()
					for err == nil {
						_, err = r.Next(ctx)
					}
					if !errors.Is(err, want) {
						t.Errorf("%s, %d workers: %v", how, workers, err)
					}
				}
				if err := r.Close(); err != nil {
					t.Errorf("%s: closing: %v", how, err)
				}
				if _, err := r.Next(context.Background()); !errors.Is(err, tarnerr.Closed) {
					t.Errorf("%s: next after close: %v", how, err)
				}
				if r.Close() != nil {
					t.Errorf("%s: second close", how)
				}
				if cfg.Budget.Used() != 0 {
					t.Errorf("%s: %d bytes are still reserved", how, cfg.Budget.Used())
				}
				f.mem.AssertSize(t, 0)
			}
			end("unread", context.Background(), splits, 0, nil, nil)
			end("in the middle", context.Background(), splits, 2, nil, nil)
			ctx, cancel := context.WithCancel(context.Background())
			end("cancelled", ctx, splits, 1, context.Canceled, cancel)
			end("broken", context.Background(), append(slices.Clone(splits[:2]), gone, gone), 0, tarnerr.NotFound, func() {})
		}
	})
}

// TestBudgetBoundsSplitsSideBySide: with room for one split, four workers read one at a
// time, and their consumer has memory meanwhile.
func TestBudgetBoundsSplitsSideBySide(t *testing.T) {
	f, splits := appendFixture(t, 5, 10)
	defer f.mem.AssertSize(t, 0)
	cfg := f.config(t, nil)
	for workers, half := range map[int]int64{1: 2 << 20, 4: 7 << 20} {
		b := budget.New(2 * half)
		cfg.Budget = b
		r, err := Open(t.Context(), cfg, Request{Workers: workers}, splits)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		held, err := b.Reserve(t.Context(), half)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, r); len(got) != 40 {
			t.Errorf("%d more rows", len(got))
		}
		held.Release()
		if peak := b.Peak(); peak > 2*half || b.Used() != 0 {
			t.Errorf("%d bytes reserved at once, %d at the end", peak, b.Used())
		}
	}
}
