package merge

import (
	"math"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// event is what one of several rows of a key does to the row that comes out.
type event uint8

const (
	ignored   event = iota
	adds            // +I and +U
	takesBack       // -U and -D
	begins          // all columns are taken as they are, then nothing
	// beginsBack is a retraction that comes first: all columns are taken as they
	// are, then it takes back what it brought.
	beginsBack
	removes // the row is gone; its values are what a later one begins with
)

// place is where a row stands in a sequence group.
type place uint8

const (
	outside place = iota // its sequence fields are all null
	older                // than the newest row so far
	newer                // or as new
)

// events are what the rows of some keys do, in the order of the rows. Only those
// of keys that are folded are set.
type events struct {
	of     []event
	places [][]place // by group; nil where nobody asks
	// triggers are, of rows that remove by sequence group, the first column of the
	// table that said so: columns before it were taken back first.
	triggers []int32

	last  []int32 // of each key: the row whose sequence number and key it has
	kinds []int8  // of each key: the row kind that comes out
}

func (e *events) reset(rows *Rows, groups int) {
	e.of = sizedTo(e.of, len(rows.Refs))
	e.last = sizedTo(e.last, len(rows.Ends))
	e.kinds = sizedTo(e.kinds, len(rows.Ends))
	e.triggers = sizedTo(e.triggers, len(rows.Refs))
	for len(e.places) < groups {
		e.places = append(e.places, nil)
	}
	for g := range groups {
		e.places[g] = sizedTo(e.places[g], len(rows.Refs))
	}
}

// sizedTo is s with n values, which may hold anything.
func sizedTo[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

const (
	inserted = int8(types.Insert)
	deleted  = int8(types.Delete)
)

// alone decides about all keys as if none was folded: their last row stays as it is.
func (e *events) alone(rows *Rows) {
	for k, end := range rows.Ends {
		e.last[k], e.kinds[k] = int32(end-1), rows.Kinds[end-1]
	}
}

// aggregate decides about the rows of an aggregation.
func (e *events) aggregate(b *bound, rows *Rows, c *roster) {
	e.alone(rows)
	for _, k := range c.folded {
		e.kinds[k] = inserted
		if c.adds {
			continue
		}
		from, end := rows.span(k)
		for i := from; i < end; i++ {
			switch kind := rows.Kinds[i]; {
			case kind&1 == 0:
				e.of[i] = adds
			case kind == deleted && b.removeOnDelete:
				e.of[i] = removes
			default:
				e.of[i] = takesBack
			}
		}
		if e.of[end-1] == removes {
			e.kinds[k] = deleted
		}
	}
}

// first decides about the rows of a first-row table. The last row that counts is
// the first one that is no delete; -1 where there is none.
func (e *events) first(b *bound, rows *Rows, c *roster) error {
	e.alone(rows)
	for _, k := range c.folded {
		from, end := rows.span(k)
		e.last[k], e.kinds[k] = int32(from), rows.Kinds[from]
		if c.adds || !retracts(rows.Kinds[from:end]) {
			continue
		}
		if !b.IgnoreDelete {
			return tarnerr.New(tarnerr.Invalid, "merging rows of a first-row table", "first row can not accept -D and -U records").
				WithHint("Set ignore-delete to leave them out.")
		}
		e.last[k] = -1
		for i := from; i < end; i++ {
			if rows.Kinds[i]&1 == 0 {
				e.last[k], e.kinds[k] = int32(i), rows.Kinds[i]
				break
			}
		}
	}
	return nil
}

// sequencer compares rows by the fields of sequence groups.
type sequencer struct {
	b     *bound
	views [][]*Sequences // by source, by group
	now   []int          // by group: the row whose sequence fields the key has, -1 none
}

// place says where row i stands in group g when now is what the key has.
func (s *sequencer) place(g int, rows []batch.Ref, i int) place {
	a := rows[i]
	view := s.views[a.Source()][g]
	if view.null(a.Row()) {
		return outside
	}
	if s.now[g] < 0 {
		return newer
	}
	n := rows[s.now[g]]
	if CompareSequences(view, a.Row(), s.views[n.Source()][g], n.Row()) < 0 {
		return older
	}
	return newer
}

// set says that the key has the sequence fields of row i in all groups.
func (s *sequencer) set(i int) {
	for g := range s.now {
		s.now[g] = i
	}
}

// places says where row i stands in all groups.
func (s *sequencer) places(e *events, rows []batch.Ref, i int) {
	for g, fields := range s.b.order {
		if fields != nil {
			e.places[g][i] = s.place(g, rows, i)
		}
	}
}

// advance makes the sequence fields of row i those of the groups it is newer in.
func (s *sequencer) advance(e *events, i int) {
	for g, fields := range s.b.order {
		if fields != nil && e.places[g][i] == newer {
			s.now[g] = i
		}
	}
}

// update decides about the rows of a partial update. s is nil without sequence groups.
func (e *events) update(b *bound, rows *Rows, c *roster, s *sequencer) error {
	e.alone(rows)
	for _, k := range c.folded {
		if c.adds && s == nil {
			e.kinds[k] = inserted
			continue
		}
		from, end := rows.span(k)
		if err := e.updateKey(b, rows, s, int(k), from, end); err != nil {
			return err
		}
	}
	return nil
}

func (e *events) updateKey(b *bound, rows *Rows, s *sequencer, k, from, end int) error {
	if s != nil {
		s.set(-1)
	}
	begun, inserts := false, false
	for i := from; i < end; i++ {
		kind := rows.Kinds[i]
		if kind&1 == 0 {
			e.of[i] = adds
			if s != nil {
				s.places(e, rows.Refs, i)
				s.advance(e, i)
			}
			begun, inserts = true, true
			e.last[k] = int32(i)
			continue
		}
		first := !begun
		begun = true
		if !b.IgnoreDelete {
			e.last[k] = int32(i)
		}
		switch {
		case b.IgnoreDelete:
			e.of[i] = unless(first, begins, ignored)
			if first && s != nil {
				s.set(i)
			}
		case s != nil:
			if first {
				s.set(i)
			}
			s.places(e, rows.Refs, i)
			if t, ok := e.removal(b, kind, i); ok {
				e.of[i], e.triggers[i] = removes, t
				s.set(i)
				break
			}
			e.of[i] = unless(first, beginsBack, takesBack)
			s.advance(e, i)
		case b.removeOnDelete && kind == deleted:
			e.of[i] = removes
		case b.removeOnDelete:
			e.of[i] = unless(first, begins, ignored)
		default:
			return tarnerr.New(tarnerr.Invalid, "merging rows of a partial update", "partial update can not accept delete records", "kind", types.RowKind(kind)).
				WithHint("Set ignore-delete to leave them out, partial-update.remove-record-on-delete to remove the row, or sequence groups (fields.<column>.sequence-group) to take back the columns of a group.")
		}
	}
	e.kinds[k] = inserted
	if !inserts || e.of[end-1] == removes {
		e.kinds[k] = deleted
	}
	return nil
}

func unless(first bool, then, otherwise event) event {
	if first {
		return then
	}
	return otherwise
}

// removal reports a -D that removes the row by a sequence group, and the first
// column of the table that says so.
func (e *events) removal(b *bound, kind int8, i int) (trigger int32, ok bool) {
	if kind != deleted {
		return 0, false
	}
	trigger = math.MaxInt32
	for g, in := range b.groups {
		if !in.removes || e.places[g][i] != newer {
			continue
		}
		for _, c := range in.sequence {
			trigger = min(trigger, int32(c))
		}
	}
	return trigger, trigger < math.MaxInt32
}
