package binaryrow

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// decodeNested reads a nested value from its part of the variable part.
func decodeNested(part []byte, t types.Type) (types.Value, error) {
	switch t.Root {
	case types.Array:
		element, err := elementType(t)
		if err != nil {
			return nil, err
		}
		return decodeArray(part, element)
	case types.Vector:
		return decodeVector(part, t)
	case types.Map, types.Multiset:
		return decodeMap(part, t)
	case types.Row:
		return decodeRow(part, fieldTypes(t))
	case types.Variant:
		n, part, err := count(part)
		if err != nil {
			return nil, err
		}
		if n > len(part) {
			return nil, cut("variant shorter than its value", "bytes", len(part), "value", n)
		}
		both := append(make([]byte, 0, len(part)), part...)
		return types.VariantValue{Value: both[:n:n], Metadata: both[n:]}, nil
	}
	return nil, tarnerr.New(tarnerr.Invalid, "decoding binary row", "no such type", "type", t)
}

// count reads a leading 4-byte count or size.
func count(b []byte) (n int, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, cut("value shorter than its size", "bytes", len(b))
	}
	v := int32(binary.LittleEndian.Uint32(b))
	if v < 0 {
		return 0, nil, cut("negative size", "size", v)
	}
	return int(v), b[4:], nil
}

func decodeArray(body []byte, element types.Type) ([]types.Value, error) {
	n, _, err := count(body)
	if err != nil {
		return nil, err
	}
	size := width(element)
	// The count is compared before it is multiplied: it may be any number.
	if n > len(body) || arrayHeader(n)+size*n > len(body) {
		return nil, cut("array shorter than its elements", "bytes", len(body), "elements", n)
	}
	d := parts{body: body, left: len(body)}
	out := make([]types.Value, n)
	for i := range out {
		if body[4+i/8]&(1<<(i%8)) != 0 {
			continue
		}
		if out[i], err = d.value(arrayHeader(n)+size*i, element); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decodeVector(body []byte, t types.Type) ([]types.Value, error) {
	element, err := elementType(t)
	if err != nil {
		return nil, err
	}
	if element.IsNested() || element.IsString() || element.IsBytes() || !element.Compact() {
		return nil, tarnerr.New(tarnerr.Unsupported, "decoding vector", "element type has no fixed width", "type", t)
	}
	n, _, err := count(body)
	if err != nil {
		return nil, err
	}
	size := width(element)
	if n > len(body) || 4+size*n > len(body) {
		return nil, cut("vector shorter than its elements", "bytes", len(body), "elements", n)
	}
	d := parts{body: body}
	out := make([]types.Value, n)
	for i := range out {
		if out[i], err = d.value(4+size*i, element); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decodeMap(body []byte, t types.Type) ([]types.Entry, error) {
	key, value, err := pairTypes(t)
	if err != nil {
		return nil, err
	}
	n, rest, err := count(body)
	if err != nil {
		return nil, err
	}
	if n > len(rest) {
		return nil, cut("map shorter than its keys", "bytes", len(rest), "keys", n)
	}
	keys, err := decodeArray(rest[:n], key)
	if err != nil {
		return nil, err
	}
	values, err := decodeArray(rest[n:], value)
	if err != nil {
		return nil, err
	}
	if len(keys) != len(values) {
		return nil, cut("map has not as many values as keys", "keys", len(keys), "values", len(values))
	}
	out := make([]types.Entry, len(keys))
	for i := range out {
		out[i] = types.Entry{Key: keys[i], Value: values[i]}
	}
	return out, nil
}
