package binaryrow

import (
	"encoding/binary"
	"math"

	"github.com/tarnlake/tarn/types"
)

// Bit patterns of the one NaN that arrays hold; rows keep a NaN as it is.
const (
	arrayNaN32 uint32 = 0x7fc00000
	arrayNaN64 uint64 = 0x7ff8000000000000
)

// nestedValue appends a nested value to the variable part and locates it in the slot at.
func (w section) nestedValue(buf []byte, at int, t types.Type, v types.Value) ([]byte, error) {
	start := len(buf)
	var err error
	switch t.Root {
	case types.Array:
		vs, ok := v.([]types.Value)
		if !ok {
			return buf, mismatch(t, v)
		}
		element, err := elementType(t)
		if err != nil {
			return buf, err
		}
		if buf, err = appendArray(buf, element, vs); err != nil {
			return buf, err
		}
	case types.Vector:
		vs, ok := v.([]types.Value)
		if !ok || len(vs) != t.Length {
			return buf, mismatch(t, v)
		}
		if buf, err = appendVector(buf, t, vs); err != nil {
			return buf, err
		}
	case types.Map, types.Multiset:
		es, ok := v.([]types.Entry)
		if !ok {
			return buf, mismatch(t, v)
		}
		if buf, err = appendMap(buf, t, es); err != nil {
			return buf, err
		}
	case types.Row:
		vs, ok := v.([]types.Value)
		if !ok || len(vs) != len(t.Fields) {
			return buf, mismatch(t, v)
		}
		if buf, err = appendRow(buf, fieldTypes(t), vs); err != nil {
			return buf, err
		}
	case types.Variant:
		x, ok := v.(types.VariantValue)
		if !ok {
			return buf, mismatch(t, v)
		}
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(x.Value)))
		buf = append(append(buf, x.Value...), x.Metadata...)
	default:
		return buf, mismatch(t, v)
	}
	return w.nested(buf, at, start), nil
}

// appendArray appends a BinaryArray: count, null bits, elements, variable part.
// Unlike in rows, a null leaves nothing behind.
func appendArray(buf []byte, element types.Type, vs []types.Value) ([]byte, error) {
	w := section{base: len(buf)}
	head, size := arrayHeader(len(vs)), width(element)
	buf = grow(buf, roundUp(head+size*len(vs)))
	binary.LittleEndian.PutUint32(buf[w.base:], uint32(len(vs)))
	for i, v := range vs {
		if v == nil {
			buf[w.base+4+i/8] |= 1 << (i % 8)
			continue
		}
		at := w.base + head + size*i
		var err error
		if buf, err = w.value(buf, at, element, v); err != nil {
			return buf, err
		}
		canonicalNaN(buf[at:], v)
	}
	return buf, nil
}

// canonicalNaN rewrites a NaN as Java's arrays hold it.
func canonicalNaN(at []byte, v types.Value) {
	switch f := v.(type) {
	case float32:
		if f != f {
			binary.LittleEndian.PutUint32(at, arrayNaN32)
		}
	case float64:
		if math.IsNaN(f) {
			binary.LittleEndian.PutUint64(at, arrayNaN64)
		}
	}
}

// appendVector appends a VECTOR: count, then the values without null bits.
func appendVector(buf []byte, t types.Type, vs []types.Value) ([]byte, error) {
	element, err := elementType(t)
	if err != nil {
		return buf, err
	}
	w := section{base: len(buf)}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(vs)))
	size := width(element)
	for _, v := range vs {
		at := len(buf)
		buf = grow(buf, size)
		if v == nil || element.IsNested() || element.IsString() || element.IsBytes() {
			return buf, mismatch(t, v)
		}
		if buf, err = w.value(buf, at, element, v); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// appendMap appends a BinaryMap: byte size of the key array, keys, values.
func appendMap(buf []byte, t types.Type, es []types.Entry) ([]byte, error) {
	key, value, err := pairTypes(t)
	if err != nil {
		return buf, err
	}
	side := make([]types.Value, len(es))
	for i, e := range es {
		side[i] = e.Key
	}
	start := len(buf)
	buf = grow(buf, 4)
	if buf, err = appendArray(buf, key, side); err != nil {
		return buf, err
	}
	binary.LittleEndian.PutUint32(buf[start:], uint32(len(buf)-start-4))
	for i, e := range es {
		side[i] = e.Value
	}
	return appendArray(buf, value, side)
}
