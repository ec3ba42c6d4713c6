package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tarnlake/tarn/tarnerr"
)

// scratch holds the converted values of one column between calls.
type scratch struct {
	i32   []int32
	i64   []int64
	i96   []parquet.Int96
	f32   []float32
	f64   []float64
	bools []bool
	bytes []parquet.ByteArray
	flba  []parquet.FixedLenByteArray
	buf   []byte
	idx   []int32
	defs  []int16
}

// writeFlat writes rows of a top-level column without nesting.
func (s *scratch) writeFlat(cw file.ColumnChunkWriter, c *column, arr arrow.Array) error {
	n := arr.Len()
	v := leafValues{leaf: c.leaf, arr: arr}
	if c.optional {
		s.defs = grow(s.defs, n)
		v.defs = s.defs
	}
	if arr.NullN() == 0 {
		for i := range v.defs {
			v.defs[i] = 1
		}
		return s.write(cw, c, v)
	}
	if !c.optional {
		return nullInRequired(c.path)
	}
	v.idx = grow(s.idx, n)[:0]
	for i := range n {
		if arr.IsValid(i) {
			v.defs[i] = 1
			v.idx = append(v.idx, int32(i))
		} else {
			v.defs[i] = 0
		}
	}
	s.idx = v.idx
	return s.write(cw, c, v)
}

// write hands the values of one leaf to its column writer.
func (s *scratch) write(cw file.ColumnChunkWriter, c *column, v leafValues) (err error) {
	defer recoverWrite(c.path, &err)
	if a, ok := v.arr.(*array.Decimal128); ok {
		if err := checkDigits(c, a, v); err != nil {
			return err
		}
	}
	switch w := cw.(type) {
	case *file.BooleanColumnChunkWriter:
		a, ok := v.arr.(*array.Boolean)
		if !ok {
			break
		}
		s.bools = grow(s.bools, a.Len())[:0]
		v.each(func(i int) { s.bools = append(s.bools, a.Value(i)) })
		_, err = w.WriteBatch(s.bools, v.defs, v.rep)
		return err
	case *file.Int32ColumnChunkWriter:
		if values, ok := s.int32s(v); ok {
			_, err = w.WriteBatch(values, v.defs, v.rep)
			return err
		}
	case *file.Int64ColumnChunkWriter:
		if values, ok := s.int64s(v); ok {
			_, err = w.WriteBatch(values, v.defs, v.rep)
			return err
		}
	case *file.Int96ColumnChunkWriter:
		if a, ok := v.arr.(*array.Timestamp); ok {
			s.i96 = convert(s.i96, a.TimestampValues(), v.idx, int96)
			_, err = w.WriteBatch(s.i96, v.defs, v.rep)
			return err
		}
	case *file.Float32ColumnChunkWriter:
		if a, ok := v.arr.(*array.Float32); ok {
			_, err = w.WriteBatch(pick(&s.f32, a.Float32Values(), v.idx), v.defs, v.rep)
			return err
		}
	case *file.Float64ColumnChunkWriter:
		if a, ok := v.arr.(*array.Float64); ok {
			_, err = w.WriteBatch(pick(&s.f64, a.Float64Values(), v.idx), v.defs, v.rep)
			return err
		}
	case *file.ByteArrayColumnChunkWriter:
		if a, ok := v.arr.(array.BinaryLike); ok {
			return s.writeBytes(w, a, v)
		}
	case *file.FixedLenByteArrayColumnChunkWriter:
		if a, ok := v.arr.(*array.Decimal128); ok {
			_, err = w.WriteBatch(s.decimals(a, v, decimalWidth(c.typ.Precision)), v.defs, v.rep)
			return err
		}
	}
	return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "array does not have the column's type",
		"column", c.path, "type", c.typ.String(), "array", v.arr.DataType())
}

// each calls yield for the position of every value.
func (v leafValues) each(yield func(i int)) {
	if v.idx == nil {
		for i := range v.arr.Len() {
			yield(i)
		}
		return
	}
	for _, i := range v.idx {
		yield(int(i))
	}
}

func (s *scratch) int32s(v leafValues) ([]int32, bool) {
	switch a := v.arr.(type) {
	case *array.Int8:
		s.i32 = convert(s.i32, a.Int8Values(), v.idx, func(x int8) int32 { return int32(x) })
	case *array.Int16:
		s.i32 = convert(s.i32, a.Int16Values(), v.idx, func(x int16) int32 { return int32(x) })
	case *array.Int32:
		return pick(&s.i32, a.Int32Values(), v.idx), true
	case *array.Date32:
		s.i32 = convert(s.i32, a.Date32Values(), v.idx, func(x arrow.Date32) int32 { return int32(x) })
	case *array.Time32:
		s.i32 = convert(s.i32, a.Time32Values(), v.idx, func(x arrow.Time32) int32 { return int32(x) })
	case *array.Decimal128:
		s.i32 = convert(s.i32, a.Values(), v.idx, func(x decimal128.Num) int32 { return int32(x.LowBits()) })
	default:
		return nil, false
	}
	return s.i32, true
}

