package cast

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/types"
)

// fitText cuts text to the length of the type and pads CHAR with blanks.
func fitText(s string, to types.Type) string {
	if len(s) > to.Length {
		n := 0
		for i := range s {
			if n == to.Length {
				return s[:i]
			}
			n++
		}
	}
	if to.Root == types.Char {
		if n := utf8.RuneCountInString(s); n < to.Length {
			return s + strings.Repeat(" ", to.Length-n)
		}
	}
	return s
}

// fitBytes cuts bytes to the length of the type and fills BINARY up with zeros.
func fitBytes(b []byte, to types.Type) []byte {
	if len(b) > to.Length {
		return b[:to.Length]
	}
	if to.Root == types.Binary && len(b) < to.Length {
		return append(b[:len(b):len(b)], make([]byte, to.Length-len(b))...)
	}
	return b
}

// fromText has the rules of CHAR and VARCHAR.
func fromText(to types.Type) rule {
	read := func(parse func(s string) (types.Value, bool)) rule {
		return func(v types.Value) (types.Value, error) {
			out, ok := parse(v.(string))
			if !ok {
				return nil, bad(v.(string), to)
			}
			return out, nil
		}
	}
	switch to.Root {
	case types.Char, types.VarChar:
		return func(v types.Value) (types.Value, error) { return fitText(v.(string), to), nil }
	case types.Binary, types.VarBinary:
		return func(v types.Value) (types.Value, error) { return fitBytes([]byte(v.(string)), to), nil }
	case types.Boolean:
		return read(textBoolean)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		bits := map[types.Root]int{types.TinyInt: 8, types.SmallInt: 16, types.Int: 32, types.BigInt: 64}[to.Root]
		return read(func(s string) (types.Value, bool) { return textInteger(s, bits) })
	case types.Float:
		return read(func(s string) (types.Value, bool) {
			f, ok := textFloat(s, 32)
			return float32(f), ok
		})
	case types.Double:
		return read(func(s string) (types.Value, bool) { return textFloat(s, 64) })
	case types.Decimal:
		return func(v types.Value) (types.Value, error) { return textDecimal(v.(string), to) }
	case types.Date:
		return read(func(s string) (types.Value, bool) { return textDate(s) })
	case types.Time:
		return read(func(s string) (types.Value, bool) { return textTime(s) })
	case types.Timestamp, types.TimestampLTZ:
		return read(func(s string) (types.Value, bool) { return textInstant(s, to) })
	}
	return nil
}

func textBoolean(s string) (types.Value, bool) {
	switch strings.ToLower(s) {
	case "t", "true", "y", "yes", "1":
		return true, true
	case "f", "false", "n", "no", "0":
		return false, true
	}
	return nil, false
}

// textInteger reads digits with a sign; digits behind a point are checked and dropped.
func textInteger(s string, bits int) (types.Value, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.Trim(fraction, "0123456789") != "" || s == "" || s == "+" || s == "-" {
		return nil, false
	}
	digits := whole
	if strings.HasPrefix(whole, "+") || strings.HasPrefix(whole, "-") {
		digits = whole[1:]
	}
	if digits == "" { // "." and "-.5" are 0
		return int64(0), true
	}
	if strings.Trim(digits, "0123456789") != "" {
		return nil, false
	}
	n, err := strconv.ParseInt(whole, 10, bits)
	return n, err == nil
}

// textFloat reads what Java's parseDouble and parseFloat do.
func textFloat(s string, bits int) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	body, sign := s, 1.0
	if strings.HasPrefix(body, "+") || strings.HasPrefix(body, "-") {
		if body[0] == '-' {
			sign = -1
		}
		body = body[1:]
	}
	switch body {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return sign * math.Inf(1), true
	}
	hex := strings.HasPrefix(body, "0x") || strings.HasPrefix(body, "0X")
	if n := len(body); n > 1 && strings.IndexByte("fFdD", body[n-1]) >= 0 && (!hex || strings.ContainsAny(body, "pP")) {
		body = body[:n-1]
	}
	allowed := "0123456789.eE+-"
	if hex {
		allowed = "0123456789abcdefABCDEFxXpP.+-"
	}
	if strings.Trim(body, allowed) != "" || strings.HasPrefix(body, "+") || strings.HasPrefix(body, "-") {
		return 0, false
	}
	f, err := strconv.ParseFloat(body, bits)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return sign * f, true
}

// nestedText has the rules from ARRAY, MAP and ROW to text. It is not cut to a
// length, in Java neither.
func nestedText(from types.Type) rule {
	str := types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
	member := func(t types.Type) func(b *strings.Builder, v types.Value) error {
		r := find(t, str)
		return func(b *strings.Builder, v types.Value) error {
			if v == nil {
				b.WriteString("null")
				return nil
			}
			out, err := r(v)
			if err == nil {
				b.WriteString(out.(string))
			}
			return err
		}
	}
	switch from.Root {
	case types.Array:
		if find(*from.Element, str) == nil {
			return nil
		}
		write := member(*from.Element)
		return func(v types.Value) (types.Value, error) {
			vs := v.([]types.Value)
			return list("[", "]", len(vs), func(b *strings.Builder, i int) error { return write(b, vs[i]) })
		}
	case types.Map:
		if find(*from.Key, str) == nil || find(*from.Element, str) == nil {
			return nil
		}
		key, value := member(*from.Key), member(*from.Element)
		return func(v types.Value) (types.Value, error) {
			es := v.([]types.Entry)
			return list("{", "}", len(es), func(b *strings.Builder, i int) error {
				if err := key(b, es[i].Key); err != nil {
					return err
				}
				b.WriteString(" -> ")
				return value(b, es[i].Value)
			})
		}
	case types.Row:
		var writes []func(*strings.Builder, types.Value) error
		for _, f := range from.Fields {
			if find(f.Type, str) == nil {
				return nil
			}
			writes = append(writes, member(f.Type))
		}
		return func(v types.Value) (types.Value, error) {
			vs := v.([]types.Value)
			return list("{", "}", len(vs), func(b *strings.Builder, i int) error { return writes[i](b, vs[i]) })
		}
	}
	return nil
}

func list(begin, end string, n int, write func(b *strings.Builder, i int) error) (types.Value, error) {
	var b strings.Builder
	b.WriteString(begin)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := write(&b, i); err != nil {
			return nil, err
		}
	}
	b.WriteString(end)
	return b.String(), nil
}
