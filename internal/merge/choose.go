package merge

import (
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
	for _, k := range f.roster.folded {
		from, end := f.rows.span(k)
		for i := from; i < end; i++ {
			at := outside
			if places != nil {
				at = places[i]
			}
			s.of[i] = table[f.ev.of[i]][at]
		}
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

// validity is which values of an array are not null: bit off and those behind it, or
// always the first one of its byte.
type validity struct {
	bits []byte
	mask uint // of the number of the byte
	off  uint
}

var allSet, noneSet = []byte{0xff}, []byte{0}

// choose picks one row per key for a column.
func (f *Folder) choose(r *rule) *chosen {
	// Of columns in no group all rows say their value where all add.
	plain := f.roster.adds && r.class == ofRow
	if r.nonNull && f.anyNull() {
		c := &f.scratch
		c.begin(&f.roster)
		if plain {
			f.lastNonNull(c.refs)
			c.valid = f.beginsValid()
		} else {
			f.chooseNonNull(c, f.says(r))
		}
		f.finish(c)
		return c
	}
	if plain {
		return f.lastRows()
	}
	c := &f.perKey[r.stream()]
	if !c.made {
		c.begin(&f.roster)
		f.chooseAny(c, f.says(r))
		f.finish(c)
		c.made = true
	}
	return c
}

// anyNull looks whether values of the column are null at all.
func (f *Folder) anyNull() bool {
	f.valid = f.valid[:0]
	found := false
	for _, a := range f.arrays {
		v := validity{bits: allSet}
		if a != nil && a.NullN() > 0 {
			found = true
			if bits := a.NullBitmapBytes(); bits != nil {
				v = validity{bits, ^uint(0), uint(a.Data().Offset())}
			} else {
				v.bits = noneSet
			}
		}
		f.valid = append(f.valid, v)
	}
	return found
}

// lastNonNull takes of each key the last row that is not null, or the first row, which
// is null then. It has no branches: what is null is a matter of chance.
func (f *Folder) lastNonNull(refs []batch.Ref) {
	keys := f.roster.later.keys
	for j, r := range f.roster.later.refs {
		ref := &refs[keys[j]]
		*ref ^= (*ref ^ r) & -batch.Ref(f.has(r))
	}
}

// beginsValid reports that no key can begin with a null of the column: what lies
// above all keys there are mostly has values only.
func (f *Folder) beginsValid() bool {
	for _, s := range f.roster.sources() {
		if a := f.arrays[s]; a != nil && a.NullN() > 0 {
			return false
		}
	}
	return true
}

// chooseAny takes the last row that says something, null or not.
func (f *Folder) chooseAny(c *chosen, says []say) {
	refs, null := f.rows.Refs, f.behind(0)
	for _, k := range f.roster.folded {
		from, end := f.rows.span(k)
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
		c.refs[k] = pick
	}
}

// chooseNonNull takes the last row that says something and is not null.
func (f *Folder) chooseNonNull(c *chosen, says []say) {
	refs, null := f.rows.Refs, f.behind(0)
	for _, k := range f.roster.folded {
		from, end := f.rows.span(k)
		pick := null
		for i := end - 1; i >= from; i-- {
			s := says[i]
			if s == nothing {
				continue
			}
			if s == restart || f.has(refs[i]) == 1 {
				if s != nulled {
					pick = refs[i]
				}
				break
			}
		}
		c.nulls = c.nulls || pick == null
		c.refs[k] = pick
	}
}

// has is 1 for a value that is not null, else 0.
func (f *Folder) has(r batch.Ref) byte {
	v := &f.valid[r>>32]
	at := v.off + uint(uint32(r))
	return v.bits[at>>3&v.mask] >> (at & 7) & 1
}
