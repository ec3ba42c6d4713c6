package expr

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Match reports whether one row, given by its values, matches. It is for
// partitions and other single rows; batches use Mask.
func (b *Bound) Match(row func(column string) types.Value) bool {
	return b == nil || b.root.match(row)
}

func (n and) match(row func(string) types.Value) bool {
	for _, c := range n {
		if !c.match(row) {
			return false
		}
	}
	return true
}

func (n or) match(row func(string) types.Value) bool {
	for _, c := range n {
		if c.match(row) {
			return true
		}
	}
	return false
}

func (n constant) match(func(string) types.Value) bool { return bool(n) }

func (n isNull) match(row func(string) types.Value) bool {
	return (row(n.field.Name) == nil) != n.neg
}

func (n cmp) match(row func(string) types.Value) bool {
	v := row(n.field.Name)
	return v != nil && n.op.holds(compare(n.field.Type, v, n.value))
}

// holds reports whether "a op b" is true when a compares to b as c says.
func (o Op) holds(c int) bool {
	switch o {
	case Eq:
		return c == 0
	case Ne:
		return c != 0
	case Lt:
		return c < 0
	case Le:
		return c <= 0
	case Gt:
		return c > 0
	default:
		return c >= 0
	}
}

func (n in) match(row func(string) types.Value) bool {
	v := row(n.field.Name)
	return v != nil && n.has(v) != n.neg
}

func (n in) has(v types.Value) bool {
	_, found := slices.BinarySearchFunc(n.values, v, func(a, b types.Value) int { return compare(n.field.Type, a, b) })
	return found
}

func (n prefix) match(row func(string) types.Value) bool {
	s, ok := row(n.field.Name).(string)
	return ok && strings.HasPrefix(s, n.prefix) != n.neg
}
