package sim

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tarnlake/tarn/table"
)

// The table is one object that all processes share. Its operations are the units
// and the scans; each must look as if it happened at one moment between its call
// and its end. A unit that nobody was told the outcome of may happen at any time
// after its call, or never: the model forks.

// forever is the end of an operation that has none.
const forever = 1 << 40

// rowSet is the content of the table as the numbers s of its rows, no two of
// which are the same in a run.
type rowSet [2]uint64

func (b rowSet) with(n int64) rowSet    { b[n/64] |= 1 << (n % 64); return b }
func (b rowSet) without(n int64) rowSet { b[n/64] &^= 1 << (n % 64); return b }
func (b rowSet) has(n int64) bool       { return b[n/64]&(1<<(n%64)) != 0 }

func (b rowSet) minus(c rowSet) rowSet {
	for i := range b {
		b[i] &^= c[i]
	}
	return b
}

// maxRows is how many rows a run may write.
const maxRows = int64(len(rowSet{}) * 64)

// sets turns units and scans into what they do to, and say of, row sets.
type sets struct {
	keyed      bool
	partitions map[string]rowSet // rows of a partition
	keys       map[modelKey][]int64
	rows       map[int64]row
}

func (s *simulation) sets() *sets {
	x := &sets{s.scenario.keyed, map[string]rowSet{}, map[modelKey][]int64{}, map[int64]row{}}
	for _, n := range s.names {
		for _, r := range n.unit.rows {
			if _, known := x.rows[r.s]; known {
				continue
			}
			x.rows[r.s] = r
			x.partitions[r.p] = x.partitions[r.p].with(r.s)
			x.keys[modelKey{r.p, r.k}] = append(x.keys[modelKey{r.p, r.k}], r.s)
		}
	}
	return x
}

// of is the set of rows read; false when one was never written.
func (x *sets) of(rows []row) (b rowSet, ok bool) {
	for _, r := range rows {
		if x.rows[r.s] != r || b.has(r.s) {
			return b, false
		}
		b = b.with(r.s)
	}
	return b, true
}

// apply is what a unit makes of a set; see [model.apply].
func (x *sets) apply(b rowSet, u *unit) rowSet {
	for _, p := range u.overwritten {
		b = b.minus(x.partitions[p])
	}
	for _, r := range u.removed {
		b = b.without(r.s)
	}
	for _, r := range u.rows {
		newest := true
		for _, other := range x.keys[modelKey{r.p, r.k}] {
			switch {
			case !x.keyed || !b.has(other):
			case other > r.s:
				newest = false
			default:
				b = b.without(other)
			}
		}
		if newest {
			b = b.with(r.s)
		}
	}
	return b
}

// outcome is how an operation of the history ended.
type outcome struct {
	status table.Status
	rows   rowSet // of a scan
}

// linear checks the history of units and scans.
func (s *simulation) linear() {
	x := s.sets()
	var history []porcupine.Operation
	add := func(u *unit, o outcome, called, ended int64) {
		history = append(history, porcupine.Operation{ClientId: len(history), Input: u, Output: o, Call: called, Return: ended})
	}
	done := map[*unit]bool{}
	for _, n := range s.names {
		u := n.unit
		if done[u] || u.what == "compact" { // which changes no row
			continue
		}
		done[u] = true
		end := u.ended
		if end == 0 || u.status == table.Unknown {
			end = forever
		}
		add(u, outcome{status: u.status}, u.called, end)
	}
	for _, scan := range s.scans {
		rows, ok := x.of(scan.rows)
		if !ok {
			s.trace.violate("a scan returned rows that were never written, or twice: %v", scan.rows)
			return
		}
		add(nil, outcome{rows: rows}, scan.called, scan.ended)
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{rowSet{}} },
		Step: func(state, in, out any) []any {
			b, u, o := state.(rowSet), in.(*unit), out.(outcome)
			switch {
			case u == nil && b != o.rows:
				return nil
			case u == nil || o.status == table.Failed:
				return []any{b}
			case o.status == table.Succeeded:
				return []any{x.apply(b, u)}
			}
			return []any{b, x.apply(b, u)}
		},
	}
	switch porcupine.CheckOperationsTimeout(m.ToModel(), history, time.Minute) {
	case porcupine.Illegal:
		s.trace.violate("the history of commits and scans is not linearizable")
	case porcupine.Unknown:
		s.trace.violate("the history of commits and scans could not be checked in a minute")
	}
}
