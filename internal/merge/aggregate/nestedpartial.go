package aggregate

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// nestedPartialUpdate holds a nested table whose rows of a key are made up of the last
// value that is not null of each member.
type nestedPartialUpdate struct {
	*column
	key []int
}

func newNestedPartialUpdate(c *column) (Function, error) {
	key, err := c.nestedKey()
	if err != nil {
		return nil, err
	}
	if len(key) == 0 {
		return nil, c.invalid("the rows of the nested table need a key").
			WithHint("Name its members by %s.", c.key("nested-key"))
	}
	return &nestedPartialUpdate{c, key}, nil
}

func (f *nestedPartialUpdate) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	in := listsOf(sources)
	code, err := f.keyCoder(in, f.key)
	if err != nil {
		return nil, err
	}
	defer code.release()
	t := &composedTable{code: code, rows: nullsOf(in.kids), width: len(f.t.Element.Fields), stride: len(f.t.Element.Fields) + 1, at: map[string]int{}}
	columns := make([][]arrow.Array, t.width)
	for m := range columns {
		columns[m] = in.members(m)
		t.members = append(t.members, nullsOf(columns[m]))
	}
	out := newList(mem, len(g.Ends))
	var row []batch.Ref
	from := 0
	for _, end := range g.Ends {
		t.set(nil, true)
		for j := from; j < end; j++ {
			r, o := g.Refs[j], g.op(j)
			missing := in.nulls.at(r)
			if row = row[:0]; !missing {
				row = in.appendRow(row, r)
			}
			switch {
			case o == opSet:
				t.set(row, missing)
			case o == opRetract && !f.ignoreRetract:
				out.release()
				return nil, f.noRetract()
			case o == opRetract || missing:
			case t.null:
				t.set(row, false)
			case o == opLate:
				t.addBeneath(row)
			default:
				t.add(row)
			}
		}
		t.done = append(t.done, t.refs...)
		if t.null {
			out.valid.null(out.n)
		}
		if err := out.endAt(len(t.done) / t.stride); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	rows, err := t.structs(mem, f.dt.(*arrow.ListType).Elem().(*arrow.StructType), columns)
	if err != nil {
		out.release()
		return nil, err
	}
	defer rows.Release()
	return out.of(f.dt, rows), nil
}

// whole marks a row that is null as a whole.
const whole = none - 1

// composedTable is the nested table of one group: rows of stride references, one for
// each member, and one to a row that has the key.
type composedTable struct {
	code    *coder
	rows    nulls
	members []nulls
	width   int // members
	stride  int

	refs   []batch.Ref
	null   bool
	at     map[string]int // where the row of a key begins, in a merge
	hashes []int32        // of the keys of the rows
	size   uint32         // of Java's table of keys
	spare  []batch.Ref
	done   []batch.Ref // the rows of all groups
}

func (t *composedTable) set(rows []batch.Ref, null bool) {
	t.refs, t.null = t.refs[:0], null
	for _, r := range rows {
		if t.rows.at(r) {
			r = whole
		}
		for range t.stride {
			t.refs = append(t.refs, r)
		}
	}
}

func (t *composedTable) add(rows []batch.Ref) {
	t.begin()
	for _, r := range rows {
		if t.rows.at(r) {
			continue
		}
		t.put(r, func(int) batch.Ref { return r })
	}
	t.order()
}

// addBeneath folds what is there into rows.
func (t *composedTable) addBeneath(rows []batch.Ref) {
	before := append([]batch.Ref(nil), t.refs...)
	t.set(rows, false)
	t.begin()
	t.addComposed(before)
	t.order()
}

func (t *composedTable) addComposed(refs []batch.Ref) {
	for ; len(refs) > 0; refs = refs[t.stride:] {
		if refs[0] != whole {
			t.put(refs[t.width], func(m int) batch.Ref { return refs[m] })
		}
	}
}

// put folds a row of the key that row key has into the table.
func (t *composedTable) put(key batch.Ref, member func(m int) batch.Ref) {
	if uint32(len(t.hashes)) > t.size/4*3 {
		t.size *= 2 // HashMap.computeIfAbsent looks before it puts
	}
	form := t.code.row(key)
	i, ok := t.at[string(form)]
	if !ok {
		i = len(t.refs)
		t.at[string(form)] = i
		t.hashes = append(t.hashes, form.Hash())
		for range t.width {
			t.refs = append(t.refs, none)
		}
		t.refs = append(t.refs, key)
	}
	for m := range t.width {
		if r := member(m); r != none && !t.members[m].at(r) {
			t.refs[i+m] = r
		}
	}
}

// begin makes the rows that are there the first of a merge, each key once.
func (t *composedTable) begin() {
	t.spare = append(t.spare[:0], t.refs...)
	t.refs, t.hashes, t.size = t.refs[:0], t.hashes[:0], 16
	clear(t.at)
	t.addComposed(t.spare)
}

// order ends a merge: the rows are brought into the order of Java's HashMap, which is
// another one each time.
func (t *composedTable) order() {
	rows := make([]int, len(t.hashes))
	for i := range rows {
		rows[i] = len(rows) - 1 - i // and puts in front of a bin
	}
	sortBins(rows, t.size, func(i int) int32 { return t.hashes[i] })
	if !slices.IsSorted(rows) {
		t.spare = append(t.spare[:0], t.refs...)
		for i, from := range rows {
			copy(t.refs[i*t.stride:(i+1)*t.stride], t.spare[from*t.stride:])
		}
	}
}

// structs makes the column of the rows of all groups.
func (t *composedTable) structs(mem memory.Allocator, dt *arrow.StructType, columns [][]arrow.Array) (arrow.Array, error) {
	n := len(t.done) / t.stride
	valid := newValidity(mem, n)
	var kids []arrow.ArrayData
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	refs := make([]batch.Ref, n)
	for m := range t.width {
		for i := range refs {
			if refs[i] = t.done[i*t.stride+m]; refs[i] == whole {
				refs[i] = none
				if m == 0 {
					valid.null(i)
				}
			}
		}
		kid, err := gather(mem, dt.Field(m).Type, columns[m], refs)
		if err != nil {
			valid.buf.Release()
			return nil, err
		}
		kids = append(kids, kid.Data())
	}
	return finishNested(dt, n, &valid, kids), nil
}
