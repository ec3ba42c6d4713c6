package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// engineTable is a table with key k and columns a to f, of which e is text.
func engineTable(options map[string]string) *schema.Schema {
	s := &schema.Schema{PrimaryKeys: []string{"k"}, Options: options}
	s.Fields = append(s.Fields, types.Field{ID: 0, Name: "k", Type: types.Type{Root: types.Int}})
	for i, name := range []string{"a", "g", "b", "c", "h", "i", "d"} {
		s.Fields = append(s.Fields, types.Field{ID: i + 1, Name: name, Type: types.Type{Root: types.BigInt, Nullable: true}})
	}
	s.Fields = append(s.Fields, types.Field{ID: 8, Name: "e", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}})
	return s
}

// keyOf is the key of a row of engineTable.
func keyOf(r oracle.Row) int64 { return r.Values[0].(int64) }

// engineFields are the columns of the runs: the table's, then system columns.
func engineFields(s *schema.Schema) []types.Field {
	return append(slices.Clone(s.Fields), types.SequenceNumberField(), types.ValueKindField())
}

func engineRun(t failer, mem memory.Allocator, fields []types.Field, rows []oracle.Row, size int) batch.Reader {
	as := arrowSchema(t, fields)
	var recs []arrow.RecordBatch
	for part := range slices.Chunk(rows, size) {
		b := array.NewRecordBuilder(mem, as)
		for _, r := range part {
			for i, v := range append(slices.Clone(r.Values), types.Value(r.Number), types.Value(int64(r.Kind))) {
				if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		recs = append(recs, b.NewRecordBatch())
		b.Release()
	}
	r := batch.Of(as, recs...)
	for _, rec := range recs {
		rec.Release()
	}
	return r
}

// engineConfig merges whole rows with all system columns.
func engineConfig(t failer, mem memory.Allocator, s *schema.Schema) Config {
	o, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := NewRules(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	fields := engineFields(s)
	keys, err := NewOrder([]Column{{0, fields[0].Type}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Keys: keys, SequenceNumber: len(s.Fields), Kind: len(s.Fields) + 1, Mem: mem, Schema: arrowSchema(t, fields)}
	for i := range fields {
		cfg.Output = append(cfg.Output, i)
	}
	if err := rules.Apply(&cfg, fields); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// readRows reads r to its end and closes it.
func readRows(r batch.Reader, fields []types.Field) (out []oracle.Row, err error) {
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for i := range int(rec.NumRows()) {
			var e oracle.Row
			for c, f := range fields {
				v := types.ValueAt(f.Type, rec.Column(c), i)
				switch f.ID {
				case types.SequenceNumberID:
					e.Number = v.(int64)
				case types.ValueKindID:
					e.Kind = types.RowKind(v.(int64))
				default:
					e.Values = append(e.Values, v)
				}
			}
			out = append(out, e)
		}
	}
}

// engineOptions are option sets of the engines without functions that compute.
var engineOptions = []map[string]string{
	{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
	{"merge-engine": "partial-update", "ignore-delete": "true"},
	{"merge-engine": "partial-update"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "g,a,b", "fields.h,i.sequence-group": "c", "ignore-delete": "true"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e", "partial-update.remove-record-on-sequence-group": "g"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e", "partial-update.remove-record-on-sequence-group": "i,g"},
	{"merge-engine": "aggregation", "fields.a.aggregate-function": "last_value"},
	{"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value", "fields.e.aggregate-function": "last_non_null_value", "aggregation.remove-record-on-delete": "true"},
	{"merge-engine": "first-row"},
	{"merge-engine": "first-row", "ignore-delete": "true"},
}

// drawRuns draws runs, the oldest first, each with a key once.
func drawRuns(t *rapid.T, s *schema.Schema) (runs [][]oracle.Row) {
	seq := int64(0)
	deletes := rapid.SampledFrom([]int{0, 2, 6, 40}).Draw(t, "deletes")
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		var rows []oracle.Row
		key := rapid.Int64Range(0, 20).Draw(t, "first")
		step := rapid.SampledFrom([]int64{1, 3, 20}).Draw(t, "step")
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			seq++
			r := oracle.Row{Number: seq, Values: []types.Value{key}}
			if deletes > 0 && rapid.IntRange(0, deletes).Draw(t, "delete") == 0 {
				r.Kind = rapid.SampledFrom([]types.RowKind{types.Delete, types.UpdateBefore, types.UpdateAfter}).Draw(t, "kind")
			}
			for _, f := range s.Fields[1:] {
				v := rapid.Int64Range(-2, 3).Draw(t, f.Name)
				switch {
				case v < 0:
					r.Values = append(r.Values, nil)
				case f.Type.Root == types.VarChar:
					r.Values = append(r.Values, fmt.Sprint(v, "@", seq))
				default:
					r.Values = append(r.Values, v)
				}
			}
			rows = append(rows, r)
			key += rapid.Int64Range(1, step).Draw(t, "gap")
		}
		runs = append(runs, rows)
	}
	return runs
}

// modelled merges runs by the model.
func modelled(s *schema.Schema, runs [][]oracle.Row, keepDeletes bool) (out []oracle.Row, err error) {
	byKey := map[int64][]oracle.Row{}
	var keys []int64
	for _, r := range slices.Concat(runs...) {
		if byKey[keyOf(r)] == nil {
			keys = append(keys, keyOf(r))
		}
		byKey[keyOf(r)] = append(byKey[keyOf(r)], r)
	}
	slices.Sort(keys)
	m := oracle.NewModel(s)
	for _, k := range keys {
		r, ok, err := m.Merge(byKey[k])
		if err != nil {
			return nil, err
		}
		if ok && (keepDeletes || !r.Kind.IsRetract()) {
			out = append(out, r)
		}
	}
	return out, nil
}

// TestEnginesEqualTheModel merges random runs by all engines, in the tree and in
// the relay, once at a time and in two steps.
func TestEnginesEqualTheModel(t *testing.T) {
	for i := 0; i < len(engineOptions); i += 4 {
		some := engineOptions[i : i+4]
		t.Run(some[0]["merge-engine"], func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				mergeAsModelled(t, rapid.SampledFrom(some).Draw(t, "options"))
			})
		})
	}
}

