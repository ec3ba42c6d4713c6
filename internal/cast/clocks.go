package cast

import (
	"strings"
	"time"

	"github.com/tarnlake/tarn/types"
)

// isNumeric reports digits, with a minus in front or not.
func isNumeric(s string) bool { return isDigits(strings.TrimPrefix(s, "-")) }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// trimmed reads digits with blanks around them.
func trimmed(s string) (int64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if !isDigits(s) {
		return 0, false
	}
	v, ok := textInteger(s, 32)
	if !ok {
		return 0, false
	}
	return v.(int64), true
}

// textDate reads y[-m[-d]] with anything behind a blank, or a number of days.
func textDate(s string) (types.Value, bool) {
	if isNumeric(s) {
		v, ok := textInteger(s, 32)
		if !ok {
			return nil, false
		}
		return int32(v.(int64)), true
	}
	if at := strings.IndexByte(s, ' '); at > 0 {
		s = s[:at]
	}
	parts := strings.SplitN(s, "-", 3)
	ymd := [3]int64{0, 1, 1}
	for i, p := range parts {
		v, ok := trimmed(p)
		if !ok {
			return nil, false
		}
		ymd[i] = v
	}
	day := time.Date(int(ymd[0]), time.Month(ymd[1]), int(ymd[2]), 0, 0, 0, 0, time.UTC)
	y, m, d := day.Date()
	if ymd[0] > 9999 || int64(y) != ymd[0] || int64(m) != ymd[1] || int64(d) != ymd[2] {
		return nil, false
	}
	return int32(day.Unix() / 86_400), true
}

// textTime reads h[:m[:s[.f]]][±h[:m]], or a number of milliseconds. Nothing is
// held to its range; the zone's offset is subtracted for minus, added for plus.
func textTime(s string) (types.Value, bool) {
	if isNumeric(s) {
		v, ok := textInteger(s, 32)
		if !ok {
			return nil, false
		}
		return int32(v.(int64)), true
	}
	sign, at := int64(-1), strings.IndexByte(s, '-')
	if at < 0 {
		sign, at = 1, strings.IndexByte(s, '+')
	}
	clock, zone := s, "0"
	if at >= 0 {
		clock, zone = s[:at], s[at+1:]
	}
	zoneHour, zoneMinute, _ := strings.Cut(zone, ":")
	zh, ok := trimmed(zoneHour)
	zm, ok2 := int64(0), true
	if strings.Contains(zone, ":") {
		zm, ok2 = trimmed(zoneMinute)
	}
	parts := strings.SplitN(clock, ":", 3)
	var milli int64
	if len(parts) == 3 {
		if second, fraction, found := strings.Cut(parts[2], "."); found {
			parts[2], milli = second, fractionMillis(strings.TrimSpace(fraction))
		}
	}
	var hms [3]int64
	for i, p := range parts {
		v, good := trimmed(p)
		hms[i], ok = v, ok && good
	}
	if !ok || !ok2 {
		return nil, false
	}
	return int32((hms[0]+sign*zh)*3_600_000 + (hms[1]+sign*zm)*60_000 + hms[2]*1000 + milli), true
}

// fractionMillis reads three digits and rounds by the fourth; what is no digit is 0.
func fractionMillis(s string) (r int64) {
	multiplier := int64(100)
	for i := range len(s) {
		if c := s[i]; c >= '0' && c <= '9' {
			r += multiplier * int64(c-'0')
		}
		if multiplier < 10 {
			if i+1 < len(s) && s[i+1] >= '5' {
				r++
			}
			break
		}
		multiplier /= 10
	}
	return r
}

// textInstant reads yyyy-m-d[ h:m:s[.f]]; a TIMESTAMP of precision 0, 3, 6 or 9
// also a number counted in its unit.
func textInstant(s string, to types.Type) (types.Value, bool) {
	if to.Root == types.Timestamp && isNumeric(s) {
		return numberInstant(s, to.Precision)
	}
	day, clock, timed := strings.Cut(s, " ")
	parts := strings.Split(day, "-")
	if len(parts) != 3 {
		return nil, false
	}
	y, ok := year(parts[0])
	m, ok1 := two(parts[1], 12)
	d, ok2 := two(parts[2], 31)
	if !ok || !ok1 || !ok2 || m == 0 || d == 0 {
		return nil, false
	}
	// A day the month does not have is its last one.
	d = min(d, int64(time.Date(int(y), time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()))
	var nanos int64
	if timed {
		if nanos, ok = clockNanos(clock); !ok {
			return nil, false
		}
	}
	by := int64(pow10(9 - to.Precision))
	nanos -= nanos % by
	millis := time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC).UnixMilli() + nanos/nanoPerMilli
	return types.Instant{Millis: millis, NanoOfMilli: int32(nanos % nanoPerMilli)}, true
}

// year reads four digits, or a plus and more.
func year(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") {
		if len(s) < 6 || len(s) > 10 || !isDigits(s[1:]) {
			return 0, false
		}
		s = s[1:]
	} else if len(s) != 4 {
		return 0, false
	}
	v, ok := trimmed(s)
	return v, ok && isDigits(s) && v > 0 && v <= 999_999_999
}

func two(s string, most int64) (int64, bool) {
	if !isDigits(s) || len(s) > 2 {
		return 0, false
	}
	v, _ := trimmed(s)
	return v, v <= most
}

// clockNanos reads h:m:s[.f], 24:00:00 too.
func clockNanos(s string) (int64, bool) {
	s, fraction, dot := strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) != 3 || dot && (len(fraction) > 9 || fraction != "" && !isDigits(fraction)) {
		return 0, false
	}
	h, ok := two(parts[0], 24)
	m, ok1 := two(parts[1], 59)
	sec, ok2 := two(parts[2], 59)
	nanos, _ := trimmed((fraction + "000000000")[:9])
	if !ok || !ok1 || !ok2 || h == 24 && (m > 0 || sec > 0 || nanos > 0) {
		return 0, false
	}
	return (h*3600+m*60+sec)*1_000_000_000 + nanos, true
}

func numberInstant(s string, precision int) (types.Value, bool) {
	v, ok := textInteger(s, 64)
	if !ok {
		return nil, false
	}
	n := v.(int64)
	out := types.Instant{Millis: n}
	switch precision {
	case 0:
		out.Millis = n * 1000
	case 3:
	case 6:
		out = types.Instant{Millis: n / 1000, NanoOfMilli: int32(n % 1000 * 1000)}
	case 9:
		out = types.Instant{Millis: n / nanoPerMilli, NanoOfMilli: int32(n % nanoPerMilli)}
	default:
		return nil, false
	}
	if out.NanoOfMilli < 0 {
		out.NanoOfMilli += nanoPerMilli
		out.Millis--
	}
	return out, true
}
