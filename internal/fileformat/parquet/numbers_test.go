package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// TestNumbers: rows know their numbers in the file, whatever row groups, pages and
// rows are skipped before them, and in whatever batches they come. The ids of the
// file's rows are these numbers.
func TestNumbers(t *testing.T) {
	f, fields, _ := sortedFile(t, memory.NewGoAllocator())
	ops := []expr.Op{expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge}
	rapid.Check(t, func(rt *rapid.T) {
		var terms expr.Or
		for range rapid.IntRange(0, 3).Draw(rt, "terms") {
			id := rapid.IntRange(-5, 1005).Draw(rt, "id")
			terms = append(terms, expr.And{
				expr.Compare{Column: "id", Op: rapid.SampledFrom(ops).Draw(rt, "op"), Value: id},
				expr.Compare{Column: "id", Op: expr.Lt, Value: id + rapid.IntRange(1, 300).Draw(rt, "width")},
			})
		}
		req := fileformat.ReadRequest{
			Columns: []types.Field{fields[1], fields[0]}, Numbers: true,
			BatchRows: rapid.IntRange(1, 400).Draw(rt, "batch"), From: int64(rapid.IntRange(0, 999).Draw(rt, "from")),
			Workers: rapid.IntRange(1, 2).Draw(rt, "workers"),
		}
		if len(terms) > 0 {
			where, err := expr.Bind(terms, fields)
			if err != nil {
				rt.Fatal(err)
			}
			req.Where = where
		}
		r, err := f.Read(t.Context(), req)
		if err != nil {
			rt.Fatal(err)
		}
		rows := 0
		err = eachBatch(r, func(rec arrow.RecordBatch) error {
			ids, numbers := rec.Column(1).(*array.Int64), rec.Column(2).(*array.Int64)
			for i := range ids.Len() {
				if ids.Value(i) != numbers.Value(i) {
					rt.Fatalf("row %d says that it is number %d", ids.Value(i), numbers.Value(i))
				}
			}
			rows += ids.Len()
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
		if len(terms) == 0 && rows != 1000-int(req.From) {
			rt.Fatalf("%d rows from %d on", rows, req.From)
		}
	})
}