func mergeAsModelled(t *rapid.T, options map[string]string) {
	s := engineTable(options)
	fields := engineFields(s)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	cfg := engineConfig(t, mem, s)
	cfg.KeepDeletes = rapid.Bool().Draw(t, "keep")
	cfg.Ranked = rapid.Bool().Draw(t, "ranked")
	cfg.BatchRows = rapid.IntRange(1, 20).Draw(t, "batch rows")
	runs := drawRuns(t, s)
	var readers []batch.Reader
	for _, rows := range runs {
		readers = append(readers, engineRun(t, mem, fields, rows, rapid.IntRange(1, 12).Draw(t, "run batch")))
	}
	got, err := readRows(NewReader(cfg, readers), fields)
	want, wantErr := modelled(s, runs, cfg.KeepDeletes)
	if wantErr != nil {
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "can not accept") {
			t.Fatalf("error %v, want one about deletes", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, want, isTrue(options["ignore-delete"]))
}

// sameRows compares rows; loose leaves out what nobody sees of a key whose rows
// were all ignored: its sequence number.
func sameRows(t failer, got, want []oracle.Row, loose bool) {
	t.Helper()
	text := func(rows []oracle.Row) string {
		var b strings.Builder
		for _, r := range rows {
			if loose && r.Kind.IsRetract() {
				r.Number = 0
			}
			fmt.Fprintln(&b, r)
		}
		return b.String()
	}
	if g, w := text(got), text(want); g != w {
		t.Fatal(fmt.Sprintf("got\n%swant\n%s", g, w))
	}
}

// A Folder that folds lone rows, too, makes of the rows of each key what the model
// makes of them.
func TestLoneRowsAreFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		options := rapid.SampledFrom(engineOptions).Draw(t, "options")
		s := engineTable(options)
		fields := engineFields(s)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		cfg := engineConfig(t, mem, s)
		cfg.KeepDeletes, cfg.FoldLone = true, true
		byKey := map[int64][]oracle.Row{}
		for _, r := range slices.Concat(drawRuns(t, s)...) {
			byKey[keyOf(r)] = append(byKey[keyOf(r)], r)
		}
		var all, want []oracle.Row
		var rows Rows
		var wantErr error
		m := oracle.NewModel(s)
		for _, k := range slices.Sorted(maps.Keys(byKey)) {
			for _, r := range byKey[k] {
				rows.Refs, rows.Kinds = append(rows.Refs, batch.NewRef(0, len(all))), append(rows.Kinds, int8(r.Kind))
				all = append(all, r)
			}
			rows.Ends = append(rows.Ends, len(all))
			r, ok, err := m.Fold(byKey[k])
			if err != nil {
				wantErr = err
			}
			if ok {
				want = append(want, r)
			}
		}
		if len(all) == 0 {
			return
		}
		source := engineRun(t, mem, fields, all, len(all))
		defer source.Close()
		rec, err := source.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewFolder(cfg)
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := f.Fold([]arrow.RecordBatch{rec}, rows)
		if wantErr != nil {
			if !errors.Is(err, tarnerr.Invalid) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []oracle.Row
		if out != nil {
			one := batch.Of(out.Schema(), out)
			out.Release()
			if got, err = readRows(one, fields); err != nil {
				t.Fatal(err)
			}
		}
		sameRows(t, got, want, isTrue(options["ignore-delete"]))
	})
}

