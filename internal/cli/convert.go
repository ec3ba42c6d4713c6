package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// converter picks how values of one type become another's; the text it returns
// is what an error shows.
func converter(from, to types.Type) func(fitted, arrow.Array, int) (types.Value, string, error) {
	switch {
	case from.Root == types.Invalid:
		return convertForeign
	case from.IsBytes() && to.IsString():
		return bytesToString
	case from.IsString() && to.IsBytes():
		return func(f fitted, col arrow.Array, i int) (types.Value, string, error) {
			v := types.ValueAt(f.from.Type, col, i)
			return []byte(v.(string)), v.(string), nil
		}
	case from.Root == types.Float && to.Root == types.Double:
		return func(f fitted, col arrow.Array, i int) (types.Value, string, error) {
			v := types.ValueAt(f.from.Type, col, i)
			return float64(v.(float32)), "", nil
		}
	}
	return convertText
}

// convertText goes through the text of a value, which both types must agree on.
func convertText(f fitted, col arrow.Array, i int) (types.Value, string, error) {
	text := types.FormatValue(f.from.Type, types.ValueAt(f.from.Type, col, i))
	v, err := types.ParseValue(f.to.Type, text)
	return v, text, err
}

func bytesToString(f fitted, col arrow.Array, i int) (types.Value, string, error) {
	b := types.ValueAt(f.from.Type, col, i).([]byte)
	if !utf8.Valid(b) {
		return nil, strconv.QuoteToASCII(string(b)), tarnerr.New(tarnerr.Invalid, "reading value", "bytes are not UTF-8")
	}
	return string(b), string(b), nil
}

// convertForeign reads arrays that no logical type stands for: unsigned
// integers, large and view strings, dictionaries.
func convertForeign(f fitted, col arrow.Array, i int) (types.Value, string, error) {
	text, err := foreignText(col, i)
	if err != nil {
		return nil, text, err
	}
	if f.to.Type.IsBytes() {
		return []byte(text), text, nil
	}
	v, err := types.ParseValue(f.to.Type, text)
	return v, text, err
}

// foreignText is a value as text, which outlives the array, as errors do.
func foreignText(col arrow.Array, i int) (string, error) {
	switch a := col.(type) {
	case *array.Dictionary:
		return foreignText(a.Dictionary(), a.GetValueIndex(i))
	case *array.String:
		return strings.Clone(a.Value(i)), nil
	case *array.LargeString:
		return strings.Clone(a.Value(i)), nil
	case *array.StringView:
		return strings.Clone(a.Value(i)), nil
	case *array.LargeBinary:
		return string(a.Value(i)), nil
	case *array.BinaryView:
		return string(a.Value(i)), nil
	case *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64,
		*array.Int8, *array.Int16, *array.Int32, *array.Int64:
		return col.ValueStr(i), nil
	}
	return "", tarnerr.New(tarnerr.Unsupported, "reading value", "this Arrow type", "type", col.DataType())
}

func convertKind(_ fitted, col arrow.Array, i int) (types.Value, string, error) {
	text, err := foreignText(col, i)
	if err != nil {
		return nil, text, err
	}
	k, err := types.ParseRowKind(text)
	return int64(k), text, err
}
