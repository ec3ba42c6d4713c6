package merge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// numbers are the columns of the table whose merges are counted: a key, numbers of
// all types, and text.
func numbers() []types.Field {
	fields := []types.Field{types.SequenceNumberField(), types.ValueKindField(), {ID: 0, Name: "k", Type: types.Type{Root: types.BigInt}}}
	for i, t := range []string{"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(18, 2)", "DECIMAL(38, 2)", "STRING"} {
		fields = append(fields, types.Field{ID: i + 1, Name: fmt.Sprint("c", i), Type: types.MustParse(t)})
	}
	return fields
}

// numbered is a run of so many keys in one batch, every other value null.
func numbered(tb testing.TB, rows int, seq int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema(tb, numbers()))
	defer b.Release()
	rnd := rand.New(rand.NewPCG(1, uint64(seq)))
	for k := range rows {
		b.Field(0).(*array.Int64Builder).Append(seq + int64(k))
		b.Field(1).(*array.Int8Builder).Append(0)
		b.Field(2).(*array.Int64Builder).Append(int64(k))
		for c := 3; c < b.Schema().NumFields(); c++ {
			n := rnd.Int64N(9)
			if n%2 == 0 {
				b.Field(c).AppendNull()
				continue
			}
			switch f := b.Field(c).(type) {
			case *array.Int8Builder:
				f.Append(int8(n))
			case *array.Int16Builder:
				f.Append(int16(n))
			case *array.Int32Builder:
				f.Append(int32(n))
			case *array.Int64Builder:
				f.Append(n)
			case *array.Float32Builder:
				f.Append(float32(n))
			case *array.Float64Builder:
				f.Append(float64(n))
			case *array.Decimal128Builder:
				f.Append(decimal128.FromI64(n))
			case *array.StringBuilder:
				f.Append("text of a row")
			}
		}
	}
	return b.NewRecordBatch()
}

// A merge allocates as much for a batch of few rows as for one of many: nothing is
// boxed or allocated per row, key or value. Deduplication is counted, partial update,
// and aggregation of numbers, by age and in the tree.
func TestAllocationsArePerBatch(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget, so that allocations vary")
	}
	engines := map[string]map[string]string{
		"deduplicate":    {},
		"partial-update": {"merge-engine": "partial-update"},
		"first-row":      {"merge-engine": "first-row"},
		"sequence groups": {"merge-engine": "partial-update", "fields.c3.sequence-group": "c0,c1", "fields.c2.sequence-group": "c5,c8",
			"fields.c5.aggregate-function": "sum"},
	}
	for _, f := range []string{"sum", "product", "max", "min", "last_value", "last_non_null_value", "first_value", "first_non_null_value"} {
		options := map[string]string{"merge-engine": "aggregation", "fields.c8.aggregate-function": "last_value", "fields.default-aggregate-function": f}
		if f == "product" { // of three numbers below nine: they fit
			options["fields.c0.aggregate-function"] = "max"
		}
		engines[f] = options
	}
	for name, options := range engines {
		for _, ranked := range []bool{true, false} {
			fields := numbers()
			s := &schema.Schema{Fields: fields[2:], PrimaryKeys: []string{"k"}, Options: options}
			o, err := option.Parse(options)
			if err != nil {
				t.Fatal(err)
			}
			rules, err := NewRules(s, &o)
			if err != nil {
				t.Fatal(err)
			}
			order, err := NewOrder([]Column{{2, fields[2].Type}})
			if err != nil {
				t.Fatal(err)
			}
			as := arrowSchema(t, fields)
			perBatch := func(rows int) float64 {
				allocations := func(batches int) float64 {
					cfg := Config{Keys: order, SequenceNumber: 0, Kind: 1, Ranked: ranked, Schema: arrowSchema(t, fields[2:]), BatchRows: rows}
					for i := range fields[2:] {
						cfg.Output = append(cfg.Output, 2+i)
					}
					if err := rules.Apply(&cfg, fields); err != nil {
						t.Fatal(err)
					}
					n := rows * batches
					var data [][]arrow.RecordBatch
					for run := range 3 {
						data = append(data, []arrow.RecordBatch{numbered(t, n, int64(run*n))})
					}
					return testing.AllocsPerRun(2, func() {
						if _, out := mergeAll(t, cfg, as, data); out != n {
							t.Fatalf("%d rows, want %d", out, n)
						}
					})
				}
				return (allocations(12) - allocations(4)) / 8
			}
			few, many := perBatch(64), perBatch(512)
			// Less than one a batch is what slices still grow.
			if math.Abs(few-many) >= 1 {
				t.Errorf("%s, ranked %v: %v allocations for a batch of 64 rows, %v for one of 512", name, ranked, few, many)
			}
		}
	}
}
