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

type input struct {
	unit *unit // nil for a scan
}

type output struct {
	status table.Status
	rows   state // of a scan
}

// linear checks the history of units and scans.
func (s *simulation) linear() {
	var history []porcupine.Operation
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
		history = append(history, porcupine.Operation{Input: input{u}, Output: output{status: u.status}, Call: u.called, Return: end})
	}
	for _, x := range s.scans {
		history = append(history, porcupine.Operation{Input: input{}, Output: output{rows: x.rows}, Call: x.called, Return: x.ended})
	}
	for i := range history {
		history[i].ClientId = i
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{newModel(s.scenario.keyed)} },
		Step: func(st, in, out any) []any {
			m, u, o := st.(*model), in.(input).unit, out.(output)
			switch {
			case u == nil && m.state() == o.rows:
				return []any{m}
			case u == nil:
				return nil
			case o.status == table.Failed:
				return []any{m}
			}
			next := m.clone()
			next.apply(u)
			if o.status == table.Succeeded {
				return []any{next}
			}
			return []any{m, next}
		},
		Equal: func(a, b any) bool { return a.(*model).state() == b.(*model).state() },
	}
	switch porcupine.CheckOperationsTimeout(m.ToModel(), history, time.Minute) {
	case porcupine.Illegal:
		s.trace.violate("the history of commits and scans is not linearizable")
	case porcupine.Unknown:
		s.trace.violate("the history of commits and scans could not be checked in a minute")
	}
}
