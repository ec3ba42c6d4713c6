package binaryrow

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Decode reads all values of r, whose types are ts. Byte values are copies.
func Decode(r Row, ts []types.Type) ([]types.Value, error) {
	if err := r.Check(len(ts)); err != nil {
		return nil, err
	}
	return decodeRow(r.Body(), ts)
}

// IsNull reports whether field i is null; r must hold that many fields.
func (r Row) IsNull(i int) bool {
	at := 4 + (i+8)/8
	return at < len(r) && r[at]&(1<<((i+8)%8)) != 0
}

// Value reads field i of type t, nil when it is null. Byte values are copies.
func (r Row) Value(i int, t types.Type) (types.Value, error) {
	if err := r.Check(-1); err != nil {
		return nil, err
	}
	if i < 0 || i >= r.Arity() {
		return nil, tarnerr.New(tarnerr.Corrupt, "decoding binary row", "no such field", "field", i, "arity", r.Arity())
	}
	if r.IsNull(i) {
		return nil, nil
	}
	body := r.Body()
	d := parts{body: body, left: len(body)}
	return d.value(NullBitsSize(r.Arity())+slotSize*i, t)
}

// decodeRow reads the fields of a row without its arity prefix.
func decodeRow(body []byte, ts []types.Type) ([]types.Value, error) {
	head := NullBitsSize(len(ts))
	if len(body) < head+slotSize*len(ts) {
		return nil, cut("row shorter than its fields", "bytes", len(body), "arity", len(ts))
	}
	d := parts{body: body, left: len(body)}
	out := make([]types.Value, len(ts))
	for i, t := range ts {
		if body[(i+8)/8]&(1<<((i+8)%8)) != 0 {
			continue
		}
		v, err := d.value(head+slotSize*i, t)
		if err != nil {
			return nil, tarnerr.Trace("decoding field of binary row", err, "field", i, "type", t)
		}
		out[i] = v
	}
	return out, nil
}

// parts reads the values of one row or array. Writers never let two values share
// bytes, so the variable parts together are no longer than the whole: left holds
// what is not taken yet and keeps a hostile row from growing while it is decoded.
type parts struct {
	body []byte
	left int
}

func cut(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "decoding binary row", cause, kv...)
}

// at returns n bytes of the variable part.
func (d *parts) at(offset, n int) ([]byte, error) {
	if offset < 0 || n < 0 || offset > len(d.body) || n > len(d.body)-offset {
		return nil, cut("value lies outside the row", "offset", offset, "length", n, "bytes", len(d.body))
	}
	if n > d.left {
		return nil, cut("values overlap", "offset", offset, "length", n)
	}
	d.left -= n
	return d.body[offset : offset+n], nil
}

// part returns the bytes a slot locates as offset and length.
func (d *parts) part(slot uint64) ([]byte, error) { return d.at(int(slot>>32), int(uint32(slot))) }

// bytes returns a string or binary value, from its slot or the variable part.
func (d *parts) bytes(at int) ([]byte, error) {
	slot := binary.LittleEndian.Uint64(d.body[at:])
	if slot>>63 == 0 {
		return d.part(slot)
	}
	n := int(slot>>56) &^ inlineMark
	if n > maxInline {
		return nil, cut("inline value longer than its slot", "length", n)
	}
	return d.body[at : at+n], nil
}

// value reads what is not null in the slot or element at, which the caller knows to lie inside.
func (d *parts) value(at int, t types.Type) (types.Value, error) {
	b := d.body[at:]
	switch t.Root {
	case types.Boolean:
		return b[0] != 0, nil
	case types.TinyInt:
		return int64(int8(b[0])), nil
	case types.SmallInt:
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	case types.Int:
		return int64(int32(binary.LittleEndian.Uint32(b))), nil
	case types.BigInt:
		return int64(binary.LittleEndian.Uint64(b)), nil
	case types.Float:
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	case types.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case types.Date, types.Time:
		return int32(binary.LittleEndian.Uint32(b)), nil
	case types.Char, types.VarChar:
		s, err := d.bytes(at)
		if err != nil {
			return nil, err
		}
		return string(s), nil
	case types.Binary, types.VarBinary, types.Blob, types.Geometry, types.Geography:
		s, err := d.bytes(at)
		if err != nil {
			return nil, err
		}
		return append(make([]byte, 0, len(s)), s...), nil
	case types.Decimal:
		return d.decimal(at, t)
	case types.Timestamp, types.TimestampLTZ:
		return d.instant(at, t)
	}
	part, err := d.part(binary.LittleEndian.Uint64(b))
	if err != nil {
		return nil, err
	}
	return decodeNested(part, t)
}

func (d *parts) decimal(at int, t types.Type) (types.Value, error) {
	slot := binary.LittleEndian.Uint64(d.body[at:])
	if t.Compact() {
		return decimal128.FromI64(int64(slot)), nil
	}
	b, err := d.part(slot)
	if err != nil {
		return nil, err
	}
	if len(b) < 1 || len(b) > decimalRoom {
		return nil, cut("decimal has no bytes or more than 16", "length", len(b))
	}
	var be [16]byte
	if b[0] >= 0x80 {
		for i := range be {
			be[i] = 0xff
		}
	}
	copy(be[16-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(be[:])), binary.BigEndian.Uint64(be[8:])), nil
}

func (d *parts) instant(at int, t types.Type) (types.Value, error) {
	slot := binary.LittleEndian.Uint64(d.body[at:])
	if t.Compact() {
		return types.Instant{Millis: int64(slot)}, nil
	}
	b, err := d.at(int(slot>>32), timestampRoom)
	if err != nil {
		return nil, err
	}
	nano := int32(uint32(slot))
	if nano < 0 || nano >= 1e6 {
		return nil, cut("nanoseconds of a millisecond out of range", "nanos", nano)
	}
	return types.Instant{Millis: int64(binary.LittleEndian.Uint64(b)), NanoOfMilli: nano}, nil
}
