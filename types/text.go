package types

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
)

// ParseValue reads a value of type t from text: the canonical form that
// [FormatValue] gives, or a usual SQL spelling of it. It refuses what t cannot
// hold without loss: numbers out of range, fraction digits beyond a DECIMAL's
// scale or beyond what timestamps of that precision store (milliseconds up to
// 3, microseconds up to 6, nanoseconds up to 9), text longer than CHAR(n) or
// VARCHAR(n) allows, invalid UTF-8. TIMESTAMP WITH LOCAL TIME ZONE without zone
// is taken as UTC. Bytes are hex: "hex:0aff", "0x0aff", "\x0aff" or "X'0aff'".
func ParseValue(t Type, text string) (Value, error) {
	v, cause := parseValue(t, text)
	if cause == "" {
		return v, nil
	}
	kind := tarnerr.Invalid
	if t.IsNested() || t.Root == Invalid {
		kind = tarnerr.Unsupported
	}
	return nil, tarnerr.New(kind, "reading value", cause, "type", t.WithNull(true), "value", shorten(text))
}

func shorten(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(s, "\uFFFD"))
}

func parseValue(t Type, text string) (v Value, cause string) {
	switch t.Root {
	case Boolean:
		return parseBool(text)
	case TinyInt:
		return parseInt(text, 8)
	case SmallInt:
		return parseInt(text, 16)
	case Int:
		return parseInt(text, 32)
	case BigInt:
		return parseInt(text, 64)
	case Float:
		f, cause := parseFloat(text, 32)
		return float32(f), cause
	case Double:
		f, cause := parseFloat(text, 64)
		return f, cause
	case Decimal:
		return parseDecimal(text, t.Precision, t.Scale)
	case Char, VarChar:
		if !utf8.ValidString(text) {
			return nil, "invalid UTF-8"
		}
		if len(text) > t.Length && utf8.RuneCountInString(text) > t.Length {
			return nil, "longer than the type allows"
		}
		return text, ""
	case Binary, VarBinary, Blob, Geometry, Geography:
		return parseBytes(t, text)
	case Date:
		days, rest, ok := scanDate(strings.TrimSpace(text))
		if !ok || rest != "" {
			return nil, "no such date, wanted YYYY-MM-DD"
		}
		if days < math.MinInt32 || days > math.MaxInt32 {
			return nil, "out of range"
		}
		return int32(days), ""
	case Time:
		return parseTime(text)
	case Timestamp, TimestampLTZ:
		return parseInstant(t, text)
	}
	return nil, "values of this type have no text form"
}

func parseBool(text string) (Value, string) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "yes", "y", "1":
		return true, ""
	case "false", "f", "no", "n", "0":
		return false, ""
	}
	return nil, "no such boolean, wanted true or false"
}

func parseInt(text string, bits int) (Value, string) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
	switch {
	case err == nil:
		return n, ""
	case strings.HasSuffix(err.Error(), "out of range"):
		return nil, "out of range"
	}
	return nil, "not a whole number"
}

func parseFloat(text string, bits int) (float64, string) {
	s := strings.TrimSpace(text)
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "nan", "inf", "infinity":
	default:
		if strings.ContainsAny(s, "xXpP_") || s == "" {
			return 0, "not a number"
		}
	}
	f, err := strconv.ParseFloat(s, bits)
	switch {
	case err == nil:
		return f, ""
	case strings.HasSuffix(err.Error(), "out of range"):
		return 0, "out of range"
	}
	return 0, "not a number"
}

// parseDecimal reads [+-]digits[.digits][e[+-]digits] exactly.
func parseDecimal(text string, precision, scale int) (Value, string) {
	s := strings.TrimSpace(text)
	neg := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		neg = s[0] == '-'
		s = s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			return nil, "not a decimal number"
		}
		exp, s = int(e), s[:i]
	}
	whole, frac, point := strings.Cut(s, ".")
	digits := whole + frac
	if digits == "" || point && frac == "" && whole == "" {
		return nil, "not a decimal number"
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil, "not a decimal number"
		}
	}
	exp += scale - len(frac) // unscaled = digits · 10^exp
	digits = strings.TrimLeft(digits, "0")
	for exp < 0 && digits != "" {
		if digits[len(digits)-1] != '0' {
			return nil, "more fraction digits than the scale holds"
		}
		digits = digits[:len(digits)-1]
		exp++
	}
	if digits == "" {
		return decimal128.Num{}, ""
	}
	if len(digits)+exp > precision {
		return nil, "out of range"
	}
	n, ok := new(big.Int).SetString(digits+strings.Repeat("0", exp), 10)
	if !ok {
		return nil, "not a decimal number"
	}
	if neg {
		n.Neg(n)
	}
	return decimal128.FromBigInt(n), ""
}

