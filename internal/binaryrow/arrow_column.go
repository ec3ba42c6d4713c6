package binaryrow

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// column writes the values of one Arrow column.
type column struct {
	t   types.Type
	arr arrow.Array
	// put writes the value of a row, which is not null, into the slot at.
	put func(buf []byte, w section, at, row int) []byte
}

// bind resolves the column's type and array once for all rows of a batch.
func (c *column) bind(f types.Field, arr arrow.Array) error {
	want, err := types.ArrowType(f.Type)
	if err != nil {
		return err
	}
	if want.ID() != arr.DataType().ID() {
		return tarnerr.New(tarnerr.Invalid, "encoding binary row", "column has another Arrow type than its field",
			"column", f.Name, "type", f.Type, "want", want, "got", arr.DataType())
	}
	c.t, c.arr = f.Type, arr
	if f.Type.IsNested() {
		return c.bindNested(f)
	}
	c.put = put(f.Type, arr)
	return nil
}

// put resolves the writer of a column that is not nested.
func put(t types.Type, arr arrow.Array) func(buf []byte, w section, at, row int) []byte {
	switch a := arr.(type) {
	case *array.Boolean:
		return func(buf []byte, _ section, at, row int) []byte {
			if a.Value(row) {
				buf[at] = 1
			}
			return buf
		}
	case *array.Int8:
		return func(buf []byte, _ section, at, row int) []byte {
			buf[at] = byte(a.Value(row))
			return buf
		}
	case *array.Int16:
		return func(buf []byte, _ section, at, row int) []byte {
			binary.LittleEndian.PutUint16(buf[at:], uint16(a.Value(row)))
			return buf
		}
	case *array.Int32:
		return put32(a.Int32Values())
	case *array.Date32:
		return put32(a.Date32Values())
	case *array.Time32:
		return put32(a.Time32Values())
	case *array.Int64:
		return put64(a.Int64Values())
	case *array.Float32:
		return func(buf []byte, _ section, at, row int) []byte {
			binary.LittleEndian.PutUint32(buf[at:], math.Float32bits(a.Value(row)))
			return buf
		}
	case *array.Float64:
		return func(buf []byte, _ section, at, row int) []byte {
			binary.LittleEndian.PutUint64(buf[at:], math.Float64bits(a.Value(row)))
			return buf
		}
	case *array.String:
		return putBytes(a.ValueOffsets(), a.ValueBytes())
	case *array.Binary:
		return putBytes(a.ValueOffsets(), a.ValueBytes())
	case *array.Decimal128:
		if t.Compact() {
			return func(buf []byte, _ section, at, row int) []byte {
				binary.LittleEndian.PutUint64(buf[at:], a.Value(row).LowBits())
				return buf
			}
		}
		return func(buf []byte, w section, at, row int) []byte { return w.decimal(buf, at, a.Value(row)) }
	case *array.Timestamp:
		return putTimestamp(t, a)
	}
	return putValue(t, arr)
}

func put32[T ~int32](vs []T) func(buf []byte, w section, at, row int) []byte {
	return func(buf []byte, _ section, at, row int) []byte {
		binary.LittleEndian.PutUint32(buf[at:], uint32(vs[row]))
		return buf
	}
}

func put64[T ~int64](vs []T) func(buf []byte, w section, at, row int) []byte {
	return func(buf []byte, _ section, at, row int) []byte {
		binary.LittleEndian.PutUint64(buf[at:], uint64(vs[row]))
		return buf
	}
}

// putBytes writes strings and binaries. Offsets count from the array's first
// value within the buffer of all values, data begins at that first value.
func putBytes(offsets []int32, data []byte) func(buf []byte, w section, at, row int) []byte {
	return func(buf []byte, w section, at, row int) []byte {
		from, to := offsets[row]-offsets[0], offsets[row+1]-offsets[0]
		return w.bytes(buf, at, data[from:to])
	}
}

func putTimestamp(t types.Type, a *array.Timestamp) func(buf []byte, w section, at, row int) []byte {
	unit := a.DataType().(*arrow.TimestampType).Unit
	if t.Compact() && unit == arrow.Millisecond {
		return put64(a.TimestampValues())
	}
	vs := a.TimestampValues()
	if t.Compact() {
		return func(buf []byte, _ section, at, row int) []byte {
			binary.LittleEndian.PutUint64(buf[at:], uint64(instant(vs[row], unit).Millis))
			return buf
		}
	}
	return func(buf []byte, w section, at, row int) []byte { return w.instant(buf, at, instant(vs[row], unit)) }
}

// instant splits an Arrow timestamp as rows hold it, rounding down.
func instant(v arrow.Timestamp, unit arrow.TimeUnit) types.Instant {
	per := int64(1) // units of a millisecond
	switch unit {
	case arrow.Second:
		return types.Instant{Millis: int64(v) * 1000}
	case arrow.Microsecond:
		per = 1e3
	case arrow.Nanosecond:
		per = 1e6
	}
	ms := int64(v) / per
	if int64(v)%per < 0 {
		ms--
	}
	return types.Instant{Millis: ms, NanoOfMilli: int32((int64(v) - ms*per) * (1e6 / per))}
}

// putValue goes through the Go form of the value.
func putValue(t types.Type, arr arrow.Array) func(buf []byte, w section, at, row int) []byte {
	return func(buf []byte, w section, at, row int) []byte {
		// The value has the type's Go form, which bind made sure of: it fits.
		buf, _ = w.value(buf, at, t, types.ValueAt(t, arr, row))
		return buf
	}
}

// bindNested lets a nested column through whose every value can be encoded.
func (c *column) bindNested(f types.Field) error {
	for i := range c.arr.Len() {
		if c.arr.IsNull(i) {
			continue
		}
		if _, err := Encode([]types.Type{f.Type}, []types.Value{types.ValueAt(f.Type, c.arr, i)}); err != nil {
			return tarnerr.Trace("encoding nested column", err, "column", f.Name, "row", i)
		}
	}
	c.put = putValue(f.Type, c.arr)
	return nil
}
