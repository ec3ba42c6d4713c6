package fileformat

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// Run is some rows of a file that follow each other.
type Run struct {
	From int64 // number of the first
	Rows int
}

// Numbered is the schema of batches with the numbers of their rows behind the columns.
func Numbered(schema *arrow.Schema) *arrow.Schema {
	fields := append(slices.Clip(schema.Fields()), arrow.Field{Name: "number", Type: arrow.PrimitiveTypes.Int64})
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// WithNumbers puts the numbers of its rows, which are those of runs, behind the columns
// of rec. Schema is what [Numbered] gave. It releases rec; the caller releases the result.
func WithNumbers(mem memory.Allocator, schema *arrow.Schema, rec arrow.RecordBatch, runs ...Run) arrow.RecordBatch {
	defer rec.Release()
	numbers := Numbers(mem, runs...)
	defer numbers.Release()
	return array.NewRecordBatch(schema, append(slices.Clip(rec.Columns()), arrow.Array(numbers)), rec.NumRows())
}

// Numbers is a column of the numbers of runs, one after the other. The caller releases it.
func Numbers(mem memory.Allocator, runs ...Run) *array.Int64 {
	n := 0
	for _, r := range runs {
		n += r.Rows
	}
	return batch.Int64s(mem, n, func(out []int64) {
		for _, r := range runs {
			for i := range r.Rows {
				out[i] = r.From + int64(i)
			}
			out = out[r.Rows:]
		}
	})
}
