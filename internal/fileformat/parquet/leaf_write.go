package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
)

// scratch holds the converted values of one column between calls.
type scratch struct {
	i32 []int32
	i64 []int64
	f32 []float32
	f64 []float64
	buf []byte
	idx []int32
}

// count is the number of values.
func (v *leafValues) count() int {
	if v.idx == nil {
		return v.to - v.from
	}
	return len(v.idx)
}

// each calls yield for the position of every value.
func (v *leafValues) each(yield func(i int)) {
	if v.idx == nil {
		for i := v.from; i < v.to; i++ {
			yield(i)
		}
		return
	}
	for _, i := range v.idx {
		yield(int(i))
	}
}

// int32s are the values of an INT32 column.
func (s *scratch) int32s(v *leafValues) ([]int32, bool) {
	switch a := v.arr.(type) {
	case *array.Int8:
		s.i32 = convert(s.i32, a.Int8Values(), v, func(x int8) int32 { return int32(x) })
	case *array.Int16:
		s.i32 = convert(s.i32, a.Int16Values(), v, func(x int16) int32 { return int32(x) })
	case *array.Int32:
		return pick(&s.i32, a.Int32Values(), v), true
	case *array.Date32:
		return pick(&s.i32, valuesOf[int32](bytesOf(a.Date32Values())), v), true
	case *array.Time32:
		return pick(&s.i32, valuesOf[int32](bytesOf(a.Time32Values())), v), true
	case *array.Decimal128:
		s.i32 = convert(s.i32, a.Values(), v, func(x decimal128.Num) int32 { return int32(x.LowBits()) })
	default:
		return nil, false
	}
	return s.i32, true
}

// int64s are the values of an INT64 column.
func (s *scratch) int64s(v *leafValues) ([]int64, bool) {
	switch a := v.arr.(type) {
	case *array.Int64:
		return pick(&s.i64, a.Int64Values(), v), true
	case *array.Timestamp:
		return pick(&s.i64, valuesOf[int64](bytesOf(a.TimestampValues())), v), true
	case *array.Decimal128:
		s.i64 = convert(s.i64, a.Values(), v, func(x decimal128.Num) int64 { return int64(x.LowBits()) })
	default:
		return nil, false
	}
	return s.i64, true
}

// fixed are the values of an INT96 or FIXED_LEN_BYTE_ARRAY column, one after the
// other.
func (s *scratch) fixed(v *leafValues, width int) ([]byte, bool) {
	s.buf = s.buf[:0]
	switch a := v.arr.(type) {
	case *array.Timestamp:
		values := a.TimestampValues()
		v.each(func(i int) { s.buf = appendInt96(s.buf, values[i]) })
	case *array.Decimal128:
		values := a.Values()
		v.each(func(i int) { s.buf = appendDecimal(s.buf, values[i], width) })
	default:
		return nil, false
	}
	return s.buf, true
}

// appendDecimal appends v as a sign-extended big-endian number of width bytes.
func appendDecimal(dst []byte, v decimal128.Num, width int) []byte {
	var full [16]byte
	binary.BigEndian.PutUint64(full[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(full[8:], v.LowBits())
	return append(dst, full[16-width:]...)
}

// textView are the offsets and bytes of an array of text or bytes.
func textView(arr arrow.Array) (offsets []int32, data []byte, ok bool) {
	switch arr.(type) {
	case *array.String, *array.Binary:
	default:
		return nil, nil, false
	}
	d := arr.Data()
	if d.Len() == 0 {
		return []int32{0}, nil, true
	}
	offsets = arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()+1]
	if b := d.Buffers()[2]; b != nil {
		data = b.Bytes()
	}
	return offsets, data, true
}

// checkDigits refuses a decimal of more digits than its type: narrower physical
// types would keep only part of it.
func checkDigits(c *column, a *array.Decimal128, v *leafValues) error {
	top := decimal128.GetMaxValue(int32(c.typ.Precision))
	bottom := top.Negate()
	values := a.Values()
	bad := -1
	if c.typ.Precision <= 18 { // the low half tells all
		most := int64(top.LowBits())
		v.each(func(i int) {
			low := int64(values[i].LowBits())
			if values[i].HighBits() != low>>63 || low > most || low < -most {
				bad = i
			}
		})
	} else {
		v.each(func(i int) {
			if values[i].Greater(top) || values[i].Less(bottom) {
				bad = i
			}
		})
	}
	if bad < 0 {
		return nil
	}
	return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "decimal has more digits than its type",
		"column", c.dotted(), "type", c.typ.String(), "value", values[bad].ToString(int32(c.typ.Scale)))
}

const (
	nanosPerDay = int64(86_400_000_000_000)
	julianEpoch = 2_440_588
)

// appendInt96 appends nanosOfDay and Julian day as Java Paimon writes them:
// milliseconds are divided by the day towards zero, so that instants before 1970
// carry a negative time of the day. The nanoseconds inside a millisecond count
// upwards.
func appendInt96(dst []byte, v arrow.Timestamp) []byte {
	millis, nano := floorDiv(int64(v), 1_000_000)
	day := millis / 86_400_000
	nanos := millis%86_400_000*1_000_000 + nano
	dst = binary.LittleEndian.AppendUint64(dst, uint64(nanos))
	return binary.LittleEndian.AppendUint32(dst, uint32(int32(day+julianEpoch)))
}

// pick selects values by position, or gives those that follow each other as they are.
func pick[T any](buf *[]T, values []T, v *leafValues) []T {
	if v.idx == nil {
		return values[v.from:v.to]
	}
	*buf = grow(*buf, len(v.idx))
	for k, i := range v.idx {
		(*buf)[k] = values[i]
	}
	return *buf
}

func convert[S, D any](buf []D, values []S, v *leafValues, conv func(S) D) []D {
	if v.idx == nil {
		values = values[v.from:v.to]
		buf = grow(buf, len(values))
		for i, x := range values {
			buf[i] = conv(x)
		}
		return buf
	}
	buf = grow(buf, len(v.idx))
	for k, i := range v.idx {
		buf[k] = conv(values[i])
	}
	return buf
}

// grow gives a slice of length n, reusing buf where it is large enough.
func grow[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n, n+n/4)
	}
	return buf[:n]
}
