package aggregate

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// nestedUpdate holds a nested table, an array of rows: rows are added, those of a key
// replaced, and a retraction takes rows out.
type nestedUpdate struct {
	*column
	key   []int // members of the key, none where rows have no key
	limit int
}

func newNestedUpdate(c *column) (Function, error) {
	key, err := c.nestedKey()
	if err != nil {
		return nil, err
	}
	limit, err := c.number("count-limit", types.MaxLength)
	return &nestedUpdate{c, key, limit}, err
}

// nestedKey checks the type of a nested table and finds the members of its key.
func (c *column) nestedKey() ([]int, error) {
	if c.t.Root != types.Array || c.t.Element.Root != types.Row {
		return nil, c.wants("ARRAY<ROW<…>>")
	}
	var out []int
	for _, name := range c.names("nested-key") {
		i := slices.IndexFunc(c.t.Element.Fields, func(m types.Field) bool { return m.Name == name })
		if i < 0 {
			return nil, c.badOption("nested-key", "the rows have no such member")
		}
		out = append(out, i)
	}
	return out, nil
}

// keyCoder is the coder of the members given, of all where there are none.
func (c *column) keyCoder(in *lists, members []int) (*coder, error) {
	all := c.t.Element.Fields
	if len(members) == 0 {
		for i := range all {
			members = append(members, i)
		}
	}
	fields, columns := make([]types.Field, len(members)), make([][]arrow.Array, len(members))
	for i, m := range members {
		fields[i], columns[i] = all[m], in.members(m)
	}
	return newCoder(fields, columns)
}

func (f *nestedUpdate) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	in := listsOf(sources)
	code, err := f.keyCoder(in, f.key)
	if err != nil {
		return nil, err
	}
	defer code.release()
	t := &nestedTable{f: f, rows: nullsOf(in.kids), code: code}
	t.keyed = dictionary{code: code.row, hash: func(r batch.Ref) int32 { return code.row(r).Hash() }}
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
			case missing || o == opRetract && (f.ignoreRetract || t.null):
			case o == opRetract:
				t.retract(row)
			case t.null:
				t.set(row, false)
			case o == opLate:
				acc := append([]batch.Ref(nil), t.all()...)
				t.set(row, false)
				t.add(acc)
			default:
				t.add(row)
			}
		}
		out.items = append(out.items, t.all()...)
		if err := out.end(t.null); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	return out.finish(f.dt, in.kids)
}

// nestedTable is the nested table of one group.
type nestedTable struct {
	f     *nestedUpdate
	rows  nulls
	code  *coder
	null  bool
	keyed dictionary
	plain []batch.Ref // where there is no key
	keys  map[string]struct{}
}

func (t *nestedTable) set(rows []batch.Ref, null bool) {
	t.null = null
	t.keyed.reset()
	t.plain = append(t.plain[:0], rows...)
	if len(t.f.key) > 0 {
		t.plain = t.plain[:0]
		t.keyed.raw(rows)
	}
}

// all are the rows, in order.
func (t *nestedTable) all() []batch.Ref {
	if len(t.f.key) == 0 {
		return t.plain
	}
	t.keyed.settle()
	return t.keyed.refs()
}

func (t *nestedTable) size() int {
	if len(t.f.key) == 0 {
		return len(t.plain)
	}
	return t.keyed.live
}

// add adds rows up to the limit. Rows that are null fall away, also those there already.
func (t *nestedTable) add(rows []batch.Ref) {
	room := t.f.limit - t.size()
	if room <= 0 {
		return
	}
	t.begin()
	for _, r := range rows {
		if room == 0 {
			break
		}
		if t.rows.at(r) {
			continue
		}
		room--
		if len(t.f.key) == 0 {
			t.plain = append(t.plain, r)
		} else {
			t.keyed.put(r)
		}
	}
}

// begin drops rows that are null and indexes the others.
func (t *nestedTable) begin() {
	isNull := func(r batch.Ref) bool { return t.rows.at(r) }
	if len(t.f.key) == 0 {
		t.plain = slices.DeleteFunc(t.plain, isNull)
		return
	}
	if !t.keyed.indexed {
		t.keyed.entries = slices.DeleteFunc(t.keyed.entries, isNull)
		t.keyed.index()
	}
}

func (t *nestedTable) retract(rows []batch.Ref) {
	t.keyed.settle()
	t.begin()
	if len(t.f.key) > 0 {
		for _, r := range rows {
			if !t.rows.at(r) {
				t.keyed.remove(r)
			}
		}
		t.keyed.settle()
		return
	}
	if t.keys == nil {
		t.keys = map[string]struct{}{}
	}
	clear(t.keys)
	for _, r := range rows {
		if !t.rows.at(r) {
			t.keys[string(t.code.row(r))] = struct{}{}
		}
	}
	t.plain = slices.DeleteFunc(t.plain, func(r batch.Ref) bool {
		_, ok := t.keys[string(t.code.row(r))]
		return ok
	})
}