func parseBytes(t Type, text string) (Value, string) {
	s, ok := strings.CutPrefix(text, "hex:")
	for _, p := range []string{"0x", "0X", `\x`} {
		if !ok {
			s, ok = strings.CutPrefix(text, p)
		}
	}
	if !ok && len(text) >= 3 && (text[0] == 'x' || text[0] == 'X') && text[1] == '\'' && text[len(text)-1] == '\'' {
		s, ok = text[2:len(text)-1], true
	}
	if !ok {
		return nil, "bytes are written as hex:0aff"
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, "not an even number of hex digits"
	}
	if (t.Root == Binary || t.Root == VarBinary) && len(b) > t.Length {
		return nil, "longer than the type allows"
	}
	return b, ""
}

func parseTime(text string) (Value, string) {
	s := strings.TrimSpace(text)
	if ms, ok := strings.CutPrefix(s, "ms:"); ok {
		n, err := strconv.ParseInt(ms, 10, 32)
		if err != nil {
			return nil, "not a number of milliseconds"
		}
		return int32(n), ""
	}
	nanos, rest, ok := scanClock(s)
	if !ok || rest != "" {
		return nil, "no such time, wanted HH:MM:SS"
	}
	if nanos%1_000_000 != 0 {
		return nil, "TIME stores milliseconds, the value is finer"
	}
	return int32(nanos / 1_000_000), ""
}

func parseInstant(t Type, text string) (Value, string) {
	s := strings.TrimSpace(text)
	days, rest, ok := scanDate(s)
	if !ok {
		return nil, "no such timestamp, wanted YYYY-MM-DDTHH:MM:SS"
	}
	var nanos int64
	if rest != "" && (rest[0] == 'T' || rest[0] == 't' || rest[0] == ' ') {
		if nanos, rest, ok = scanClock(rest[1:]); !ok {
			return nil, "no such timestamp, wanted YYYY-MM-DDTHH:MM:SS"
		}
	}
	zone, cause := parseZone(strings.TrimSpace(rest))
	if cause != "" {
		return nil, cause
	}
	if rest != "" && t.Root == Timestamp {
		return nil, "TIMESTAMP has no time zone; TIMESTAMP WITH LOCAL TIME ZONE does"
	}
	unit := int64(1)
	switch {
	case t.Precision <= 3:
		unit = 1_000_000
	case t.Precision <= 6:
		unit = 1_000
	}
	if nanos%unit != 0 {
		return nil, "finer than the type's precision"
	}
	if days > math.MaxInt64/millisPerDay-1 || days < math.MinInt64/millisPerDay+1 {
		return nil, "out of range"
	}
	return Instant{
		Millis:      days*millisPerDay + nanos/1_000_000 - zone*60_000,
		NanoOfMilli: int32(nanos % 1_000_000),
	}, ""
}

// parseZone reads "", Z, UTC, +HH, +HHMM or +HH:MM: minutes east of UTC.
func parseZone(s string) (minutes int64, cause string) {
	const bad = "no such time zone, wanted Z or +HH:MM"
	switch strings.ToUpper(s) {
	case "", "Z", "UTC":
		return 0, ""
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, bad
	}
	h, rest, ok := scanTwo(s, s[0])
	m := 0
	if ok && rest != "" {
		if rest[0] != ':' {
			rest = ":" + rest
		}
		m, rest, ok = scanTwo(rest, ':')
	}
	if !ok || rest != "" || h > 18 || m > 59 {
		return 0, bad
	}
	minutes = int64(h*60 + m)
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, ""
}
