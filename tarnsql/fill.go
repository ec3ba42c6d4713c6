//go:build cgo && !tarn_nosql

package tarnsql

import (
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fill copies rows from to from+n of arr, an array of t's Arrow type, to the
// first rows of vec. DuckDB keeps no pointer to Go's memory: values are copied
// into the vector, strings into the vector's own heap, all of a vector at once.
func fill(vec mapping.Vector, t types.Type, arr arrow.Array, from, n int) error {
	if n == 0 {
		return nil
	}
	fillValidity(vec, arr, from, n)
	switch a := arr.(type) {
	case *array.Boolean:
		dst := vectorData[bool](vec, n)
		for i := range dst {
			dst[i] = a.Value(from + i)
		}
	case *array.Int8:
		copy(vectorData[int8](vec, n), a.Int8Values()[from:])
	case *array.Int16:
		copy(vectorData[int16](vec, n), a.Int16Values()[from:])
	case *array.Int32:
		copy(vectorData[int32](vec, n), a.Int32Values()[from:])
	case *array.Int64:
		copy(vectorData[int64](vec, n), a.Int64Values()[from:])
	case *array.Float32:
		copy(vectorData[float32](vec, n), a.Float32Values()[from:])
	case *array.Float64:
		copy(vectorData[float64](vec, n), a.Float64Values()[from:])
	case *array.Date32:
		copy(vectorData[arrow.Date32](vec, n), a.Date32Values()[from:])
	case *array.Time32:
		dst := vectorData[int64](vec, n)
		for i, v := range a.Time32Values()[from : from+n] {
			dst[i] = int64(v) * 1000
		}
	case *array.Timestamp:
		return fillTimestamps(vec, t, a, from, n)
	case *array.Decimal128:
		fillDecimals(vec, t, a.Values()[from:from+n])
	case *array.String:
		return fillBytes(vec, a.Data(), from, n, true)
	case *array.Binary:
		return fillBytes(vec, a.Data(), from, n, false)
	case *array.Map, *array.List, *array.FixedSizeList, *array.Struct:
		return fillNested(vec, t, arr, from, n)
	default:
		return tarnerr.New(tarnerr.Internal, "passing rows to DuckDB", "unexpected Arrow type", "arrow", arr.DataType(), "type", t)
	}
	return nil
}

// vectorData is the memory of the first n values of vec.
func vectorData[T any](vec mapping.Vector, n int) []T {
	return unsafe.Slice((*T)(mapping.VectorGetData(vec)), n)
}

// fillValidity copies which rows are not null. Both sides keep one bit a row,
// 1 for a value.
func fillValidity(vec mapping.Vector, arr arrow.Array, from, n int) {
	if arr.NullN() == 0 {
		return
	}
	mapping.VectorEnsureValidityWritable(vec)
	dst := unsafe.Slice((*byte)(mapping.VectorGetValidity(vec)), (n+63)/64*8)
	bitutil.CopyBitmap(arr.NullBitmapBytes(), arr.Data().Offset()+from, n, dst, 0)
}

// fillTimestamps keeps the unit, but for zoned ones, which DuckDB has in
// microseconds only.
func fillTimestamps(vec mapping.Vector, t types.Type, a *array.Timestamp, from, n int) error {
	dst := vectorData[int64](vec, n)
	values := a.TimestampValues()[from : from+n]
	unit := a.DataType().(*arrow.TimestampType).Unit
	if t.Root != types.TimestampLTZ || unit == arrow.Microsecond {
		for i, v := range values {
			dst[i] = int64(v)
		}
		return nil
	}
	for i, v := range values {
		switch {
		case a.IsNull(from + i):
			dst[i] = 0
		case unit == arrow.Millisecond && v <= math.MaxInt64/1000 && v >= math.MinInt64/1000:
			dst[i] = int64(v) * 1000
		case unit == arrow.Nanosecond && v%1000 == 0:
			dst[i] = int64(v) / 1000
		default:
			return tarnerr.New(tarnerr.Unsupported, "passing rows to DuckDB",
				"this instant in SQL, whose TIMESTAMP WITH TIME ZONE keeps microseconds of 64 bits", "value", int64(v), "type", t)
		}
	}
	return nil
}

// fillDecimals narrows decimals to the integer DuckDB keeps them in.
func fillDecimals(vec mapping.Vector, t types.Type, values []decimal128.Num) {
	n := len(values)
	switch {
	case t.Precision <= 4:
		dst := vectorData[int16](vec, n)
		for i, v := range values {
			dst[i] = int16(v.LowBits())
		}
	case t.Precision <= 9:
		dst := vectorData[int32](vec, n)
		for i, v := range values {
			dst[i] = int32(v.LowBits())
		}
	case t.Precision <= 18:
		dst := vectorData[int64](vec, n)
		for i, v := range values {
			dst[i] = int64(v.LowBits())
		}
	default:
		copy(vectorData[decimal128.Num](vec, n), values)
	}
}

// stringSize is the size of DuckDB's string: length, then up to inlineLength
// bytes, or 4 bytes of prefix and a pointer.
const (
	stringSize   = 16
	inlineLength = 12
)

// fillBytes hands all bytes of the rows to the vector's heap in one call, as the
// string of row 0, and then lets each row's string point to its own part.
func fillBytes(vec mapping.Vector, data arrow.ArrayData, from, n int, text bool) error {
	buffers := data.Buffers()
	first := data.Offset() + from
	offsets := arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())[first : first+n+1]
	var heap []byte
	if buffers[2] != nil {
		heap = buffers[2].Bytes()[offsets[0]:offsets[n]]
	}
	if text && !validText(heap, offsets) {
		return tarnerr.New(tarnerr.Corrupt, "passing rows to DuckDB", "text that is not UTF-8")
	}
	var base unsafe.Pointer
	if len(heap) > inlineLength {
		if err := assignText(vec, heap); err != nil {
			return err
		}
		base = *(*unsafe.Pointer)(unsafe.Add(mapping.VectorGetData(vec), 8))
	}
	dst := vectorData[[stringSize]byte](vec, n)
	for i := range dst {
		lo, hi := offsets[i]-offsets[0], offsets[i+1]-offsets[0]
		s := &dst[i]
		*(*uint32)(unsafe.Pointer(&s[0])) = uint32(hi - lo)
		if hi-lo <= inlineLength {
			clear(s[4:])
			copy(s[4:], heap[lo:hi])
			continue
		}
		copy(s[4:8], heap[lo:])
		*(*unsafe.Pointer)(unsafe.Pointer(&s[8])) = unsafe.Add(base, lo)
	}
	return nil
}

// validText reports that each of the strings is UTF-8.
func validText(heap []byte, offsets []int32) bool {
	if !utf8.Valid(heap) {
		return false
	}
	for _, o := range offsets {
		if at := int(o - offsets[0]); at < len(heap) && !utf8.RuneStart(heap[at]) {
			return false
		}
	}
	return true
}

// textAt is the string of a row in a vector's memory; it points into DuckDB's memory.
func textAt(data unsafe.Pointer, row int) string {
	return unsafe.String(bytesAt(data, row))
}

func bytesAt(data unsafe.Pointer, row int) (*byte, int) {
	s := unsafe.Add(data, row*stringSize)
	n := int(*(*uint32)(s))
	if n <= inlineLength {
		return (*byte)(unsafe.Add(s, 4)), n
	}
	return *(**byte)(unsafe.Add(s, 8)), n
}
