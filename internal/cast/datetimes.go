package cast

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/types"
)

// The local zone of TIMESTAMP WITH LOCAL TIME ZONE is UTC, as everywhere in Tarn:
// there a wall clock and the instant are the same numbers.

const (
	dayMillis    = 86_400_000
	nanoPerMilli = 1_000_000
)

// fromDatetime has the rules between DATE, TIME, the timestamps and integers.
// Java cuts TIMESTAMPs before 1970 towards zero where it divides, and instants
// towards the past.
func fromDatetime(from, to types.Type) rule {
	switch {
	case from.Root == types.Date && isInstant(to):
		return func(v types.Value) (types.Value, error) {
			return types.Instant{Millis: int64(v.(int32)) * dayMillis}, nil
		}
	case from.Root == types.Time && isInstant(to):
		return func(v types.Value) (types.Value, error) { return types.Instant{Millis: int64(v.(int32))}, nil }
	case !isInstant(from):
		return nil
	case isInstant(to):
		return func(v types.Value) (types.Value, error) { return truncate(v.(types.Instant), from, to), nil }
	case to.Root == types.Date, to.Root == types.Time:
		return func(v types.Value) (types.Value, error) {
			millis := v.(types.Instant).Millis
			day, rest := millis/dayMillis, millis%dayMillis
			if from.Root == types.TimestampLTZ && rest < 0 {
				day, rest = day-1, rest+dayMillis
			}
			if to.Root == types.Date {
				return int32(day), nil
			}
			return int32(rest), nil
		}
	case to.Root == types.Int, to.Root == types.BigInt:
		return func(v types.Value) (types.Value, error) { return narrow(v.(types.Instant).Millis/1000, to.Root), nil }
	}
	return nil
}

// truncate drops the digits a coarser timestamp does not have. As in Java those
// stay whose nanoseconds of the second have no more digits than the type: .000001
// in a TIMESTAMP(4). What the Arrow unit does not hold goes in any case.
func truncate(v types.Instant, from, to types.Type) types.Instant {
	if from.Precision <= to.Precision {
		return v
	}
	nanos := (v.Millis%1000+1000)%1000*nanoPerMilli + int64(v.NanoOfMilli)
	if len(strconv.FormatInt(nanos, 10)) <= to.Precision {
		return v
	}
	if to.Precision <= 3 {
		by := int64(pow10(3 - to.Precision))
		return types.Instant{Millis: v.Millis / by * by}
	}
	by := int32(pow10(9 - to.Precision))
	return types.Instant{Millis: v.Millis, NanoOfMilli: v.NanoOfMilli / by * by}
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

// datetimeText has the rules from DATE, TIME and the timestamps to STRING. Years
// have their last four digits.
func datetimeText(from types.Type) rule {
	switch from.Root {
	case types.Date:
		return func(v types.Value) (types.Value, error) { return dateText(int64(v.(int32))), nil }
	case types.Time:
		return func(v types.Value) (types.Value, error) { return timeText(v.(int32), from.Precision), nil }
	}
	return func(v types.Value) (types.Value, error) {
		i := v.(types.Instant)
		day, millis := i.Millis/dayMillis, i.Millis%dayMillis
		if millis < 0 {
			day, millis = day-1, millis+dayMillis
		}
		s := dateText(day) + fmt.Sprintf(" %02d:%02d:%02d", millis/3_600_000, millis/60_000%60, millis/1000%60)
		fraction := fmt.Sprintf("%09d", millis%1000*nanoPerMilli+int64(i.NanoOfMilli))
		for len(fraction) > from.Precision && strings.HasSuffix(fraction, "0") {
			fraction = fraction[:len(fraction)-1]
		}
		if fraction != "" {
			s += "." + fraction
		}
		return s, nil
	}
}

func dateText(days int64) string {
	y, m, d := time.Unix(days*86_400, 0).UTC().Date()
	if y < 0 {
		y = -y
	}
	return fmt.Sprintf("%04d-%02d-%02d", y%10_000, int(m), d)
}

// timeText shows as many digits of the fraction as are not zero, at least one and
// at most as many as the type has.
func timeText(millis int32, precision int) string {
	for millis < 0 {
		millis += dayMillis
	}
	s := fmt.Sprintf("%02d:%02d:%02d", millis/3_600_000%100, millis/60_000%60, millis/1000%60)
	if precision == 0 {
		return s
	}
	s += "."
	for ms := millis % 1000; ; {
		s += string(rune('0' + ms/100))
		ms = ms % 100 * 10
		if precision--; ms == 0 || precision == 0 {
			return s
		}
	}
}
