package option

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/tarnerr"
)

func bad(name, value, cause string) *tarnerr.Error {
	return tarnerr.New(tarnerr.Invalid, "reading table option", cause, "option", name, "value", strconv.Quote(value))
}

// Check reports whether value parses as the key's kind.
func (k *Key) Check(value string) error {
	switch k.Kind {
	case Bool:
		_, err := parseBool(k.Name, value)
		return err
	case Int:
		_, err := parseInt(k.Name, value, 32)
		return err
	case Long:
		_, err := parseInt(k.Name, value, 64)
		return err
	case Float, Double:
		if _, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
			return bad(k.Name, value, "not a number").WithHint("Give one such as 0.5.")
		}
	case Duration:
		_, err := parseDuration(k.Name, value)
		return err
	case Size:
		_, err := parseMemorySize(k.Name, value)
		return err
	case Enum:
		for _, v := range k.Values {
			if strings.EqualFold(v, value) {
				return nil
			}
		}
		return bad(k.Name, value, "no such value").WithHint("One of %s.", strings.Join(k.Values, ", "))
	case Map:
		_, err := parseMap(k.Name, value)
		return err
	}
	return nil
}

func parseBool(name, value string) (bool, error) {
	switch strings.ToUpper(value) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, bad(name, value, "neither true nor false").WithHint("Give one of the two.")
}

func parseInt(name, value string, bits int) (int64, error) {
	n, err := strconv.ParseInt(value, 10, bits)
	if err != nil {
		if strings.HasSuffix(err.Error(), "out of range") {
			return 0, bad(name, value, "out of range").WithHint("Numbers of %d bits fit.", bits)
		}
		return 0, bad(name, value, "not a whole number").WithHint("Give digits, and nothing else.")
	}
	return n, nil
}

// numberAndUnit cuts leading digits from the unit behind them.
func numberAndUnit(name, value string) (n int64, unit string, err error) {
	s := strings.TrimSpace(value)
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return 0, "", bad(name, value, "it does not start with a number").WithHint("Give digits, then a unit.")
	}
	if n, err = strconv.ParseInt(s[:i], 10, 64); err != nil {
		return 0, "", bad(name, value, "out of range").WithHint("Give a smaller number.")
	}
	return n, strings.ToLower(strings.TrimSpace(s[i:])), nil
}

var memoryUnits = map[string]int64{
	"": 1, "b": 1, "bytes": 1,
	"k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}

func parseMemorySize(name, value string) (int64, error) {
	n, unit, err := numberAndUnit(name, value)
	if err != nil {
		return 0, err
	}
	factor, ok := memoryUnits[unit]
	if !ok {
		return 0, bad(name, value, "no such unit").WithHint("Units are b, kb, mb, gb and tb.")
	}
	if n > math.MaxInt64/factor {
		return 0, bad(name, value, "out of range").WithHint("Give a smaller number.")
	}
	return n * factor, nil
}

var durationUnits = map[string]time.Duration{
	"":  time.Millisecond,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond,
	"nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
}

// parseDuration reads a time interval. What does not fit 292 years is the
// longest interval there is.
func parseDuration(name, value string) (time.Duration, error) {
	n, unit, err := numberAndUnit(name, value)
	if err != nil {
		return 0, err
	}
	factor, ok := durationUnits[unit]
	if !ok {
		return 0, bad(name, value, "no such unit").WithHint("Units are d, h, min, s, ms, µs and ns.")
	}
	if n > math.MaxInt64/int64(factor) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * factor, nil
}

// parseMap reads "k1:v1,k2:v2". A part in single quotes may hold the separators.
func parseMap(name, value string) (map[string]string, error) {
	out := map[string]string{}
	if strings.TrimSpace(value) == "" {
		return out, nil
	}
	for _, item := range splitQuoted(value, ',') {
		pair := splitQuoted(item, ':')
		if len(pair) != 2 {
			return nil, bad(name, value, "an item is not key:value").WithHint("Give k1:v1,k2:v2, with what holds a comma or a colon in single quotes.")
		}
		out[strings.TrimSpace(pair[0])] = strings.TrimSpace(pair[1])
	}
	return out, nil
}

func splitQuoted(s string, sep byte) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' && sep == ':':
			// the outer cut keeps quotes, the inner one takes them off
			if quoted && i+1 < len(s) && s[i+1] == '\'' {
				b.WriteByte(c)
				i++
			} else {
				quoted = !quoted
			}
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c == sep && !quoted:
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(out, b.String())
}
