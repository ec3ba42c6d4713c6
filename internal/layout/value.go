package layout

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// valueText is the text of a value that is not null, as Java's toString
// (legacy) or CAST to STRING gives it.
func valueText(f types.Field, v types.Value, legacy bool) (string, error) {
	switch f.Type.Root {
	case types.Date:
		if legacy {
			return strconv.Itoa(int(v.(int32))), nil
		}
	case types.Time:
		if legacy {
			return strconv.Itoa(int(v.(int32))), nil
		}
		return castTime(v.(int32), f.Type.Precision), nil
	case types.Timestamp, types.TimestampLTZ:
		if legacy {
			return isoTimestamp(v.(types.Instant)), nil
		}
		return castTimestamp(v.(types.Instant), f.Type.Precision), nil
	case types.Float:
		return floatText(float64(v.(float32)), 32), nil
	case types.Double:
		return floatText(v.(float64), 64), nil
	case types.Binary, types.VarBinary:
		if legacy {
			return "", tarnerr.New(tarnerr.Unsupported, "naming partition", "legacy names of binary columns differ in every Java process",
				"column", f.Name, "type", f.Type).WithHint("Set partition.legacy-name to false.")
		}
		return string(v.([]byte)), nil
	case types.Blob, types.Geometry, types.Geography, types.Array, types.Map, types.Multiset, types.Row, types.Variant, types.Vector:
		return "", tarnerr.New(tarnerr.Unsupported, "naming partition", "no partitions by columns of this type", "column", f.Name, "type", f.Type)
	}
	return types.FormatValue(f.Type, v), nil
}

// floatText is Double.toString as of JDK 19, before which a few values had more
// digits than they need. Of two digits it has the nearest, where one would do:
// that tells in the smallest subnormals alone (4.9E-324).
func floatText(f float64, bits int) string {
	s := string(types.AppendFloat(nil, f, bits))
	if mantissa, _, ok := strings.Cut(s, ".0E-"); !ok || len(strings.TrimPrefix(mantissa, "-")) != 1 {
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', 1, bits), "e-")
	return mantissa + "E-" + strings.TrimLeft(exp, "0")
}

const millisPerDay = 24 * 60 * 60 * 1000

// split cuts an instant into days and nanoseconds of the day.
func split(v types.Instant) (days int64, nanos int64) {
	days = v.Millis / millisPerDay
	if v.Millis%millisPerDay < 0 {
		days--
	}
	return days, (v.Millis-days*millisPerDay)*1e6 + int64(v.NanoOfMilli)
}

// isoTimestamp is LocalDateTime.toString: seconds only when there are some or a
// fraction, the fraction in groups of three digits.
func isoTimestamp(v types.Instant) string {
	days, nanos := split(v)
	dst := types.AppendDate(make([]byte, 0, 32), int32(days))
	dst = append(dst, 'T')
	sec, frac := nanos/1e9, nanos%1e9
	dst = appendTwo(append(appendTwo(dst, sec/3600), ':'), sec/60%60)
	if sec%60 == 0 && frac == 0 {
		return string(dst)
	}
	dst = appendTwo(append(dst, ':'), sec%60)
	if frac == 0 {
		return string(dst)
	}
	digits := nineDigits(frac)
	for len(digits) > 3 && strings.HasSuffix(digits, "000") {
		digits = digits[:len(digits)-3]
	}
	return string(dst) + "." + digits
}

// castTimestamp is CAST(TIMESTAMP(p) AS STRING): a fraction of at least p
// digits and no more zeros than that. LTZ is shown in UTC.
func castTimestamp(v types.Instant, precision int) string {
	days, nanos := split(v)
	dst := types.AppendDate(make([]byte, 0, 32), int32(days))
	dst = appendSeconds(append(dst, ' '), nanos/1e9)
	digits := nineDigits(nanos % 1e9)
	for len(digits) > precision && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if digits == "" {
		return string(dst)
	}
	return string(dst) + "." + digits
}

// castTime is CAST(TIME(p) AS STRING): at most p fraction digits and, unless p
// is 0, at least one.
func castTime(millis int32, precision int) string {
	s := string(appendSeconds(nil, int64(millis)/1000))
	if precision == 0 {
		return s
	}
	digits := nineDigits(int64(millis) % 1000 * 1e6)[:min(precision, 3)]
	return s + "." + digits[:1] + strings.TrimRight(digits[1:], "0")
}

func appendSeconds(dst []byte, sec int64) []byte {
	dst = append(appendTwo(dst, sec/3600), ':')
	dst = append(appendTwo(dst, sec/60%60), ':')
	return appendTwo(dst, sec%60)
}

func appendTwo(dst []byte, n int64) []byte {
	if n < 0 || n > 99 {
		return strconv.AppendInt(dst, n, 10)
	}
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

func nineDigits(nanos int64) string {
	s := strconv.FormatInt(1e9+nanos, 10)
	return s[1:]
}

// blank reports text of white space alone, as Character.isWhitespace has it:
// Unicode's spaces but those that do not break.
func blank(s string) bool {
	for _, r := range s {
		switch {
		case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20:
		case r == 0xa0, r == 0x2007, r == 0x202f:
			return false
		case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
		default:
			return false
		}
	}
	return true
}

// parseText reads a partition value. Legacy and plain spellings differ for dates
// and times; where no text can be both, either is taken.
func parseText(f types.Field, text string, legacy bool) (types.Value, error) {
	const op = "reading partition value"
	t := f.Type
	switch t.Root {
	case types.Char, types.VarChar:
		if !utf8.ValidString(text) {
			return nil, tarnerr.New(tarnerr.Invalid, op, "text is not valid UTF-8", "column", f.Name)
		}
		return text, nil
	case types.Date, types.Time:
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			return int32(n), nil
		}
	case types.Timestamp, types.TimestampLTZ:
		// A value finer than its type's precision may have been stored.
		t.Precision = 9
	case types.Binary, types.VarBinary:
		if legacy {
			return nil, tarnerr.New(tarnerr.Unsupported, op, "legacy names of binary columns do not tell the value", "column", f.Name)
		}
		return []byte(text), nil
	case types.Float, types.Double, types.Decimal, types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt:
	default:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "no partitions by columns of this type", "column", f.Name, "type", f.Type)
	}
	v, err := types.ParseValue(t, text)
	if err != nil {
		return nil, tarnerr.Trace(op, err, "column", f.Name)
	}
	return v, nil
}
