package write

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

func nullsSpec() schema.Spec {
	return schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("INT NOT NULL")},
			{Name: "v", Type: types.MustParse("BIGINT")},
			{Name: "r", Type: types.MustParse("ROW<x BIGINT, l ARRAY<BIGINT>>")},
		},
		PrimaryKeys: []string{"id"},
		Options:     map[string]string{"merge-engine": "partial-update", "fields.v.sequence-group": "r", "bucket": "8"},
	}
}

func nullsRows(n int) (rows [][]types.Value) {
	for i := range n {
		var v types.Value
		if i%3 > 0 {
			v = int64(i)
		}
		rows = append(rows, []types.Value{int64(i % 40), v, []types.Value{v, []types.Value{v}}})
	}
	return rows
}

// A slice of an array does not know its nulls. Buckets that are flushed side by side
// ask the same arrays, which the race detector sees.
func TestBucketsShareArraysThatDoNotKnowTheirNulls(t *testing.T) {
	f := newFixture(t, nullsSpec())
	defer f.alloc.AssertSize(t, 0)
	f.cfg.Workers = 4
	w := f.writer()
	defer w.Close()
	rec := f.batchOf(nil, nullsRows(400)...)
	defer rec.Release()
	slice := rec.NewSlice(1, 399)
	defer slice.Release()
	if err := w.Write(context.Background(), slice); err != nil {
		t.Fatal(err)
	}
	messages, err := w.Prepare(context.Background())
	if err != nil || len(messages) != 8 {
		t.Fatalf("%d messages: %v", len(messages), err)
	}
}

func TestCountNulls(t *testing.T) {
	f := newFixture(t, nullsSpec())
	rec := f.batchOf(nil, nullsRows(20)...)
	defer rec.Release()
	for i := range rec.Columns() {
		a := array.NewSlice(rec.Column(i), 1, 19)
		defer a.Release()
		countNulls(a)
		if a.Data().NullN() < 0 {
			t.Errorf("column %d is not counted", i)
		}
		if s, ok := a.(*array.Struct); ok {
			list := s.Field(1).(*array.List)
			if s.Field(0).Data().NullN() < 0 || list.Data().NullN() < 0 || list.ListValues().Data().NullN() < 0 {
				t.Error("what a row holds is not counted")
			}
		}
	}
}
