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
	c, many := &f.scratch, len(f.roster.folded)
	c.begin(&f.roster)
	var folded arrow.Array
	if many > 0 {
		g := f.groupsFor(r, column)
		if chooser, ok := r.function.(aggregate.Chooser); ok {
			f.picks = sizedTo(f.picks, many)
			if err := chooser.Choose(f.arrays, g, f.picks); err != nil {
				return nil, err
			}
			f.take(c)
		} else {
			var err error
			if folded, err = r.function.Fold(f.cfg.Mem, f.arrays, g); err != nil || many == f.out && many == len(c.refs) {
				return folded, err
			}
			defer folded.Release()
			for i, k := range f.roster.folded {
				c.refs[k] = f.behind(i)
			}
		}
	}
	f.finish(c)
	return f.gather(dt, c, folded)
}

// take takes what was picked of the folded keys.
func (f *Folder) take(c *chosen) {
	null := f.behind(0)
	for i, k := range f.roster.folded {
		pick := f.picks[i]
		if pick == aggregate.None {
			pick, c.nulls = null, true
		}
		c.refs[k] = pick
	}
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
	g.Reset()
	s.kinds, s.reversed = s.kinds[:0], s.reversed[:0]
	if f.roster.adds && r.class == ofRow {
		for _, k := range f.roster.folded {
			from, end := f.rows.span(k)
			g.Refs = append(g.Refs, f.rows.Refs[from:end]...)
			g.Ends = append(g.Ends, len(g.Refs))
		}
		return g
	}
	places := f.places(r)
	others, latecomers := false, false
	add := func(i int, kind int8, late bool) {
		g.Refs = append(g.Refs, f.rows.Refs[i])
		s.kinds, s.reversed = append(s.kinds, kind), append(s.reversed, late)
		others, latecomers = others || kind != inserted, latecomers || late
	}
	for _, k := range f.roster.folded {
		from, end := f.rows.span(k)
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
