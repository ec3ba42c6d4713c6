package binaryrow

import (
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	slotSize  = 8
	maxInline = 7 // bytes of a string or binary value that fit into its slot
	// inlineMark is set in the last byte of a slot that holds its value itself.
	inlineMark = 0x80

	// Every row and array ends on a word, every part of its variable part too.
	word = 8
)

// Wide values reserve a fixed room in the variable part, null or not.
const (
	decimalRoom   = 16
	timestampRoom = 8
)

// countType is the type of the values of a MULTISET.
var countType = types.Type{Root: types.Int}

// pairTypes are the key and value types of a MAP or MULTISET.
func pairTypes(t types.Type) (key, value types.Type, err error) {
	if t.Root == types.Multiset {
		key, err = elementType(t)
		return key, countType, err
	}
	if t.Key == nil {
		return key, value, untyped(t)
	}
	value, err = elementType(t)
	return *t.Key, value, err
}

func elementType(t types.Type) (types.Type, error) {
	if t.Element == nil {
		return types.Type{}, untyped(t)
	}
	return *t.Element, nil
}

func untyped(t types.Type) error {
	return tarnerr.New(tarnerr.Invalid, "mapping type to binary row", "type without its element or key type", "root", int(t.Root))
}

// fieldTypes are the types of the members of a ROW.
func fieldTypes(t types.Type) []types.Type {
	out := make([]types.Type, len(t.Fields))
	for i := range t.Fields {
		out[i] = t.Fields[i].Type
	}
	return out
}

// width is the bytes a value of type t takes in the fixed part of an array; in
// a row every value has a whole slot, of which it uses the first width bytes.
func width(t types.Type) int {
	switch t.Root {
	case types.Boolean, types.TinyInt:
		return 1
	case types.SmallInt:
		return 2
	case types.Int, types.Float, types.Date, types.Time:
		return 4
	}
	return slotSize
}

// arrayHeader is the bytes of an array before its elements: count and null bits.
func arrayHeader(n int) int { return 4 + (n+31)/32*4 }

func roundUp(n int) int { return (n + word - 1) &^ (word - 1) }
