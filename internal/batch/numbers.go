package batch

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Int64s is a column of n numbers, none of them null, which fill writes. The caller
// releases it.
func Int64s(mem memory.Allocator, n int, fill func(out []int64)) *array.Int64 {
	data := flat(mem, arrow.PrimitiveTypes.Int64, n, fill)
	defer data.Release()
	return array.NewInt64Data(data)
}

// Int8s is a column of n numbers, row kinds mostly, likewise.
func Int8s(mem memory.Allocator, n int, fill func(out []int8)) *array.Int8 {
	data := flat(mem, arrow.PrimitiveTypes.Int8, n, fill)
	defer data.Release()
	return array.NewInt8Data(data)
}

func flat[T any](mem memory.Allocator, dt arrow.DataType, n int, fill func(out []T)) arrow.ArrayData {
	buf := newBuffer(mem, n*int(unsafe.Sizeof(*new(T))))
	fill(reinterpret[T](buf.Bytes())[:n])
	return finish(dt, n, []*memory.Buffer{nil, buf}, nil, 0)
}
