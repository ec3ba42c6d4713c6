package oracle

import (
	"slices"
	"strings"

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
			if m.row[i], err = m.fold(i, m.row[i], v, retract); err != nil {
				return tarnerr.Trace("aggregating", err, "column", m.s.Fields[i].Name)
			}
		}
	}
	return nil
}

// foldLate takes a row into the aggregate i of a group, or takes it back, also a row
// that is older than what is there: as if it had come before. Of collect it comes
// behind all the same, unless the function is wrapped to ignore what is taken back.
func (m *Model) foldLate(i int, g *group, r Row) error {
	c, acc, v := m.columns[i], m.row[i], r.Values[i]
	switch retract := r.Kind.IsRetract(); {
	case !m.says(g, r), retract && c.ignores:
		return nil
	case !retract && !m.counts(g, r) && (c.function != "collect" || c.ignores):
		acc, v = v, acc
		fallthrough
	default:
		var err error
		m.row[i], err = m.fold(i, acc, v, retract)
		return tarnerr.Trace("aggregating", err, "column", m.s.Fields[i].Name)
	}
}

// fold takes a value of column i into what came before it, or takes it back.
func (m *Model) fold(i int, acc, v types.Value, retract bool) (types.Value, error) {
	c := m.columns[i]
	if retract {
		return c.takeBack(acc, v)
	}
	switch c.function {
	case "last_value":
		return v, nil
	case "first_value", "first_non_null_value":
		// What came first is known by having been seen, not by being there.
		if m.seen[i] || v == nil && c.function != "first_value" {
			return acc, nil
		}
		m.seen[i] = true
		return v, nil
	case "collect":
		switch all := slices.Concat(elements(acc), elements(v)); {
		case acc == nil && v == nil:
			return nil, nil
		case c.distinct:
			return unique(all), nil
		case acc == nil:
			return v, nil
		case v == nil:
			return acc, nil
		default:
			return all, nil
		}
	}
	switch {
	case v == nil:
		return acc, nil
	case acc == nil:
		return v, nil
	}
	switch c.function {
	case "last_non_null_value":
		return v, nil
	case "sum":
		return acc.(int64) + v.(int64), nil
	case "product":
		return acc.(int64) * v.(int64), nil
	case "max":
		return max(acc.(int64), v.(int64)), nil
	case "min":
		return min(acc.(int64), v.(int64)), nil
	case "bool_and":
		return acc.(bool) && v.(bool), nil
	case "bool_or":
		return acc.(bool) || v.(bool), nil
	case "listagg":
		return c.listagg(acc.(string), v.(string)), nil
	case "merge_map", "merge_map_with_keytime":
		return c.mergeMap(acc.([]types.Entry), v.([]types.Entry)), nil
	case "nested_update":
		return c.nested(acc.([]types.Value), v.([]types.Value)), nil
	case "nested_partial_update":
		return c.patch(slices.Concat(acc.([]types.Value), v.([]types.Value))), nil
	case "rbm32":
		return unite(acc.([]byte), v.([]byte))
	}
	return nil, tarnerr.New(tarnerr.Unsupported, "aggregating", "the oracle does not know the function", "function", c.function)
}

// takeBack takes a value out of what came before it, as far as the function can.
func (c column) takeBack(acc, v types.Value) (types.Value, error) {
	switch c.function {
	case "last_value":
		return nil, nil
	case "last_non_null_value":
		if v == nil {
			return acc, nil
		}
		return nil, nil
	case "sum":
		switch {
		case v == nil:
			return acc, nil
		case acc == nil:
			return -v.(int64), nil
		}
		return acc.(int64) - v.(int64), nil
	case "product", "collect", "merge_map", "nested_update":
		if acc == nil || v == nil {
			return acc, nil
		}
	}
	switch c.function {
	case "product":
		if v.(int64) == 0 {
			return nil, ErrZero
		}
		return acc.(int64) / v.(int64), nil
	case "collect":
		return without(acc.([]types.Value), v.([]types.Value)), nil
	case "merge_map":
		return slices.DeleteFunc(slices.Clone(acc.([]types.Entry)), func(e types.Entry) bool {
			return at(v.([]types.Entry), e.Key) >= 0
		}), nil
	case "nested_update":
		return slices.DeleteFunc(c.perKey(acc.([]types.Value)), func(row types.Value) bool {
			return slices.ContainsFunc(v.([]types.Value), func(out types.Value) bool { return c.id(out) == c.id(row) })
		}), nil
	}
	return nil, tarnerr.New(tarnerr.Unsupported, "taking a row back", "not a matter of this function", "function", c.function)
}

// listagg writes one list behind another, of which an empty one is none. Distinct, what
// is there already and what is empty stays away.
func (c column) listagg(acc, v string) string {
	switch {
	case v == "":
		return acc
	case acc == "":
		return v
	case !c.distinct:
		return acc + "," + v
	}
	words := strings.Split(acc, ",")
	for _, w := range strings.Split(v, ",") {
		if w != "" && !slices.Contains(words, w) {
			words, acc = append(words, w), acc+","+w
		}
	}
	return acc
}

func elements(list types.Value) []types.Value {
	out, _ := list.([]types.Value)
	return out
}

func unique(list []types.Value) []types.Value {
	out := []types.Value{}
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
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
