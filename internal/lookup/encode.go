package lookup

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
)

// encoder makes bytes of keys whose order is that of the keys in a merge: of keys
// that are equal there, the same bytes. The index and the filter of a local file
// go by them.
type encoder struct {
	columns []func(dst []byte, row int) []byte
}

// bind makes the encoder one of the columns given.
func (e *encoder) bind(rec arrow.RecordBatch, columns []int) error {
	e.columns = e.columns[:0]
	for i, c := range columns {
		f, err := encode(rec.Column(c), i == len(columns)-1)
		if err != nil {
			return err
		}
		e.columns = append(e.columns, f)
	}
	return nil
}

// append appends the key of a row.
func (e *encoder) append(dst []byte, row int) []byte {
	for _, c := range e.columns {
		dst = c(dst, row)
	}
	return dst
}

// encode gives what appends a value of a column; that of the last one need not say
// where it ends.
func encode(a arrow.Array, last bool) (func([]byte, int) []byte, error) {
	var value func([]byte, int) []byte
	switch a := a.(type) {
	case *array.Boolean:
		value = func(dst []byte, i int) []byte {
			if a.Value(i) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Int8:
		value = func(dst []byte, i int) []byte { return append(dst, byte(a.Value(i))^1<<7) }
	case *array.Int16:
		value = func(dst []byte, i int) []byte { return binary.BigEndian.AppendUint16(dst, uint16(a.Value(i))^1<<15) }
	case *array.Int32:
		value = func(dst []byte, i int) []byte { return append32(dst, int32(a.Value(i))) }
	case *array.Date32:
		value = func(dst []byte, i int) []byte { return append32(dst, int32(a.Value(i))) }
	case *array.Time32:
		value = func(dst []byte, i int) []byte { return append32(dst, int32(a.Value(i))) }
	case *array.Int64:
		value = func(dst []byte, i int) []byte { return append64(dst, a.Value(i)) }
	case *array.Timestamp:
		value = func(dst []byte, i int) []byte { return append64(dst, int64(a.Value(i))) }
	case *array.Decimal128:
		value = func(dst []byte, i int) []byte {
			v := a.Value(i)
			return binary.BigEndian.AppendUint64(append64(dst, v.HighBits()), v.LowBits())
		}
	case *array.Float32:
		value = func(dst []byte, i int) []byte {
			return append64(dst, doubleBits(float64(a.Value(i)))) // as ordered as the double
		}
	case *array.Float64:
		value = func(dst []byte, i int) []byte { return append64(dst, doubleBits(a.Value(i))) }
	case *array.String:
		value = func(dst []byte, i int) []byte { return appendBytes(dst, a.Value(i), last) }
	case *array.Binary:
		value = func(dst []byte, i int) []byte { return appendBytes(dst, a.Value(i), last) }
	default:
		return nil, tarnerr.New(tarnerr.Internal, "encoding keys", "column of a type without order", "type", a.DataType())
	}
	if a.NullN() == 0 {
		return func(dst []byte, i int) []byte { return value(append(dst, 1), i) }, nil
	}
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, 0)
		}
		return value(append(dst, 1), i)
	}, nil
}

func append32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v)^1<<31)
}

func append64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^1<<63)
}

// doubleBits is a number with the order of types.CompareDoubleInMerge: both zeroes
// as one, and one NaN behind all else.
func doubleBits(v float64) int64 {
	if v != v {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(v + 0)) // −0.0 + 0 is 0.0
	if b < 0 {
		return ^b ^ math.MinInt64
	}
	return b
}

// appendBytes appends a string: as it is, or so that a longer one of the same
// beginning comes behind it whatever follows.
func appendBytes[T string | []byte](dst []byte, v T, last bool) []byte {
	if last {
		return append(dst, v...)
	}
	for i := range len(v) {
		if dst = append(dst, v[i]); v[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}
