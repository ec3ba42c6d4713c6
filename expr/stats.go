package expr

import (
	"strings"

	"github.com/tarnlake/tarn/types"
)

// StatsLookup gives what is known of a column in a file, row group or page.
type StatsLookup interface {
	// Column returns bounds and the number of nulls (−1 = unknown). Min and max may
	// be nil (unknown) and need not be reached: truncated bounds are bounds. ok is
	// false when nothing is known.
	Column(name string) (min, max types.Value, nulls int64, ok bool)
}

// MayMatch reports whether some of rows rows with these statistics can match.
// False is a promise; true is not.
func (b *Bound) MayMatch(s StatsLookup, rows int64) bool {
	return b == nil || b.root.mayMatch(s, rows)
}

func (n and) mayMatch(s StatsLookup, rows int64) bool {
	for _, c := range n {
		if !c.mayMatch(s, rows) {
			return false
		}
	}
	return true
}

func (n or) mayMatch(s StatsLookup, rows int64) bool {
	for _, c := range n {
		if c.mayMatch(s, rows) {
			return true
		}
	}
	return false
}

func (n constant) mayMatch(StatsLookup, int64) bool { return bool(n) }

func (n isNull) mayMatch(s StatsLookup, rows int64) bool {
	_, _, nulls, ok := s.Column(n.field.Name)
	switch {
	case !ok || nulls < 0:
		return true
	case n.neg:
		return nulls < rows
	}
	return nulls > 0
}

// bounds returns the limits of a column's values. hidden says that values
// greater than max may exist: writers other than Java leave NaN out of the
// statistics of FLOAT and DOUBLE. none says that every row is null.
func bounds(s StatsLookup, f types.Field, rows int64) (lo, hi types.Value, hidden, none bool) {
	lo, hi, nulls, ok := s.Column(f.Name)
	if !ok {
		return nil, nil, true, false
	}
	if nulls >= 0 && nulls >= rows {
		return nil, nil, false, true
	}
	return lo, hi, f.Type.Root == types.Float || f.Type.Root == types.Double, false
}

func (n cmp) mayMatch(s StatsLookup, rows int64) bool {
	lo, hi, hidden, none := bounds(s, n.field, rows)
	if none {
		return false
	}
	t := n.field.Type
	switch n.op {
	case Eq:
		return within(t, n.value, lo, hi, hidden)
	case Ne:
		return hidden || lo == nil || hi == nil || compare(t, lo, n.value) != 0 || compare(t, hi, n.value) != 0
	case Lt:
		return lo == nil || compare(t, lo, n.value) < 0
	case Le:
		return lo == nil || compare(t, lo, n.value) <= 0
	case Gt:
		return hidden || hi == nil || compare(t, hi, n.value) > 0
	default:
		return hidden || hi == nil || compare(t, hi, n.value) >= 0
	}
}

func within(t types.Type, v, lo, hi types.Value, hidden bool) bool {
	if lo != nil && compare(t, v, lo) < 0 {
		return false
	}
	if hi == nil || compare(t, v, hi) <= 0 {
		return true
	}
	return hidden && isNaN(v)
}

func isNaN(v types.Value) bool {
	switch x := v.(type) {
	case float32:
		return x != x
	case float64:
		return x != x
	}
	return false
}

func (n in) mayMatch(s StatsLookup, rows int64) bool {
	lo, hi, hidden, none := bounds(s, n.field, rows)
	if none {
		return false
	}
	t := n.field.Type
	if n.neg {
		return hidden || lo == nil || hi == nil || compare(t, lo, hi) != 0 || !n.has(lo)
	}
	for _, v := range n.values {
		if within(t, v, lo, hi, hidden) {
			return true
		}
	}
	return false
}

func (n prefix) mayMatch(s StatsLookup, rows int64) bool {
	lo, hi, _, none := bounds(s, n.field, rows)
	if none {
		return false
	}
	l, lok := lo.(string)
	h, hok := hi.(string)
	if n.neg {
		// Between two strings with a prefix every string has it.
		return !lok || !hok || !strings.HasPrefix(l, n.prefix) || !strings.HasPrefix(h, n.prefix)
	}
	if hok && h < n.prefix {
		return false
	}
	return !lok || l <= n.prefix || strings.HasPrefix(l, n.prefix)
}
