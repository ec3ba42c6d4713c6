package aggregate

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// collect gathers the elements of arrays in one; a retraction takes as many out.
type collect struct {
	*column
	distinct bool
}

func newCollect(c *column) (Function, error) {
	if c.t.Root != types.Array {
		return nil, c.wants("ARRAY")
	}
	distinct, err := c.flag("distinct")
	return &collect{c, distinct}, err
}

func (f *collect) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	b := &bag{f: f, in: listsOf(sources)}
	out := newList(mem, len(g.Ends))
	out.reserve(b.in, g.Refs)
	defer b.release()
	from := 0
	for _, end := range g.Ends {
		b.items, b.null, b.known, b.raw = out.items, true, false, false
		b.start = len(b.items)
		for j := from; j < end; j++ {
			r := g.Refs[j]
			if b.in.nulls.at(r) {
				r = none
			}
			var err error
			switch g.op(j) {
			case opAdd:
				err = b.add(r)
			case opLate:
				// Java folds a late value in as any other, but where retractions are
				// ignored it goes through the function turned around.
				if f.ignoreRetract {
					err = b.addBeneath(r)
				} else {
					err = b.add(r)
				}
			case opSet:
				b.set(r)
			case opRetract:
				if !f.ignoreRetract {
					err = b.retract(r)
				}
			}
			if err != nil {
				out.release()
				return nil, err
			}
		}
		b.order()
		out.items = b.items
		if err := out.end(b.null); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	return out.finish(f.dt, b.in.kids)
}

// bag is the array of one group: items from start on.
type bag struct {
	f     *collect
	in    *lists
	items []batch.Ref
	start int
	null  bool

	code  *coder // made when first needed
	elems nulls
	hash  func(batch.Ref) int32
	seen  map[string]struct{}
	known bool // seen holds the items
	raw   bool // items are in the order in which they came, not in Java's
	count map[string]int
	spare []batch.Ref
}

func (b *bag) set(r batch.Ref) {
	b.items, b.null, b.known, b.raw = b.items[:b.start], r == none, false, false
	if r != none {
		b.items = b.in.appendRow(b.items, r)
	}
}

func (b *bag) add(r batch.Ref) error {
	if !b.f.distinct {
		if r != none {
			b.items, b.null = b.in.appendRow(b.items, r), false
		}
		return nil
	}
	if r == none && b.null {
		return nil
	}
	b.null = false
	if err := b.know(); err != nil {
		return err
	}
	if r != none {
		n := len(b.items)
		b.items = b.in.appendRow(b.items, r)
		b.unique(n)
	}
	b.raw = true
	return nil
}

// addBeneath is add with the values exchanged.
func (b *bag) addBeneath(r batch.Ref) error {
	b.order()
	b.spare = append(b.spare[:0], b.items[b.start:]...)
	null := b.null
	b.set(r)
	if null {
		if r != none && b.f.distinct {
			return b.know()
		}
		return nil
	}
	if !b.f.distinct {
		b.items, b.null = append(b.items, b.spare...), false
		return nil
	}
	if err := b.know(); err != nil {
		return err
	}
	n := len(b.items)
	b.items, b.null, b.raw = append(b.items, b.spare...), false, true
	b.unique(n)
	return nil
}

// know makes seen hold the items there are. As in Java, elements of nested types that
// are there already stay even if equal.
func (b *bag) know() error {
	if b.known {
		return nil
	}
	if err := b.prepare(); err != nil {
		return err
	}
	if b.seen == nil {
		b.seen = map[string]struct{}{}
	}
	clear(b.seen)
	b.known, b.raw = true, true
	if !b.f.t.Element.IsNested() {
		b.unique(b.start)
		return nil
	}
	for _, r := range b.items[b.start:] {
		if key, ok := b.key(r); ok {
			b.seen[string(key)] = struct{}{}
		}
	}
	return nil
}

// unique drops those of the items from n on that are there already.
func (b *bag) unique(n int) {
	kept := b.items[:n]
	for _, r := range b.items[n:] {
		if key, ok := b.key(r); ok {
			if _, ok := b.seen[string(key)]; ok {
				continue
			}
			b.seen[string(key)] = struct{}{}
		}
		kept = append(kept, r)
	}
	b.items = kept
}

// retract takes one item out for each element of r that is equal to it.
func (b *bag) retract(r batch.Ref) error {
	if b.null || r == none {
		return nil
	}
	b.order()
	b.spare = b.in.appendRow(b.spare[:0], r)
	if len(b.spare) == 0 {
		return nil
	}
	if err := b.prepare(); err != nil {
		return err
	}
	if b.count == nil {
		b.count = map[string]int{}
	}
	clear(b.count)
	for _, e := range b.spare {
		if key, ok := b.key(e); ok {
			b.count[string(key)]++
		}
	}
	kept := b.items[:b.start]
	for _, e := range b.items[b.start:] {
		if key, ok := b.key(e); ok {
			if n := b.count[string(key)]; n > 0 {
				b.count[string(key)] = n - 1
				continue
			}
		}
		kept = append(kept, e)
	}
	b.items, b.known = kept, false
	return nil
}

func (b *bag) prepare() (err error) {
	if b.code != nil {
		return nil
	}
	t := *b.f.t.Element
	b.elems = nullsOf(b.in.kids)
	if b.code, err = newCoder([]types.Field{{Name: b.f.name, Type: t}}, [][]arrow.Array{b.in.kids}); err != nil {
		return err
	}
	b.hash = hashes(t, b.in.kids)
	return nil
}

// key is the form of an element, false if it is equal to no other.
func (b *bag) key(r batch.Ref) ([]byte, bool) {
	if b.elems.at(r) {
		return nil, true // no other form is empty
	}
	if byIdentity(*b.f.t.Element) {
		return nil, false
	}
	return b.code.row(r), true
}

// order brings distinct elements into the order that Java's HashSet has.
func (b *bag) order() {
	if b.raw && b.hash != nil {
		javaOrder(b.items[b.start:], 0, b.hash)
	}
	b.raw = false
}

func (b *bag) release() {
	if b.code != nil {
		b.code.release()
	}
}
