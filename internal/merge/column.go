package merge

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// column is a typed view of one column of a batch that rows are ordered by. One
// of the slices is set, as the type says.
type column struct {
	nulls arrow.Array // nil when no value is null
	bools *array.Boolean
	i8    []int8
	i16   []int16
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	dec   []decimal128.Num
	off   []int32
	data  []byte
}

// load points c at a column of a batch.
func (c *column) load(a arrow.Array) error {
	*c = column{}
	n := a.Len()
	if a.NullN() > 0 {
		c.nulls = a
	}
	switch a := a.(type) {
	case *array.Boolean:
		c.bools = a
	case *array.Int8:
		c.i8 = sized(a.Int8Values(), n)
	case *array.Int16:
		c.i16 = sized(a.Int16Values(), n)
	case *array.Int32:
		c.i32 = sized(a.Int32Values(), n)
	case *array.Int64:
		c.i64 = sized(a.Int64Values(), n)
	case *array.Float32:
		c.f32 = sized(a.Float32Values(), n)
	case *array.Float64:
		c.f64 = sized(a.Float64Values(), n)
	case *array.Date32:
		c.i32 = sized(arrow.Int32Traits.CastFromBytes(arrow.Date32Traits.CastToBytes(a.Date32Values())), n)
	case *array.Time32:
		c.i32 = sized(arrow.Int32Traits.CastFromBytes(arrow.Time32Traits.CastToBytes(a.Time32Values())), n)
	case *array.Timestamp:
		c.i64 = sized(arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues())), n)
	case *array.Decimal128:
		c.dec = sized(a.Values(), n)
	case *array.String:
		c.off, c.data = sized(a.ValueOffsets(), n+1), variable(a)
	case *array.Binary:
		c.off, c.data = sized(a.ValueOffsets(), n+1), variable(a)
	default:
		return tarnerr.New(tarnerr.Internal, "ordering rows", "column of a type without order", "type", a.DataType())
	}
	return nil
}

// sized is v, or zeroes when an all-null column came without values.
func sized[T any](v []T, n int) []T {
	if len(v) < n {
		return make([]T, n)
	}
	return v
}

// variable is the whole data buffer, which the offsets of a slice count from.
func variable(a arrow.Array) []byte {
	if b := a.Data().Buffers()[2]; b != nil {
		return b.Bytes()
	}
	return nil
}

func (c *column) isNull(i int) bool { return c.nulls != nil && c.nulls.IsNull(i) }

// compareValues orders row i of a and row j of b, columns of one type, neither null.
func compareValues(a *column, i int, b *column, j int) int {
	switch {
	case a.i64 != nil:
		return cmp.Compare(a.i64[i], b.i64[j])
	case a.i32 != nil:
		return cmp.Compare(a.i32[i], b.i32[j])
	case a.off != nil:
		return bytes.Compare(a.data[a.off[i]:a.off[i+1]], b.data[b.off[j]:b.off[j+1]])
	case a.dec != nil:
		return a.dec[i].Cmp(b.dec[j])
	case a.i8 != nil:
		return cmp.Compare(a.i8[i], b.i8[j])
	case a.i16 != nil:
		return cmp.Compare(a.i16[i], b.i16[j])
	case a.f64 != nil:
		return types.CompareDoubleInMerge(a.f64[i], b.f64[j])
	case a.f32 != nil:
		return types.CompareDoubleInMerge(float64(a.f32[i]), float64(b.f32[j]))
	}
	x, y := a.bools.Value(i), b.bools.Value(j)
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// compareNulls orders nulls before values; done is false when neither is null.
func compareNulls(a *column, i int, b *column, j int) (c int, done bool) {
	if a.nulls == nil && b.nulls == nil {
		return 0, false
	}
	x, y := a.isNull(i), b.isNull(j)
	switch {
	case x && y:
		return 0, true
	case x:
		return -1, true
	case y:
		return 1, true
	}
	return 0, false
}