// Of several rows above level 0 the lowest is folded, alone as it is then.
func TestRowsLeftAloneAreFolded(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	s := engineTable(map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.default-aggregate-function": "last_value"})
	fields := engineFields(s)
	of := func(key, number, a int64, kind types.RowKind) oracle.Row {
		return oracle.Row{Number: number, Kind: kind, Values: []types.Value{key, a, nil, nil, nil, nil, nil, nil, nil}}
	}
	for batchRows := 1; batchRows < 4; batchRows++ {
		cfg := engineConfig(t, mem, s)
		cfg.BatchRows = batchRows
		levels := []int32{3, 1, 0}
		cfg.Level = func(run int) int32 { return levels[run] }
		r := NewReader(cfg, []batch.Reader{
			engineRun(t, mem, fields, []oracle.Row{of(1, 1, 9, 0), of(2, 2, 9, 0), of(3, 3, 9, 0)}, 2),
			engineRun(t, mem, fields, []oracle.Row{of(1, 4, 5, types.Delete), of(3, 5, 5, types.UpdateBefore), of(4, 6, 5, types.Delete)}, 2),
			engineRun(t, mem, fields, []oracle.Row{of(3, 7, 1, 0)}, 2),
		})
		got, err := readRows(r, fields)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, got, []oracle.Row{of(1, 4, -5, 0), of(2, 2, 9, 0), of(3, 7, -4, 0)}, false)
	}
	// Deduplication, too, sees the lowest one alone, whatever its sequence field says.
	cfg := testConfig(t, mem)
	cfg.Sequence, cfg.Level = []Column{{3, runFields[3].Type}}, func(run int) int32 { return []int32{3, 1, 0}[run] }
	got, _ := payloads(t, NewReader(cfg, []batch.Reader{
		runOf(t, mem, []row{{key: 1, seq: 1, user: int64(9), payload: "old"}, {key: 2, seq: 2, user: int64(9), payload: "old"}}, 9),
		runOf(t, mem, []row{{key: 1, seq: 3, user: int64(5), payload: "new"}, {key: 2, seq: 4, user: int64(5), payload: "new"}}, 9),
		runOf(t, mem, []row{{key: 2, seq: 5, user: int64(2), payload: "late"}}, 9),
	}))
	if want := []string{"new+I", "new+I"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
