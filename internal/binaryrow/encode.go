package binaryrow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Encode builds the row of values vs of types ts, in the Go forms of
// [types.Value]; nested values too. The header says insert, as it does in every
// key, partition and statistics row. A value that is not of its type is Invalid.
func Encode(ts []types.Type, vs []types.Value) (Row, error) {
	buf, err := AppendValues(nil, ts, vs)
	if err != nil {
		return nil, err
	}
	return Row(buf), nil
}

// AppendValues appends the stored form of a row to dst, like [Encode].
func AppendValues(dst []byte, ts []types.Type, vs []types.Value) ([]byte, error) {
	if len(ts) != len(vs) {
		return dst, tarnerr.New(tarnerr.Invalid, "encoding binary row", "as many values as types are needed", "types", len(ts), "values", len(vs))
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(ts)))
	dst, err := appendRow(dst, ts, vs)
	if err != nil {
		return dst[:start], err
	}
	if len(dst)-start > math.MaxInt32 {
		return dst[:start], tarnerr.New(tarnerr.Invalid, "encoding binary row", "row above 2 GiB", "bytes", len(dst)-start)
	}
	return dst, nil
}

// appendRow appends a row without its arity prefix.
func appendRow(buf []byte, ts []types.Type, vs []types.Value) ([]byte, error) {
	w := section{base: len(buf)}
	head := NullBitsSize(len(ts))
	buf = grow(buf, head+slotSize*len(ts))
	for i, v := range vs {
		at := w.base + head + slotSize*i
		if v == nil {
			setNullBit(buf[w.base:], i)
			buf = w.nullSlot(buf, at, ts[i])
			continue
		}
		var err error
		if buf, err = w.value(buf, at, ts[i], v); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// setNullBit marks field i of the row that starts at row[0].
func setNullBit(row []byte, i int) { row[(i+8)/8] |= 1 << ((i + 8) % 8) }

// grow appends n zero bytes.
func grow(buf []byte, n int) []byte {
	for n > len(zeros) {
		buf = append(buf, zeros[:]...)
		n -= len(zeros)
	}
	return append(buf, zeros[:n]...)
}

var zeros [256]byte

// section is a row or an array under construction: its variable parts are
// located from base, its first byte in the buffer.
type section struct{ base int }

// nullSlot writes what a null leaves behind in a row: zeros, and for the wide
// types the room of a value that is not there, with its offset in the slot.
func (w section) nullSlot(buf []byte, at int, t types.Type) []byte {
	if t.Compact() {
		return buf
	}
	room := timestampRoom
	if t.Root == types.Decimal {
		room = decimalRoom
	}
	return w.reserve(buf, at, room, 0)
}

// reserve appends room zero bytes to the variable part and writes their offset
// and low into the slot at.
func (w section) reserve(buf []byte, at, room int, low uint32) []byte {
	binary.LittleEndian.PutUint64(buf[at:], uint64(len(buf)-w.base)<<32|uint64(low))
	return grow(buf, room)
}

// bytes writes a string or binary value: into the slot when it is short, else
// padded into the variable part.
func (w section) bytes(buf []byte, at int, v []byte) []byte {
	if len(v) <= maxInline {
		copy(buf[at:at+maxInline], v)
		buf[at+maxInline] = inlineMark | byte(len(v))
		return buf
	}
	binary.LittleEndian.PutUint64(buf[at:], uint64(len(buf)-w.base)<<32|uint64(len(v)))
	buf = append(buf, v...)
	return grow(buf, roundUp(len(v))-len(v))
}

// decimal writes an unscaled value of more than 18 digits: the fewest big-endian
// bytes of its two's complement, in 16 bytes of the variable part.
func (w section) decimal(buf []byte, at int, v decimal128.Num) []byte {
	var be [16]byte
	binary.BigEndian.PutUint64(be[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(be[8:], v.LowBits())
	from := 0
	for from < 15 && (be[from] == 0 && be[from+1] < 0x80 || be[from] == 0xff && be[from+1] >= 0x80) {
		from++
	}
	buf = w.reserve(buf, at, decimalRoom, uint32(16-from))
	copy(buf[len(buf)-decimalRoom:], be[from:])
	return buf
}

// instant writes a timestamp of more than 3 fraction digits: milliseconds into
// the variable part, nanoseconds of the millisecond into the slot.
func (w section) instant(buf []byte, at int, v types.Instant) []byte {
	buf = w.reserve(buf, at, timestampRoom, uint32(v.NanoOfMilli))
	binary.LittleEndian.PutUint64(buf[len(buf)-timestampRoom:], uint64(v.Millis))
	return buf
}

// nested closes a nested value that was appended from start on.
func (w section) nested(buf []byte, at, start int) []byte {
	size := len(buf) - start
	binary.LittleEndian.PutUint64(buf[at:], uint64(start-w.base)<<32|uint64(size))
	return grow(buf, roundUp(size)-size)
}

// value writes a value that is not null into the slot or element at.
func (w section) value(buf []byte, at int, t types.Type, v types.Value) ([]byte, error) {
	switch t.Root {
	case types.Boolean:
		if b, ok := v.(bool); ok {
			if b {
				buf[at] = 1
			}
			return buf, nil
		}
	case types.TinyInt:
		if n, ok := v.(int64); ok && n == int64(int8(n)) {
			buf[at] = byte(n)
			return buf, nil
		}
	case types.SmallInt:
		if n, ok := v.(int64); ok && n == int64(int16(n)) {
			binary.LittleEndian.PutUint16(buf[at:], uint16(n))
			return buf, nil
		}
	case types.Int:
		if n, ok := v.(int64); ok && n == int64(int32(n)) {
			binary.LittleEndian.PutUint32(buf[at:], uint32(n))
			return buf, nil
		}
	case types.BigInt:
		if n, ok := v.(int64); ok {
			binary.LittleEndian.PutUint64(buf[at:], uint64(n))
			return buf, nil
		}
	case types.Float:
		if f, ok := v.(float32); ok {
			binary.LittleEndian.PutUint32(buf[at:], math.Float32bits(f))
			return buf, nil
		}
	case types.Double:
		if f, ok := v.(float64); ok {
			binary.LittleEndian.PutUint64(buf[at:], math.Float64bits(f))
			return buf, nil
		}
	case types.Date, types.Time:
		if n, ok := v.(int32); ok {
			binary.LittleEndian.PutUint32(buf[at:], uint32(n))
			return buf, nil
		}
	case types.Decimal:
		if n, ok := v.(decimal128.Num); ok {
			if !t.Compact() {
				return w.decimal(buf, at, n), nil
			}
			if n.HighBits() == int64(n.LowBits())>>63 {
				binary.LittleEndian.PutUint64(buf[at:], n.LowBits())
				return buf, nil
			}
		}
	case types.Timestamp, types.TimestampLTZ:
		if n, ok := v.(types.Instant); ok && n.NanoOfMilli >= 0 && n.NanoOfMilli < 1e6 {
			if !t.Compact() {
				return w.instant(buf, at, n), nil
			}
			binary.LittleEndian.PutUint64(buf[at:], uint64(n.Millis))
			return buf, nil
		}
	case types.Char, types.VarChar:
		if s, ok := v.(string); ok {
			return w.bytes(buf, at, []byte(s)), nil
		}
	case types.Binary, types.VarBinary, types.Blob, types.Geometry, types.Geography:
		if b, ok := v.([]byte); ok {
			return w.bytes(buf, at, b), nil
		}
	default:
		return w.nestedValue(buf, at, t, v)
	}
	return buf, mismatch(t, v)
}

func mismatch(t types.Type, v types.Value) error {
	return tarnerr.New(tarnerr.Invalid, "encoding binary row", "value does not fit its type", "type", t, "value", fmt.Sprintf("%v", v), "go", fmt.Sprintf("%T", v))
}
