package oracle

import (
	"slices"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (m *Model) aggregate(r Row) error {
	m.number, m.inserted = r.Number, true
	if m.removed = m.onDelete && r.Kind == types.Delete; m.removed {
		m.row = slices.Clone(r.Values)
		return nil
	}
	for i, c := range m.columns {
		v, retract := r.Values[i], r.Kind.IsRetract()
		switch {
		case c.key:
			m.row[i] = v
		case retract && c.ignores:
		default:
			var err error
			if m.row[i], err = c.fold(m.row[i], v, retract); err != nil {
				return tarnerr.Trace("aggregating", err, "column", m.s.Fields[i].Name)
			}
		}
	}
	return nil
}

// foldLate takes a row into the aggregate i of a group, or takes it back, also a row
// that is older than what is there: as if it had come before.
func (m *Model) foldLate(i int, g *group, r Row) error {
	c, acc, v := m.columns[i], m.row[i], r.Values[i]
	switch retract := r.Kind.IsRetract(); {
	case !m.says(g, r), retract && c.ignores:
		return nil
	case !retract && !m.counts(g, r) && c.function != "collect":
		acc, v = v, acc
		fallthrough
	default:
		var err error
		m.row[i], err = c.fold(acc, v, retract)
		return tarnerr.Trace("aggregating", err, "column", m.s.Fields[i].Name)
	}
}

// fold takes a value into what came before it, or takes it back.
func (c column) fold(acc, v types.Value, retract bool) (types.Value, error) {
	switch c.function {
	case "last_value":
		if retract {
			return nil, nil
		}
		return v, nil
	case "last_non_null_value":
		switch {
		case v == nil:
			return acc, nil
		case retract:
			return nil, nil
		}
		return v, nil
	case "sum":
		switch {
		case v == nil:
			return acc, nil
		case retract:
			v = -v.(int64)
		}
		if acc == nil {
			return v, nil
		}
		return acc.(int64) + v.(int64), nil
	case "product":
		switch {
		case v == nil || acc == nil && retract:
			return acc, nil
		case acc == nil:
			return v, nil
		case retract:
			return acc.(int64) / v.(int64), nil
		}
		return acc.(int64) * v.(int64), nil
	case "collect":
		switch {
		case v == nil || acc == nil && retract:
			return acc, nil
		case acc == nil:
			return v, nil
		case retract:
			return without(acc.([]types.Value), v.([]types.Value)), nil
		}
		return slices.Concat(acc.([]types.Value), v.([]types.Value)), nil
	}
	switch {
	case retract:
		return nil, tarnerr.New(tarnerr.Unsupported, "taking a row back", "not a matter of this function", "function", c.function)
	case v == nil:
		return acc, nil
	case acc == nil:
		return v, nil
	}
	switch c.function {
	case "max":
		return max(acc.(int64), v.(int64)), nil
	case "min":
		return min(acc.(int64), v.(int64)), nil
	case "first_non_null_value":
		return acc, nil
	case "listagg":
		return acc.(string) + "," + v.(string), nil
	}
	return nil, tarnerr.New(tarnerr.Unsupported, "aggregating", "the oracle does not know the function", "function", c.function)
}

// without is a list without the elements of another, each as often as it is there.
func without(from, what []types.Value) []types.Value {
	what, out := slices.Clone(what), []types.Value{}
	for _, v := range from {
		if i := slices.Index(what, v); i >= 0 {
			what = slices.Delete(what, i, i+1)
		} else {
			out = append(out, v)
		}
	}
	return out
}
