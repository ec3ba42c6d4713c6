package rowtext

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/variant"
	"github.com/tarnlake/tarn/types"
)

// A parsed cell is a types.Value, or for nested types a list, pairs or members.
type (
	list    []any
	pairs   []pair
	pair    struct{ key, value any }
	members []any
)

// cellError is a misfit inside a cell; path leads from the column to it.
type cellError struct{ path, value, reason string }

func (e *cellError) Error() string { return e.reason }

func misfit(v any, format string, args ...any) *cellError {
	return &cellError{value: show(v), reason: fmt.Sprintf(format, args...)}
}

func (e *cellError) under(step string) *cellError {
	e.path = step + e.path
	return e
}

func show(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// parseJSON fits a decoded JSON value (with json.Number) to t.
func parseJSON(t types.Type, v any) (any, *cellError) {
	if v == nil {
		if !t.Nullable {
			return nil, &cellError{reason: "null in a " + t.String()}
		}
		return nil, nil
	}
	switch t.Root {
	case types.Array, types.Vector:
		return parseList(t, v)
	case types.Map:
		return parsePairs(*t.Key, *t.Element, v)
	case types.Multiset:
		return parsePairs(*t.Element, countType, v)
	case types.Row:
		return parseMembers(t, v)
	case types.Variant:
		text, ok := v.(string)
		if !ok {
			return nil, misfit(v, "a VARIANT is written as a string that holds its JSON text")
		}
		return parseScalar(t, text)
	}
	switch v := v.(type) {
	case bool:
		if t.Root == types.Boolean {
			return v, nil
		}
	case json.Number:
		if !t.IsString() && !t.IsBytes() {
			return parseScalar(t, string(v))
		}
	case string:
		return parseScalar(t, v)
	}
	return nil, misfit(v, "not a value of %s", t)
}

func parseScalar(t types.Type, text string) (any, *cellError) {
	switch {
	case t.IsString():
		if n := utf8.RuneCountInString(text); n > t.Length {
			return nil, misfit(text, "%d characters in a %s", n, t)
		}
		return text, nil
	case t.IsBytes():
		h, ok := strings.CutPrefix(text, "hex:")
		if !ok {
			return nil, misfit(text, `bytes are written "hex:0aff"`)
		}
		b, err := hex.DecodeString(h)
		if err != nil {
			return nil, misfit(text, "not hexadecimal")
		}
		if (t.Root == types.Binary || t.Root == types.VarBinary) && len(b) > t.Length {
			return nil, misfit(text, "%d bytes in a %s", len(b), t)
		}
		return b, nil
	}
	if t.Root == types.Variant {
		v, err := variant.ParseJSON(text)
		if err != nil {
			return nil, misfit(text, "not a value of %s: %v", t, err)
		}
		return v, nil
	}
	if t.Root == types.Time {
		if ms, ok := strings.CutPrefix(text, "ms:"); ok {
			n, err := strconv.ParseInt(ms, 10, 32)
			if err != nil {
				return nil, misfit(text, "not a number of milliseconds")
			}
			return int32(n), nil
		}
	}
	v, err := types.ParseValue(t, text)
	if err != nil {
		return nil, misfit(text, "not a value of %s: %v", t, err)
	}
	if at, ok := v.(types.Instant); ok {
		if _, ok := types.InstantToUnit(at, types.TimeUnit(t.Precision)); !ok {
			return nil, misfit(text, "nanoseconds in 64 bits reach from 1677-09-21 to 2262-04-11, a TIMESTAMP(6) further")
		}
	}
	return v, nil
}

func parseList(t types.Type, v any) (any, *cellError) {
	in, ok := v.([]any)
	if !ok {
		return nil, misfit(v, "%s wants a JSON array", t)
	}
	if t.Root == types.Vector && len(in) != t.Length {
		return nil, misfit(v, "vector of %d elements, not %d", len(in), t.Length)
	}
	out := make(list, len(in))
	for i, e := range in {
		c, err := parseJSON(*t.Element, e)
		if err != nil {
			return nil, err.under(fmt.Sprintf("[%d]", i))
		}
		out[i] = c
	}
	return out, nil
}

func parsePairs(key, value types.Type, v any) (any, *cellError) {
	var out pairs
	seen := map[string]bool{}
	add := func(k, e any) *cellError {
		if k == nil {
			return &cellError{reason: "null key"}
		}
		kc, err := parseJSON(key, k)
		if err != nil {
			return err.under("[key]")
		}
		if text := show(k); seen[text] {
			return misfit(k, "key given twice")
		} else {
			seen[text] = true
		}
		vc, err := parseJSON(value, e)
		if err != nil {
			return err.under("[" + show(k) + "]")
		}
		out = append(out, pair{kc, vc})
		return nil
	}
	switch in := v.(type) {
	case []any:
		for _, e := range in {
			p, ok := e.([]any)
			if !ok || len(p) != 2 {
				return nil, misfit(e, "a pair is written [key,value]")
			}
			if err := add(p[0], p[1]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, e := range in {
			if err := add(k, e); err != nil {
				return nil, err
			}
		}
	default:
		return nil, misfit(v, "a map is written [[key,value],…]")
	}
	if out == nil {
		out = pairs{}
	}
	return out, nil
}

func parseMembers(t types.Type, v any) (any, *cellError) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, misfit(v, "ROW wants a JSON object")
	}
	out := make(members, len(t.Fields))
	for i, f := range t.Fields {
		c, err := parseJSON(f.Type, in[f.Name])
		if err != nil {
			return nil, err.under("." + f.Name)
		}
		out[i] = c
	}
	for name := range in {
		if !hasField(t.Fields, name) {
			return nil, misfit(in[name], "the row has no such field").under("." + name)
		}
	}
	return out, nil
}

func hasField(fields []types.Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// appendCell appends a parsed cell to a builder of t's Arrow type.
func appendCell(b array.Builder, t types.Type, cell any) error {
	switch c := cell.(type) {
	case nil:
		b.AppendNull()
		return nil
	case list:
		var elements array.Builder
		switch b := b.(type) {
		case *array.ListBuilder:
			b.Append(true)
			elements = b.ValueBuilder()
		case *array.FixedSizeListBuilder:
			b.Append(true)
			elements = b.ValueBuilder()
		}
		for _, e := range c {
			if err := appendCell(elements, *t.Element, e); err != nil {
				return err
			}
		}
		return nil
	case pairs:
		key, value := t.Key, t.Element
		if t.Root == types.Multiset {
			key, value = t.Element, &countType
		}
		m := b.(*array.MapBuilder)
		m.Append(true)
		for _, p := range c {
			if err := appendCell(m.KeyBuilder(), *key, p.key); err != nil {
				return err
			}
			if err := appendCell(m.ItemBuilder(), *value, p.value); err != nil {
				return err
			}
		}
		return nil
	case members:
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, f := range t.Fields {
			if err := appendCell(s.FieldBuilder(i), f.Type, c[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return types.AppendValue(b, t, cell)
}
