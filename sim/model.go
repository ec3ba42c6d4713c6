package sim

import (
	"cmp"
	"slices"
)

// model is what the table must hold: the changes of units, applied in the order
// of their snapshots. Where it is not known whether a commit landed, both are
// possible, until a snapshot or a scan tells (linear.go).
type model struct {
	keyed bool
	rows  map[modelKey]row
}

type modelKey struct {
	p string
	k int64
}

func newModel(keyed bool) *model { return &model{keyed, map[modelKey]row{}} }

// apply makes a unit's change.
func (m *model) apply(u *unit) {
	for k := range m.rows {
		if slices.Contains(u.overwritten, k.p) {
			delete(m.rows, k)
		}
	}
	for _, r := range u.removed {
		if k := (modelKey{r.p, r.k}); m.rows[k] == r {
			delete(m.rows, k)
		}
	}
	for _, r := range u.rows {
		m.add(r)
	}
}

// add adds a row: in a key table the highest sequence of a key stays.
func (m *model) add(r row) {
	k := modelKey{r.p, r.k}
	if old, ok := m.rows[k]; !ok || r.s > old.s {
		m.rows[k] = r
	}
}

func (m *model) state() state {
	rows := make([]row, 0, len(m.rows))
	for _, r := range m.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.s, b.s) })
	return stateOf(rows)
}
