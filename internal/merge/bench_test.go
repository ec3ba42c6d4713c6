package merge

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// wide are the columns of the benchmark's rows: what a merge row carries, and
// some payload.
func wide(key types.Type) []types.Field {
	fields := []types.Field{types.SequenceNumberField(), types.ValueKindField(), {ID: 0, Name: "k", Type: key}}
	for i := range 4 {
		fields = append(fields, types.Field{ID: i + 1, Name: fmt.Sprint("l", i), Type: types.Type{Root: types.BigInt, Nullable: true}})
	}
	return append(fields, types.Field{ID: 9, Name: "s", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}})
}

// randomRun holds rows of keys, sorted, in batches of 8192.
func randomRun(tb testing.TB, fields []types.Field, keys []int, seq int64) []arrow.RecordBatch {
	schema := arrowSchema(tb, fields)
	var out []arrow.RecordBatch
	for part := range slices.Chunk(keys, 8192) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, k := range part {
			seq++
			b.Field(0).(*array.Int64Builder).Append(seq)
			b.Field(1).(*array.Int8Builder).Append(0)
			switch kb := b.Field(2).(type) {
			case *array.Int64Builder:
				kb.Append(int64(k))
			case *array.StringBuilder:
				kb.Append(fmt.Sprintf("customer-%09d", k))
			}
			for c := 3; c < 7; c++ {
				b.Field(c).(*array.Int64Builder).Append(int64(k * c))
			}
			b.Field(7).(*array.StringBuilder).Append("some text of a row")
		}
		out = append(out, b.NewRecordBatch())
		b.Release()
	}
	return out
}

func benchRuns(tb testing.TB, key types.Type, runs, rows int, overlap bool) (Config, []types.Field, [][]arrow.RecordBatch) {
	rnd := rand.New(rand.NewPCG(1, 2))
	fields := wide(key)
	var data [][]arrow.RecordBatch
	for r := range runs {
		keys := make([]int, rows)
		for i := range keys {
			if overlap {
				keys[i] = rnd.IntN(2 * rows)
			} else {
				keys[i] = r*rows + i
			}
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		data = append(data, randomRun(tb, fields, keys, int64(r*rows)))
	}
	order, err := NewOrder([]Column{{2, key}})
	if err != nil {
		tb.Fatal(err)
	}
	return Config{
		Keys: order, SequenceNumber: 0, Kind: 1,
		Schema: arrowSchema(tb, fields[2:]), Output: []int{2, 3, 4, 5, 6, 7},
	}, fields, data
}

func mergeAll(tb testing.TB, cfg Config, schema *arrow.Schema, data [][]arrow.RecordBatch) (in, out int) {
	var readers []batch.Reader
	for _, recs := range data {
		for _, r := range recs {
			in += int(r.NumRows())
		}
		readers = append(readers, batch.Of(schema, recs...))
	}
	r := NewReader(cfg, readers)
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return in, out
		}
		if err != nil {
			tb.Fatal(err)
		}
		out += int(rec.NumRows())
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		name    string
		key     types.Type
		runs    int
		overlap bool
		ranked  bool
	}{
		{"bigint/2runs", types.Type{Root: types.BigInt}, 2, true, false},
		{"bigint/8runs", types.Type{Root: types.BigInt}, 8, true, false},
		{"bigint/8runs-ranked", types.Type{Root: types.BigInt}, 8, true, true},
		{"bigint/8runs-apart", types.Type{Root: types.BigInt}, 8, false, false},
		{"bigint/8runs-apart-ranked", types.Type{Root: types.BigInt}, 8, false, true},
		{"string/8runs", types.Type{Root: types.VarChar, Length: 99}, 8, true, false},
		{"string/8runs-ranked", types.Type{Root: types.VarChar, Length: 99}, 8, true, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg, fields, data := benchRuns(b, c.key, c.runs, 50_000, c.overlap)
			cfg.Ranked = c.ranked
			schema := arrowSchema(b, fields)
			b.ReportAllocs()
			in := 0
			for b.Loop() {
				in, _ = mergeAll(b, cfg, schema, data)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in), "ns/row")
		})
	}
}

// engineRuns are benchRuns under an engine: nulls in every other value, sums or
// last values.
func engineRuns(tb testing.TB, options map[string]string, rows int) (Config, *arrow.Schema, [][]arrow.RecordBatch) {
	cfg, fields, data := benchRuns(tb, types.Type{Root: types.BigInt}, 4, rows, true)
	s := &schema.Schema{Fields: fields[2:], PrimaryKeys: []string{"k"}, Options: options}
	o, err := option.Parse(options)
	if err != nil {
		tb.Fatal(err)
	}
	rules, err := NewRules(s, &o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := rules.Apply(&cfg, fields); err != nil {
		tb.Fatal(err)
	}
	cfg.Ranked = true
	return cfg, arrowSchema(tb, fields), data
}

var benchEngines = []struct {
	name    string
	options map[string]string
}{
	{"partial-update", map[string]string{"merge-engine": "partial-update"}},
	{"sequence-group", map[string]string{"merge-engine": "partial-update", "fields.l0.sequence-group": "l1,l2", "fields.l2.aggregate-function": "sum"}},
	{"aggregation", map[string]string{"merge-engine": "aggregation", "fields.l0.aggregate-function": "sum", "fields.l1.aggregate-function": "max", "fields.l2.aggregate-function": "sum"}},
	{"first-row", map[string]string{"merge-engine": "first-row"}},
}

func BenchmarkEngines(b *testing.B) {
	for _, e := range benchEngines {
		b.Run(e.name, func(b *testing.B) {
			cfg, schema, data := engineRuns(b, e.options, 50_000)
			b.ReportAllocs()
			in := 0
			for b.Loop() {
				in, _ = mergeAll(b, cfg, schema, data)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in), "ns/row")
		})
	}
}
