package types

import (
	"encoding/hex"
	"math"
	"sort"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// FormatValue is v in its canonical text form without quotes: floats with the
// fewest digits that read back ("1.0", "1.0E7", "NaN"), decimals with exactly
// their scale, bytes as hex:…, dates and times in ISO form, LTZ in UTC with Z,
// a TIME outside the day as ms:N, null as "null". Nested values come in the
// canonical JSON form, their members quoted.
func FormatValue(t Type, v Value) string {
	switch x := v.(type) {
	case string:
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	}
	return string(AppendValueText(nil, t, v))
}

// AppendValueText appends what [FormatValue] returns.
func AppendValueText(dst []byte, t Type, v Value) []byte {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, x)
	case int64:
		return strconv.AppendInt(dst, x, 10)
	case float32:
		return AppendFloat(dst, float64(x), 32)
	case float64:
		return AppendFloat(dst, x, 64)
	case decimal128.Num:
		return AppendDecimal(dst, x, t.Scale)
	case string:
		return append(dst, x...)
	case []byte:
		return hex.AppendEncode(append(dst, "hex:"...), x)
	case int32:
		if t.Root == Time {
			return AppendTime(dst, x)
		}
		return appendDate(dst, int64(x))
	case Instant:
		dst = appendInstant(dst, x)
		if t.Root == TimestampLTZ {
			dst = append(dst, 'Z')
		}
		return dst
	case []Value:
		return appendList(dst, t, x)
	case []Entry:
		return appendEntries(dst, t, x)
	case VariantValue:
		dst = hex.AppendEncode(append(dst, "hex:"...), x.Value)
		return hex.AppendEncode(append(dst, '/'), x.Metadata)
	}
	return append(dst, "?"...)
}

// AppendDate appends a DATE (days since 1970-01-01) in canonical form.
func AppendDate(dst []byte, days int32) []byte { return appendDate(dst, int64(days)) }

// AppendTime appends a TIME (milliseconds of the day) in canonical form.
func AppendTime(dst []byte, millis int32) []byte {
	if millis < 0 || millis >= millisPerDay {
		return strconv.AppendInt(append(dst, "ms:"...), int64(millis), 10)
	}
	return appendClock(dst, int64(millis), 0)
}

// AppendInstant appends a TIMESTAMP in canonical form, without zone.
func AppendInstant(dst []byte, v Instant) []byte { return appendInstant(dst, v) }

// AppendDecimal appends a decimal with exactly scale fraction digits.
func AppendDecimal(dst []byte, n decimal128.Num, scale int) []byte {
	var digits []byte
	if n.HighBits() == int64(n.LowBits())>>63 {
		digits = strconv.AppendInt(nil, int64(n.LowBits()), 10)
	} else {
		digits = n.BigInt().Append(nil, 10)
	}
	if digits[0] == '-' {
		dst = append(dst, '-')
		digits = digits[1:]
	}
	if scale <= 0 {
		return append(dst, digits...)
	}
	point := len(digits) - scale
	if point <= 0 {
		dst = append(dst, '0', '.')
		for ; point < 0; point++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:point]...)
	return append(append(dst, '.'), digits[point:]...)
}

// AppendFloat appends a FLOAT (bits 32) or DOUBLE (64) in canonical form.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, '.', '0')
	}
	// d.dE±n: strconv gives d.dde±nn.
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], f, 'e', -1, bits)
	point := false
	for i, c := range s {
		if c == '.' {
			point = true
		}
		if c == 'e' {
			if !point {
				dst = append(dst, '.', '0')
			}
			exp, _ := strconv.Atoi(string(s[i+1:]))
			return strconv.AppendInt(append(dst, 'E'), int64(exp), 10)
		}
		dst = append(dst, c)
	}
	return dst
}

func appendList(dst []byte, t Type, vs []Value) []byte {
	opening, closing := byte('['), byte(']')
	if t.Root == Row {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, ',')
		}
		element := t.Element.orInvalid()
		if t.Root == Row && i < len(t.Fields) {
			element = t.Fields[i].Type
			dst = append(AppendQuoted(dst, t.Fields[i].Name), ':')
		}
		dst = appendMember(dst, element, v)
	}
	return append(dst, closing)
}

func appendEntries(dst []byte, t Type, es []Entry) []byte {
	key, value := t.Key.orInvalid(), t.Element.orInvalid()
	if t.Root == Multiset {
		key, value = value, Type{Root: Int}
	}
	pairs := make([]string, len(es))
	for i, e := range es {
		b := appendMember([]byte{'['}, key, e.Key)
		b = appendMember(append(b, ','), value, e.Value)
		pairs[i] = string(append(b, ']'))
	}
	sort.Strings(pairs)
	dst = append(dst, '[')
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p...)
	}
	return append(dst, ']')
}

// appendMember appends a value inside JSON: quoted unless JSON has a literal for it.
func appendMember(dst []byte, t Type, v Value) []byte {
	switch x := v.(type) {
	case nil, bool, int64, []Value, []Entry:
		return AppendValueText(dst, t, v)
	case float32:
		v = float64(x)
	}
	if f, ok := v.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		bits := 64
		if t.Root == Float {
			bits = 32
		}
		return AppendFloat(dst, f, bits)
	}
	return AppendQuoted(dst, FormatValue(t, v))
}

// AppendQuoted appends s as a canonical JSON string: quote and backslash are
// escaped with a backslash, control characters as \u00xx, nothing else.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