func (s *scratch) int64s(v leafValues) ([]int64, bool) {
	switch a := v.arr.(type) {
	case *array.Int64:
		return pick(&s.i64, a.Int64Values(), v.idx), true
	case *array.Timestamp:
		s.i64 = convert(s.i64, a.TimestampValues(), v.idx, func(x arrow.Timestamp) int64 { return int64(x) })
	case *array.Decimal128:
		s.i64 = convert(s.i64, a.Values(), v.idx, func(x decimal128.Num) int64 { return int64(x.LowBits()) })
	default:
		return nil, false
	}
	return s.i64, true
}

// writeBytes writes strings and bytes, from Arrow's offsets where no row is null.
func (s *scratch) writeBytes(w *file.ByteArrayColumnChunkWriter, a array.BinaryLike, v leafValues) error {
	if v.idx == nil && w.SupportsArrowOffsets() {
		switch a := a.(type) {
		case *array.String:
			return arrowBytes(w, a.Data(), v)
		case *array.Binary:
			return arrowBytes(w, a.Data(), v)
		}
	}
	s.bytes = grow(s.bytes, a.Len())[:0]
	v.each(func(i int) {
		switch a := a.(type) {
		case *array.String:
			s.bytes = append(s.bytes, unsafeBytes(a.Value(i)))
		case *array.Binary:
			s.bytes = append(s.bytes, a.Value(i))
		}
	})
	_, err := w.WriteBatch(s.bytes, v.defs, v.rep)
	clear(s.bytes)
	return err
}

func arrowBytes(w *file.ByteArrayColumnChunkWriter, data arrow.ArrayData, v leafValues) error {
	n := data.Len()
	if n == 0 {
		return nil
	}
	offsets := arrow.Int32Traits.CastFromBytes(data.Buffers()[1].Bytes())[data.Offset() : data.Offset()+n+1]
	var values []byte
	if b := data.Buffers()[2]; b != nil {
		values = b.Bytes()
	}
	_, err := w.WriteBatchArrow(values, offsets, v.defs, v.rep)
	return err
}

// checkDigits refuses a decimal of more digits than its type: narrower physical
// types would keep only part of it.
func checkDigits(c *column, a *array.Decimal128, v leafValues) error {
	top := decimal128.GetMaxValue(int32(c.typ.Precision))
	bottom := top.Negate()
	values := a.Values()
	bad := -1
	v.each(func(i int) {
		if values[i].Greater(top) || values[i].Less(bottom) {
			bad = i
		}
	})
	if bad < 0 {
		return nil
	}
	return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "decimal has more digits than its type",
		"column", c.path, "type", c.typ.String(), "value", values[bad].ToString(int32(c.typ.Scale)))
}

// decimals are sign-extended big-endian numbers of width bytes.
func (s *scratch) decimals(a *array.Decimal128, v leafValues, width int) []parquet.FixedLenByteArray {
	s.flba, s.buf = grow(s.flba, a.Len())[:0], grow(s.buf, a.Len()*width)
	values, buf := a.Values(), s.buf
	v.each(func(i int) {
		var full [16]byte
		binary.BigEndian.PutUint64(full[:], uint64(values[i].HighBits()))
		binary.BigEndian.PutUint64(full[8:], values[i].LowBits())
		copy(buf, full[16-width:])
		s.flba, buf = append(s.flba, buf[:width:width]), buf[width:]
	})
	return s.flba
}

const (
	nanosPerDay = int64(86_400_000_000_000)
	julianEpoch = 2_440_588
)

// int96 is nanosOfDay and Julian day as Java Paimon writes them: milliseconds
// are divided by the day towards zero, so that instants before 1970 carry a
// negative time of the day. The nanoseconds inside a millisecond count upwards.
func int96(v arrow.Timestamp) (out parquet.Int96) {
	millis, nano := floorDiv(int64(v), 1_000_000)
	day := millis / 86_400_000
	nanos := millis%86_400_000*1_000_000 + nano
	binary.LittleEndian.PutUint64(out[:], uint64(nanos))
	binary.LittleEndian.PutUint32(out[8:], uint32(int32(day+julianEpoch)))
	return out
}

// pick selects values by position, or gives all of them as they are.
func pick[T any](buf *[]T, values []T, idx []int32) []T {
	if idx == nil {
		return values
	}
	*buf = grow(*buf, len(idx))
	for k, i := range idx {
		(*buf)[k] = values[i]
	}
	return *buf
}

func convert[S, D any](buf []D, values []S, idx []int32, conv func(S) D) []D {
	if idx == nil {
		buf = grow(buf, len(values))
		for i, v := range values {
			buf[i] = conv(v)
		}
		return buf
	}
	buf = grow(buf, len(idx))
	for k, i := range idx {
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

func recoverWrite(path string, err *error) {
	if r := recover(); r != nil {
		*err = tarnerr.New(tarnerr.Internal, "encoding Parquet column", "encoder failed", "column", path, "panic", r)
	}
}
