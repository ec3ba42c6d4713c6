package types

import (
	"math"
	"strconv"
	"strings"
)

const (
	millisPerDay = 86_400_000
	// Years Java's LocalDate can hold.
	maxYear = 999_999_999
)

// daysFromCivil is the day number (1970-01-01 = 0) of a proleptic Gregorian date.
func daysFromCivil(y int64, m, d int) int64 {
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := int64((153*((m+9)%12)+2)/5 + d - 1)
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// civilFromDays is the inverse of daysFromCivil.
func civilFromDays(z int64) (y int64, m, d int) {
	z += 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := int((5*doy + 2) / 153)
	d = int(doy) - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return y, m, d
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func daysIn(y int64, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// appendDate appends YYYY-MM-DD as Java's LocalDate prints it: years before 0
// with a minus, beyond 9999 with a plus.
func appendDate(dst []byte, days int64) []byte {
	y, m, d := civilFromDays(days)
	switch {
	case y > 9999:
		dst = strconv.AppendInt(append(dst, '+'), y, 10)
	case y < 0:
		dst = appendPadded(append(dst, '-'), -y, 4)
	default:
		dst = appendPadded(dst, y, 4)
	}
	dst = appendPadded(append(dst, '-'), int64(m), 2)
	return appendPadded(append(dst, '-'), int64(d), 2)
}

func appendPadded(dst []byte, n int64, width int) []byte {
	for p := int64(math.Pow10(width - 1)); p > 1 && n < p; p /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

// appendClock appends HH:MM:SS and the fraction without trailing zeros.
func appendClock(dst []byte, millis, nanos int64) []byte {
	s := millis / 1000
	dst = appendPadded(dst, s/3600, 2)
	dst = appendPadded(append(dst, ':'), s/60%60, 2)
	dst = appendPadded(append(dst, ':'), s%60, 2)
	frac := millis%1000*1_000_000 + nanos
	if frac == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), frac, 9)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendInstant(dst []byte, v Instant) []byte {
	days := floorDiv(v.Millis, millisPerDay)
	dst = append(appendDate(dst, days), 'T')
	return appendClock(dst, v.Millis-days*millisPerDay, int64(v.NanoOfMilli))
}

// scanDate reads [+-]YYYY-MM-DD at the start of s and returns the rest.
func scanDate(s string) (days int64, rest string, ok bool) {
	neg := false
	signed := s != "" && (s[0] == '+' || s[0] == '-')
	if signed {
		neg = s[0] == '-'
		s = s[1:]
	}
	y, n := scanInt(s)
	if n < 4 || n > 9 || n > 4 && !signed {
		return 0, "", false
	}
	s = s[n:]
	m, s, ok1 := scanTwo(s, '-')
	d, s, ok2 := scanTwo(s, '-')
	if neg {
		y = -y
	}
	if !ok1 || !ok2 || y > maxYear || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, "", false
	}
	return daysFromCivil(y, m, d), s, true
}

func scanInt(s string) (v int64, n int) {
	for n < len(s) && n < 10 && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int64(s[n]-'0')
		n++
	}
	return v, n
}

// scanTwo reads sep and two digits.
func scanTwo(s string, sep byte) (v int, rest string, ok bool) {
	if len(s) < 3 || s[0] != sep || s[1] < '0' || s[1] > '9' || s[2] < '0' || s[2] > '9' {
		return 0, "", false
	}
	return int(s[1]-'0')*10 + int(s[2]-'0'), s[3:], true
}

// scanClock reads HH:MM[:SS[.f…]] at the start of s: nanoseconds of the day.
func scanClock(s string) (nanos int64, rest string, ok bool) {
	h, s, ok := scanTwo(":"+s, ':')
	if !ok {
		return 0, "", false
	}
	m, s, ok := scanTwo(s, ':')
	if !ok || h > 23 || m > 59 {
		return 0, "", false
	}
	sec := 0
	if strings.HasPrefix(s, ":") {
		if sec, s, ok = scanTwo(s, ':'); !ok || sec > 59 {
			return 0, "", false
		}
	}
	nanos = int64(h*3600+m*60+sec) * 1_000_000_000
	if strings.HasPrefix(s, ".") {
		unit, i := int64(100_000_000), 1
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			if unit == 0 && s[i] != '0' {
				return 0, "", false // finer than a nanosecond
			}
			nanos += int64(s[i]-'0') * unit
			unit /= 10
		}
		if i == 1 {
			return 0, "", false
		}
		s = s[i:]
	}
	return nanos, s, true
}
