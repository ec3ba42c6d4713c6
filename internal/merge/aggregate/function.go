package aggregate

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// Set is a kind beside the row kinds: the value takes the place of what is folded so
// far as it is, without aggregating. Deletes that begin or replace a row
// (remove-record-on-delete, a partial update that begins with a retraction) need it.
const Set int8 = 4

// Groups are the rows of keys, oldest first, as references into sources. Rows that
// a function must not see (ignored deletes, rows of a null sequence group) are left
// out by whoever makes the groups; a group may be empty and then gives a null.
//
// Groups belong to one goroutine: what the first function finds out about them is kept
// for the next ones. Before Refs or Ends change comes Reset.
type Groups struct {
	Refs []batch.Ref
	// Ends[i] is the end of key i in Refs; it begins at the end of the key before.
	Ends []int
	// Kinds are the row kinds of Refs (+I 0, -U 1, +U 2, -D 3, or Set), nil where all
	// add. Rows of kind -U and -D are retracted: they take their value back.
	Kinds []int8
	// Reversed marks rows that came too late in the order of their sequence group:
	// they are folded in beneath what is there already, not on top of it (Java's
	// aggReversed). nil where no row is late. The mark means nothing on Set and on
	// rows that retract, which are taken back in the order of Refs, late or not.
	Reversed []bool

	rows apart
}

// Reset empties g, whose room is used again. Refs and Ends of groups that a function has
// seen do not change otherwise.
func (g *Groups) Reset() {
	g.Refs, g.Ends, g.Kinds, g.Reversed, g.rows.made = g.Refs[:0], g.Ends[:0], nil, nil, false
}

// apart are the rows of groups, the first one of each apart from those behind it, so
// that a column is folded in two loops whose ends are no matter of chance.
type apart struct {
	made, full bool // full: no group is empty
	first      []batch.Ref
	later      []batch.Ref
	of         []int32 // the groups of later

	top, order []uint64 // room for what is compared of first and of later
}

// apart gives the rows of groups none of which is empty, else nil.
func (g *Groups) apart() *apart {
	a := &g.rows
	if !a.made {
		a.first, a.later, a.of = a.first[:0], a.later[:0], a.of[:0]
		a.made, a.full = true, true
		from := 0
		for i, end := range g.Ends {
			if from == end {
				a.full = false
				break
			}
			a.first = append(a.first, g.Refs[from])
			for _, r := range g.Refs[from+1 : end] {
				a.later, a.of = append(a.later, r), append(a.of, int32(i))
			}
			from = end
		}
	}
	if !a.full {
		return nil
	}
	return a
}

// Function is one aggregate function of one column.
type Function interface {
	// Fold makes one value per group of one column: value i of the array, which the
	// caller releases, is that of key i. sources are the arrays of the column that
	// the references of g point into. A function keeps nothing between calls and may
	// be used by several goroutines at once, each with groups of its own. It fails with Invalid where the values
	// cannot be folded (overflow, a retraction the function does not know), with
	// Corrupt where stored bytes (bitmaps, sketches) cannot be read.
	Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error)
}

// Chooser is a function whose result is one of the values, which the caller may gather
// together with those of other rows.
type Chooser interface {
	Function
	// Choose sets out[i] to the row whose value is that of key i, or to None. It fails
	// as Fold does.
	Choose(sources []arrow.Array, g *Groups, out []batch.Ref) error
}

// op is what one row does to what is folded so far.
type op uint8

const (
	opAdd     op = iota
	opLate       // add beneath
	opRetract    // -U, -D
	opSet
)

// plain reports that all rows add, in order.
func (g *Groups) plain() bool { return g.Kinds == nil && g.Reversed == nil }

func (g *Groups) op(i int) op {
	if g.Kinds != nil {
		if k := g.Kinds[i]; k == Set {
			return opSet
		} else if k&1 == 1 {
			return opRetract
		}
	}
	if g.Reversed != nil && g.Reversed[i] {
		return opLate
	}
	return opAdd
}
