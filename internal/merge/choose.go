package merge

import (
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/tarnlake/tarn/internal/batch"
)

// A say is what one row says about a column of which one value is chosen.
type say uint8

const (
	nothing say = iota
	value       // take its value
	nulled      // take null for its value
	restart     // take its value, whatever came before, and also if it is null
)

// stream is what the rows say about the columns of one class.
type stream struct {
	of   []say
	made bool
}

// streamsOf is how many classes of columns there are: those in no group, then of
// each group the sequence fields and the others.
func streamsOf(groups int) int { return 1 + 2*groups }

func (r *rule) stream() int {
	switch r.class {
	case ofSequence:
		return 1 + 2*r.group
	case ofGroup:
		return 2 + 2*r.group
	}
	return 0
}

// says are what the rows say about the columns of a class.
func (f *Folder) says(r *rule) []say {
	s := &f.streams[r.stream()]
	if s.made {
		return s.of
	}
	s.of, s.made = sizedTo(s.of, len(f.rows.Refs)), true
	var table [removes + 1][newer + 1]say
	switch {
	case f.b.Engine == Aggregation:
		table[adds] = [...]say{value, value, value}
		table[takesBack] = [...]say{nulled, nulled, nulled}
	case r.class == ofRow:
		table[adds] = [...]say{value, value, value}
		table[beginsBack] = [...]say{restart, restart, restart}
	case r.class == ofSequence:
		table[adds][newer], table[takesBack][newer] = value, value
		table[beginsBack] = [...]say{restart, restart, restart}
	case r.class == ofGroup:
		table[adds][newer], table[takesBack][newer] = value, nulled
		table[beginsBack] = [...]say{outside: restart, newer: nulled}
	}
	table[begins] = [...]say{restart, restart, restart}
	table[removes] = [...]say{restart, restart, restart}
	places := f.places(r)
	from := 0
	for k, end := range f.rows.Ends {
		if !f.ev.alone[k] {
			for i := from; i < end; i++ {
				at := outside
				if places != nil {
					at = places[i]
				}
				s.of[i] = table[f.ev.of[i]][at]
			}
		}
		from = end
	}
	return s.of
}

// places are where the rows stand in the group of a column, nil without one. Rows
// that the group's fields were not asked about have no place, but need none.
func (f *Folder) places(r *rule) []place {
	if r.class < ofSequence {
		return nil
	}
	return f.ev.places[r.group]
}

// validity is which values of an array are not null.
type validity struct {
	bits []byte // nil: all
	off  int
}

// choose picks one row per key for a column.
func (f *Folder) choose(r *rule) *chosen {
	says := f.says(r)
	if r.nonNull && f.anyNull() {
		c := &f.scratch
		f.chooseNonNull(c, says)
		return c
	}
	c := &f.perKey[r.stream()]
	if !c.made {
		f.chooseAny(c, says)
		c.made = true
	}
	return c
}

// anyNull looks whether values of the column are null at all.
func (f *Folder) anyNull() bool {
	f.valid = f.valid[:0]
	found := false
	for _, a := range f.arrays {
		v := validity{}
		if a != nil && a.NullN() > 0 {
			found = true
			v = validity{a.NullBitmapBytes(), a.Data().Offset()}
		}
		f.valid = append(f.valid, v)
	}
	return found
}

// chooseAny takes the last row that says something, null or not.
func (f *Folder) chooseAny(c *chosen, says []say) {
	c.refs, c.nulls = c.refs[:0], false
	refs, null := f.rows.Refs, f.behind(0)
	from := 0
	for k, end := range f.rows.Ends {
		switch {
		case f.drops(k):
		case f.ev.alone[k]:
			c.add(refs[from])
		default:
			pick := null
			for i := end - 1; i >= from; i-- {
				if says[i] == nothing {
					continue
				}
				if says[i] != nulled {
					pick = refs[i]
				}
				break
			}
			c.nulls = c.nulls || pick == null
			c.add(pick)
		}
		from = end
	}
}

// chooseNonNull takes the last row that says something and is not null.
func (f *Folder) chooseNonNull(c *chosen, says []say) {
	c.refs, c.nulls = c.refs[:0], false
	refs, null := f.rows.Refs, f.behind(0)
	from := 0
	for k, end := range f.rows.Ends {
		switch {
		case f.drops(k):
		case f.ev.alone[k]:
			c.add(refs[from])
		default:
			pick := null
			for i := end - 1; i >= from; i-- {
				s := says[i]
				if s == nothing {
					continue
				}
				if s == restart || f.has(refs[i]) {
					if s != nulled {
						pick = refs[i]
					}
					break
				}
			}
			c.nulls = c.nulls || pick == null
			c.add(pick)
		}
		from = end
	}
}

// has reports a value that is not null.
func (f *Folder) has(r batch.Ref) bool {
	v := &f.valid[r.Source()]
	return v.bits == nil || bitutil.BitIsSet(v.bits, v.off+r.Row())
}
