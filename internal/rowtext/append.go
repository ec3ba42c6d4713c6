package rowtext

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/variant"
	"github.com/tarnlake/tarn/types"
)

// appendJSON appends cell i of col, a column of type t, in canonical form.
func appendJSON(dst []byte, t types.Type, col arrow.Array, i int) ([]byte, error) {
	if col.IsNull(i) {
		return append(dst, "null"...), nil
	}
	switch a := col.(type) {
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i)), nil
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10), nil
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(i)), 32), nil
	case *array.Float64:
		return appendFloat(dst, a.Value(i), 64), nil
	case *array.String:
		return appendString(dst, a.Value(i)), nil
	case *array.Binary:
		dst = append(dst, `"hex:`...)
		dst = hex.AppendEncode(dst, a.Value(i))
		return append(dst, '"'), nil
	case *array.Map: // before List: a Map array is a list, too
		return appendMap(dst, t, a, i)
	case *array.List:
		start, end := a.ValueOffsets(i)
		return appendList(dst, *t.Element, a.ListValues(), int(start), int(end))
	case *array.FixedSizeList:
		start, end := a.ValueOffsets(i)
		return appendList(dst, *t.Element, a.ListValues(), int(start), int(end))
	case *array.Struct:
		if t.Root == types.Variant {
			return appendVariant(dst, a, i)
		}
		return appendRow(dst, t, a, i)
	}
	return appendString(dst, types.FormatValue(t, types.ValueAt(t, col, i))), nil
}

func appendList(dst []byte, t types.Type, values arrow.Array, start, end int) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, t, values, j); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

var countType = types.Type{Root: types.Int}

// appendMap writes the pairs of a MAP or MULTISET sorted by their text, as the
// order in the file means nothing.
func appendMap(dst []byte, t types.Type, a *array.Map, i int) ([]byte, error) {
	key, value := t.Key, t.Element
	if t.Root == types.Multiset {
		key, value = t.Element, &countType
	}
	start, end := a.ValueOffsets(i)
	pairs := make([][]byte, 0, end-start)
	for j := int(start); j < int(end); j++ {
		p, err := appendJSON([]byte{'['}, *key, a.Keys(), j)
		if err != nil {
			return nil, err
		}
		if p, err = appendJSON(append(p, ','), *value, a.Items(), j); err != nil {
			return nil, err
		}
		pairs = append(pairs, append(p, ']'))
	}
	slices.SortFunc(pairs, bytes.Compare)
	dst = append(dst, '[')
	dst = append(dst, bytes.Join(pairs, []byte{','})...)
	return append(dst, ']'), nil
}

func appendRow(dst []byte, t types.Type, a *array.Struct, i int) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	for j, f := range t.Fields {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.Name), ':')
		if dst, err = appendJSON(dst, f.Type, a.Field(j), i); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendVariant writes a VARIANT as a string that holds its JSON text.
func appendVariant(dst []byte, a *array.Struct, i int) ([]byte, error) {
	text, err := variantText(nil, a, i)
	if err != nil {
		return nil, err
	}
	return appendString(dst, string(text)), nil
}

func variantText(dst []byte, a *array.Struct, i int) ([]byte, error) {
	v, _ := types.ValueAt(types.Type{Root: types.Variant}, a, i).(types.VariantValue)
	return variant.AppendJSON(dst, v.Value, v.Metadata)
}

// appendFloat writes the shortest digits that read back, in Java's layout.
func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	case x == 0 && math.Signbit(x):
		return append(dst, "-0.0"...)
	}
	if m := math.Abs(x); m == 0 || m >= 1e-3 && m < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, bits)
		if !bytes.Contains(dst[start:], []byte{'.'}) {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	text := strconv.AppendFloat(nil, x, 'e', -1, bits) // d[.ddd]e±dd
	mantissa, exponent, _ := bytes.Cut(text, []byte{'e'})
	dst = append(dst, mantissa...)
	if !bytes.Contains(mantissa, []byte{'.'}) {
		dst = append(dst, ".0"...)
	}
	e, _ := strconv.Atoi(string(exponent)) // ±dd always parses
	return strconv.AppendInt(append(dst, 'E'), int64(e), 10)
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
