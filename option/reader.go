package option

import (
	"strconv"
	"strings"
	"time"
)

// reader takes typed values out of options, with the table's defaults, and
// keeps the first error.
type reader struct {
	options map[string]string
	err     error
}

func (r *reader) set(name string) bool {
	_, _, ok := byName[name].explicit(r.options)
	return ok
}

func (r *reader) text(name string) string {
	v, _ := byName[name].Get(r.options)
	return v
}

// word is a text whose case does not matter.
func (r *reader) word(name string) string { return strings.ToLower(r.text(name)) }

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) bool(name string) bool {
	v, ok := byName[name].Get(r.options)
	if !ok {
		return false
	}
	b, err := parseBool(name, v)
	r.keep(err)
	return b
}

func (r *reader) long(name string) int64 {
	v, ok := byName[name].Get(r.options)
	if !ok {
		return 0
	}
	n, err := parseInt(name, v, 64)
	r.keep(err)
	return n
}

func (r *reader) int(name string) int { return int(r.long(name)) }

func (r *reader) size(name string) int64 {
	v, ok := byName[name].Get(r.options)
	if !ok {
		return 0
	}
	n, err := parseMemorySize(name, v)
	r.keep(err)
	return n
}

func (r *reader) duration(name string) time.Duration {
	v, ok := byName[name].Get(r.options)
	if !ok {
		return 0
	}
	d, err := parseDuration(name, v)
	r.keep(err)
	return d
}

// list cuts at commas; Java trims the names in some options and not in others.
func (r *reader) list(name string, trim bool) []string {
	v := r.text(name)
	if strings.TrimSpace(v) == "" {
		return nil
	}
	out := strings.Split(v, ",")
	if trim {
		for i := range out {
			out[i] = strings.TrimSpace(out[i])
		}
	}
	return out
}

// levels reads a map keyed by LSM level, given as one value or as keys with
// the level behind a dot.
func (r *reader) levels(name string) map[int]string {
	m, err := parseMap(name, r.text(name))
	r.keep(err)
	if _, _, whole := byName[name].explicit(r.options); !whole {
		for k, v := range r.options {
			if level, ok := strings.CutPrefix(k, name+"."); ok {
				m[level] = v
			}
		}
	}
	if len(m) == 0 {
		return nil
	}
	out := make(map[int]string, len(m))
	for k, v := range m {
		level, err := strconv.Atoi(k)
		if err != nil || level < 0 {
			r.keep(bad(name, k, "a level is a number from 0"))
			continue
		}
		out[level] = strings.ToLower(v)
	}
	return out
}

// columns reads fields.<column><suffix>.
func (r *reader) columns(suffix string) map[string]string {
	var out map[string]string
	for k, v := range r.options {
		if c, ok := strings.CutPrefix(k, "fields."); ok && strings.HasSuffix(c, suffix) && len(c) > len(suffix) {
			if out == nil {
				out = map[string]string{}
			}
			out[strings.TrimSuffix(c, suffix)] = strings.ToLower(v)
		}
	}
	return out
}

// StatsKind is what statistics a column gets.
type StatsKind uint8

// The kinds of statistics.
const (
	StatsNone     StatsKind = iota // nothing
	StatsCounts                    // null counts
	StatsFull                      // null counts, minimum and maximum
	StatsTruncate                  // the same, strings cut to a length
)

// ParseStatsMode reads none, counts, full or truncate(n), in any case; length
// is n.
func ParseStatsMode(mode string) (kind StatsKind, length int, ok bool) {
	switch m := strings.ToLower(strings.TrimSpace(mode)); m {
	case "none":
		return StatsNone, 0, true
	case "counts":
		return StatsCounts, 0, true
	case "full":
		return StatsFull, 0, true
	default:
		m, ok1 := strings.CutPrefix(m, "truncate(")
		m, ok2 := strings.CutSuffix(m, ")")
		n, err := strconv.Atoi(strings.TrimSpace(m))
		if !ok1 || !ok2 || err != nil || n <= 0 {
			return 0, 0, false
		}
		return StatsTruncate, n, true
	}
}
