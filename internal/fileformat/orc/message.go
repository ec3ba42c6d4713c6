package orc

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// value is one field of a protobuf message; only the member that fits its wire
// type is set.
type value struct {
	typ  protowire.Type
	num  uint64 // varints and fixed widths
	data []byte // of length-delimited fields
}

// fields calls yield for every field of a message; false from it, or bytes that
// are no message, end the walk with false.
func fields(b []byte, yield func(id protowire.Number, v value) bool) bool {
	for len(b) > 0 {
		id, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		v := value{typ: typ}
		switch typ {
		case protowire.VarintType:
			v.num, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v.data, n = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			v.num, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(id, typ, b)
		}
		if n < 0 {
			return false
		}
		b = b[n:]
		if !yield(id, v) {
			return false
		}
	}
	return true
}

// int64 is an unsigned number that must fit a signed one.
func (v value) int64(dst *int64) bool {
	*dst = int64(v.num)
	return v.typ == protowire.VarintType && v.num <= math.MaxInt64
}

func (v value) int32(dst *int32) bool {
	*dst = int32(v.num)
	return v.typ == protowire.VarintType && v.num <= math.MaxInt32
}

func (v value) sint64() (int64, bool) {
	return protowire.DecodeZigZag(v.num), v.typ == protowire.VarintType
}

func (v value) string(dst *string) bool {
	*dst = string(v.data)
	return v.typ == protowire.BytesType
}

// numbers appends a repeated number, packed or not.
func (v value) numbers(dst []uint64) ([]uint64, bool) {
	if v.typ == protowire.VarintType {
		return append(dst, v.num), true
	}
	if v.typ != protowire.BytesType {
		return dst, false
	}
	for b := v.data; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return dst, false
		}
		dst, b = append(dst, x), b[n:]
	}
	return dst, true
}

// message calls decode for a nested message.
func (v value) message(decode func(b []byte) bool) bool {
	return v.typ == protowire.BytesType && decode(v.data)
}
