package commit

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/layout"
)

// expired tells which partitions have expired by their values, as Java's strategy
// values-time does; nil when partitions of the table do not expire that way. It
// only chooses the words of a conflict, so what it cannot tell has not expired.
func (b *builder) expired() func(binaryrow.Row) bool {
	o := b.cfg.Options
	fields := b.partitions.Fields()
	if o.PartitionExpiration <= 0 || o.PartitionExpirationStrategy != "values-time" || len(fields) == 0 {
		return nil
	}
	// Java takes the words of the values, whatever the directories are called.
	names := layout.NewPartitioner(fields, o.PartitionDefault, true)
	limit := wallClock(b.cfg.Env.Now()).Add(-o.PartitionExpiration)
	return func(p binaryrow.Row) bool {
		for i, f := range fields {
			if v, err := p.Value(i, f.Type); v == nil || err != nil {
				return false
			}
		}
		values, err := names.Values(p)
		if err != nil {
			return false
		}
		at, ok := partitionTime(values, o.PartitionTimePattern, o.PartitionTimeFormatter)
		return ok && at.Before(limit)
	}
}

// wallClock is what the clock on the wall shows, without its zone.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// partitionTime reads the time a partition stands for: from its first value, or
// from pattern with each $column replaced by its value.
func partitionTime(values []layout.PartitionField, pattern, formatter string) (time.Time, bool) {
	text := values[0].Value
	if pattern != "" {
		text = filledIn(pattern, values)
	}
	if formatter == "" {
		return defaultTime(text)
	}
	return formattedTime(text, formatter)
}

// filledIn is pattern with values in place of $column, of the longest name where
// several fit.
func filledIn(pattern string, values []layout.PartitionField) string {
	var b strings.Builder
	for pattern != "" {
		before, after, found := strings.Cut(pattern, "$")
		b.WriteString(before)
		if !found {
			break
		}
		var best *layout.PartitionField
		for i, v := range values {
			if strings.HasPrefix(after, v.Name) && (best == nil || len(v.Name) > len(best.Name)) {
				best = &values[i]
			}
		}
		if best == nil {
			b.WriteByte('$')
			pattern = after
			continue
		}
		b.WriteString(best.Value)
		pattern = after[len(best.Name):]
	}
	return b.String()
}

// moment is a date, or date and time, in which digits may be missing.
var moment = regexp.MustCompile(`^([0-9]{1,10})-([0-9]{1,2})-([0-9]{1,2})(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]{1,9})?)?$`)

// defaultTime reads a moment.
func defaultTime(text string) (time.Time, bool) {
	m := moment.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	var n [6]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // digits, or nothing
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC), true
}

// formattedTime reads text by a pattern of Java's DateTimeFormatter made of
// numbers: y, M, d, H, m, s, and text in between.
func formattedTime(text, pattern string) (time.Time, bool) {
	at := map[byte]int{'y': 0, 'M': 1, 'd': 1, 'H': 0, 'm': 0, 's': 0}
	for i := 0; i < len(pattern); {
		c := pattern[i]
		run := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], string(c)))
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case c == 'u':
			c = 'y'
			fallthrough
		case letter:
			if _, known := at[c]; !known || len(text) < run {
				return time.Time{}, false
			}
			width := run
			if run == 1 { // as many digits as there are
				width = len(text) - len(strings.TrimLeft(text, "0123456789"))
			}
			n, err := strconv.Atoi(text[:width])
			if err != nil || width == 0 {
				return time.Time{}, false
			}
			if c == 'y' && run == 2 {
				n += 2000
			}
			at[c], text = n, text[width:]
			i += run
		case c == '\'':
			quoted, _, ok := strings.Cut(pattern[i+1:], "'")
			if !ok || !strings.HasPrefix(text, quoted) {
				return time.Time{}, false
			}
			text, i = text[len(quoted):], i+len(quoted)+2
		default:
			if text == "" || text[0] != c {
				return time.Time{}, false
			}
			text, i = text[1:], i+1
		}
	}
	if text != "" {
		return time.Time{}, false
	}
	return time.Date(at['y'], time.Month(at['M']), at['d'], at['H'], at['m'], at['s'], 0, time.UTC), true
}
