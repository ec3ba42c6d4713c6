package orc

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
)

// TestNumbers: rows know their numbers in the file, whatever stripes and row groups are skipped
// before them. The ids of the file's rows are these numbers.
func TestNumbers(t *testing.T) {
	fields := pyFields("scalars")
	for _, c := range []struct {
		where expr.Expr
		rows  int
	}{
		{nil, 150},
		{expr.Compare{Column: "id", Op: expr.Eq, Value: 70}, 10},
		{expr.Or{expr.Compare{Column: "id", Op: expr.Lt, Value: 3}, expr.Compare{Column: "id", Op: expr.Gt, Value: 120}}, 40},
		{expr.Compare{Column: "id", Op: expr.Gt, Value: 120}, 30},
	} {
		f := testFile(t, "scalars-stripes.orc", checked(t))
		req := fileformat.ReadRequest{Columns: fields, Where: bind(t, c.where, fields), Numbers: true, BatchRows: 20}
		r, err := f.Read(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		err = eachBatch(r, func(rec arrow.RecordBatch) error {
			ids, numbers := rec.Column(0).(*array.Int64), rec.Column(len(fields)).(*array.Int64)
			for i := range ids.Len() {
				if ids.Value(i) != numbers.Value(i) {
					t.Errorf("row %d says that it is number %d", ids.Value(i), numbers.Value(i))
				}
			}
			rows += ids.Len()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rows != c.rows {
			t.Errorf("%v: %d rows, want %d", c.where, rows, c.rows)
		}
	}
}
