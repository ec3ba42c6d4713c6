package avro

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// TestNumbers: rows know their numbers in the file, from wherever it is read.
func TestNumbers(t *testing.T) {
	alloc := checked(t)
	fields := []types.Field{field(0, "n", "BIGINT"), field(1, "s", "STRING")}
	var rows [][]types.Value
	for i := range 9000 {
		rows = append(rows, []types.Value{int64(i), "a row among others"})
	}
	rec := record(t, alloc, fields, rows...)
	data, _ := write(t, fields, fileformat.WriteOptions{}, rec)
	rec.Release()
	f := open(t, data, alloc)
	for _, part := range [][2]int64{{0, 0}, {0, 1}, {1, 2}, {4321, 0}, {100, 7000}, {8999, 9000}} {
		r, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: fields, Numbers: true, From: part[0], To: part[1], BatchRows: 700})
		if err != nil {
			t.Fatal(err)
		}
		next := part[0]
		err = eachBatch(r, func(rec arrow.RecordBatch) error {
			ids, numbers := rec.Column(0).(*array.Int64), rec.Column(2).(*array.Int64)
			for i := range ids.Len() {
				if ids.Value(i) != numbers.Value(i) || ids.Value(i) != next {
					t.Fatalf("row %d says that it is number %d, want %d", ids.Value(i), numbers.Value(i), next)
				}
				next++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := min(9000, part[1]+9000*b2i(part[1] == 0)); next != want {
			t.Errorf("rows from %d to %d, want to %d", part[0], next, want)
		}
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
