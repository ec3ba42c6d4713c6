package merge

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/merge/aggregate"
	"github.com/tarnlake/tarn/types"
)

// groupsOf are the rows that functions of columns of one class fold, of keys that
// are folded.
type groupsOf struct {
	g        aggregate.Groups
	kinds    []int8 // what g has where it has any
	reversed []bool
	made     bool
}

// call lets the function of a column fold its values. A row that is alone with its
// key stays as it is, see [Config].
func (f *Folder) call(r *rule, column int, dt arrow.DataType) (arrow.Array, error) {
	c := &f.scratch
	c.refs, c.nulls = c.refs[:0], false
	if f.several == 0 {
		for k := range f.rows.Ends {
			if !f.drops(k) {
				c.add(f.rows.Refs[k])
			}
		}
		return f.gather(dt, c, nil)
	}
	folded, err := r.function.Fold(f.cfg.Mem, f.arrays, f.groupsFor(r, column))
	if err != nil || f.several == f.out && f.several == len(f.rows.Ends) {
		return folded, err
	}
	defer folded.Release()
	from, n := 0, 0
	for k, end := range f.rows.Ends {
		ref := f.rows.Refs[from]
		if !f.ev.alone[k] {
			ref = f.behind(n)
			n++
		}
		if !f.drops(k) {
			c.add(ref)
		}
		from = end
	}
	return f.gather(dt, c, folded)
}

// groupsFor are the rows that the function of a column sees. They are those of all
// columns of its class, unless rows are removed by sequence group.
func (f *Folder) groupsFor(r *rule, column int) *aggregate.Groups {
	s := &f.groups[r.stream()]
	if s.made {
		return &s.g
	}
	s.made = !f.b.removesByGroup()
	g := &s.g
	g.Refs, g.Ends, g.Kinds, g.Reversed = g.Refs[:0], g.Ends[:0], nil, nil
	s.kinds, s.reversed = s.kinds[:0], s.reversed[:0]
	places := f.places(r)
	others, latecomers := false, false
	add := func(i int, kind int8, late bool) {
		g.Refs = append(g.Refs, f.rows.Refs[i])
		s.kinds, s.reversed = append(s.kinds, kind), append(s.reversed, late)
		others, latecomers = others || kind != inserted, latecomers || late
	}
	from := 0
	for k, end := range f.rows.Ends {
		if !f.ev.alone[k] {
			for i := from; i < end; i++ {
				at := newer
				if places != nil {
					at = places[i]
				}
				switch f.ev.of[i] {
				case adds:
					if at != outside {
						add(i, inserted, at == older)
					}
				case takesBack:
					if at != outside {
						add(i, f.rows.Kinds[i], false)
					}
				case begins:
					add(i, aggregate.Set, false)
				case beginsBack:
					add(i, aggregate.Set, false)
					if at != outside {
						add(i, f.rows.Kinds[i], false)
					}
				case removes:
					if places != nil && at != outside && int32(column) < f.ev.triggers[i] {
						add(i, int8(types.Delete), false)
					}
					add(i, aggregate.Set, false)
				}
			}
			g.Ends = append(g.Ends, len(g.Refs))
		}
		from = end
	}
	if others {
		g.Kinds = s.kinds
	}
	if latecomers {
		g.Reversed = s.reversed
	}
	return g
}

// removesByGroup says that sequence groups remove rows.
func (r *Rules) removesByGroup() bool {
	for _, g := range r.groups {
		if g.removes {
			return true
		}
	}
	return false
}
