package changelog

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

func TestRows(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for _, c := range []struct {
		before, after bool
		same          func() bool
		was, is       types.RowKind
	}{
		{false, false, nil, None, None},
		{false, true, nil, None, types.Insert},
		{true, false, yes, types.Delete, None},
		{true, true, nil, types.UpdateBefore, types.UpdateAfter},
		{true, true, no, types.UpdateBefore, types.UpdateAfter},
		{true, true, yes, None, None},
	} {
		if was, is := Rows(c.before, c.after, c.same); was != c.was || is != c.is {
			t.Errorf("before %v, after %v: %v and %v", c.before, c.after, was, is)
		}
	}
}

// NaN of any bits is NaN, −0.0 is not 0.0, a map is the same in any order.
func TestEqual(t *testing.T) {
	nan := math.Float64frombits(0x7ff8000000000123)
	floats := func(mem memory.Allocator, vs ...float64) arrow.Array {
		b := array.NewFloat64Builder(mem)
		defer b.Release()
		b.AppendValues(vs, nil)
		b.AppendNull()
		return b.NewArray()
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	a := floats(mem, math.NaN(), 0, 1)
	b := floats(mem, nan, math.Copysign(0, -1), 1)
	defer a.Release()
	defer b.Release()
	one := func(cols ...arrow.Array) arrow.RecordBatch {
		fields := make([]arrow.Field, len(cols))
		for i, c := range cols {
			fields[i] = arrow.Field{Name: "c", Type: c.DataType(), Nullable: true}
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(cols[0].Len()))
	}
	x, y := one(a), one(b)
	defer x.Release()
	defer y.Release()
	e := NewEqual([]int{0})
	for i, want := range []bool{true, false, true, true} {
		if got := e.Rows(x, i, y, i); got != want {
			t.Errorf("row %d: %v", i, got)
		}
	}
	if e.Rows(x, 2, y, 3) || e.Rows(x, 3, y, 2) {
		t.Error("null equals a value")
	}
	nested := func(text string) arrow.RecordBatch {
		s := arrow.NewSchema([]arrow.Field{
			{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), Nullable: true},
			{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true})), Nullable: true},
		}, nil)
		rec, _, err := array.RecordFromJSON(mem, s, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	m := nested(`[{"m":[{"key":"a","value":1},{"key":"b","value":2}],"l":[{"v":1},{"v":null}]},
		{"m":[{"key":"b","value":2},{"key":"a","value":1}],"l":[{"v":1},{"v":null}]},
		{"m":[{"key":"b","value":1},{"key":"a","value":1}],"l":[{"v":1},{"v":null}]},
		{"m":[{"key":"a","value":1},{"key":"b","value":2}],"l":[{"v":null},{"v":1}]},
		{"m":[],"l":[]}, {"m":null,"l":[]}]`)
	defer m.Release()
	e = NewEqual([]int{0, 1})
	for i, want := range []bool{true, true, false, false, false, false} {
		if got := e.Rows(m, 0, m, i); got != want {
			t.Errorf("nested row %d: %v", i, got)
		}
	}
	if e.Rows(m, 4, m, 5) || !e.Rows(m, 5, m, 5) {
		t.Error("no entries and no map are not the same")
	}
}
