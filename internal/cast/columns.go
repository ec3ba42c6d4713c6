package cast

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// numbers turns a column of integers or floats into another.
func numbers(mem memory.Allocator, in arrow.Array, dt arrow.DataType) arrow.Array {
	switch in := in.(type) {
	case *array.Int8:
		return fromInts(mem, in, in.Int8Values(), dt)
	case *array.Int16:
		return fromInts(mem, in, in.Int16Values(), dt)
	case *array.Int32:
		return fromInts(mem, in, in.Int32Values(), dt)
	case *array.Int64:
		return fromInts(mem, in, in.Int64Values(), dt)
	case *array.Float32:
		return fromFloats(mem, in, in.Float32Values(), dt)
	default:
		return fromFloats(mem, in, in.(*array.Float64).Float64Values(), dt)
	}
}

// fromInts keeps the lowest bits of what is too large, and rounds to floats.
func fromInts[F int8 | int16 | int32 | int64](mem memory.Allocator, in arrow.Array, values []F, dt arrow.DataType) arrow.Array {
	switch dt.ID() {
	case arrow.INT8:
		return fill(mem, in, dt, 1, arrow.Int8Traits.CastFromBytes, func(i int) int8 { return int8(values[i]) })
	case arrow.INT16:
		return fill(mem, in, dt, 2, arrow.Int16Traits.CastFromBytes, func(i int) int16 { return int16(values[i]) })
	case arrow.INT32:
		return fill(mem, in, dt, 4, arrow.Int32Traits.CastFromBytes, func(i int) int32 { return int32(values[i]) })
	case arrow.INT64:
		return fill(mem, in, dt, 8, arrow.Int64Traits.CastFromBytes, func(i int) int64 { return int64(values[i]) })
	case arrow.FLOAT32:
		return fill(mem, in, dt, 4, arrow.Float32Traits.CastFromBytes, func(i int) float32 { return float32(values[i]) })
	default:
		return fill(mem, in, dt, 8, arrow.Float64Traits.CastFromBytes, func(i int) float64 { return float64(values[i]) })
	}
}

func fromFloats[F float32 | float64](mem memory.Allocator, in arrow.Array, values []F, dt arrow.DataType) arrow.Array {
	at := func(i int) float64 { return float64(values[i]) }
	switch dt.ID() {
	case arrow.INT8:
		return fill(mem, in, dt, 1, arrow.Int8Traits.CastFromBytes, func(i int) int8 { return int8(toInt(at(i))) })
	case arrow.INT16:
		return fill(mem, in, dt, 2, arrow.Int16Traits.CastFromBytes, func(i int) int16 { return int16(toInt(at(i))) })
	case arrow.INT32:
		return fill(mem, in, dt, 4, arrow.Int32Traits.CastFromBytes, func(i int) int32 { return toInt(at(i)) })
	case arrow.INT64:
		return fill(mem, in, dt, 8, arrow.Int64Traits.CastFromBytes, func(i int) int64 { return toLong(at(i)) })
	case arrow.FLOAT32:
		return fill(mem, in, dt, 4, arrow.Float32Traits.CastFromBytes, func(i int) float32 { return float32(at(i)) })
	default:
		return fill(mem, in, dt, 8, arrow.Float64Traits.CastFromBytes, at)
	}
}

// toInt is Java's cast of a float to int: cut towards zero, to the nearest bound
// beyond, and 0 for NaN. Narrower integers are cut from it.
func toInt(f float64) int32 {
	switch {
	case f >= math.MaxInt32:
		return math.MaxInt32
	case f <= math.MinInt32:
		return math.MinInt32
	case f != f:
		return 0
	}
	return int32(f)
}

// toLong is the same for long.
func toLong(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	case f != f:
		return 0
	}
	return int64(f)
}

// fill makes an array with the nulls of in. What lies under nulls is zero.
func fill[T any](mem memory.Allocator, in arrow.Array, dt arrow.DataType, width int, view func([]byte) []T, at func(i int) T) arrow.Array {
	n := in.Len()
	data := memory.NewResizableBuffer(mem)
	defer data.Release()
	data.Resize(n * width)
	clear(data.Bytes())
	dst := view(data.Bytes())
	var valid *memory.Buffer
	if in.NullN() > 0 {
		valid = memory.NewResizableBuffer(mem)
		defer valid.Release()
		valid.Resize(int(bitutil.BytesForBits(int64(n))))
		clear(valid.Bytes())
		bitutil.CopyBitmap(in.NullBitmapBytes(), in.Data().Offset(), n, valid.Bytes(), 0)
	}
	for i := range n {
		if valid == nil || bitutil.BitIsSet(valid.Bytes(), i) {
			dst[i] = at(i)
		}
	}
	out := array.NewData(dt, n, []*memory.Buffer{valid, data}, nil, in.NullN(), 0)
	defer out.Release()
	return array.MakeFromData(out)
}
