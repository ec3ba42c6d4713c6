package oracle

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// at is where a map has a key, -1 for nowhere. Keys are no lists.
func at(entries []types.Entry, key types.Value) int {
	return slices.IndexFunc(entries, func(e types.Entry) bool { return e.Key == key })
}

// mergeMap puts the entries of one map into another. With key times, an entry without
// a value takes its key out, and others must be newer than what is there.
func (c column) mergeMap(acc, v []types.Entry) []types.Entry {
	var out []types.Entry
	for _, e := range acc {
		out = put(out, e)
	}
	for _, e := range v {
		if c.function != "merge_map_with_keytime" {
			out = put(out, e)
			continue
		}
		i := at(out, e.Key)
		if e.Value == nil {
			if i >= 0 {
				out = slices.Delete(out, i, i+1)
			}
			continue
		}
		now := e.Value.([]types.Value)[c.time]
		if now == nil {
			continue
		}
		if i >= 0 && out[i].Value != nil {
			before := out[i].Value.([]types.Value)[c.time]
			if before != nil && now.(string) <= before.(string) {
				continue
			}
		}
		out = put(out, e)
	}
	return out
}

func put(entries []types.Entry, e types.Entry) []types.Entry {
	if i := at(entries, e.Key); i >= 0 {
		entries[i] = e
		return entries
	}
	return append(entries, e)
}

// id is what makes a row of a nested table that row: its key, or all of it.
func (c column) id(row types.Value) string {
	if row == nil {
		return "null"
	}
	element := *c.t.Element
	if len(c.nestedKey) == 0 {
		return types.FormatValue(element, row)
	}
	var parts []string
	for i, f := range element.Fields {
		if slices.Contains(c.nestedKey, f.Name) {
			parts = append(parts, types.FormatValue(f.Type, row.([]types.Value)[i]))
		}
	}
	return strings.Join(parts, "/")
}

// nested adds rows to a nested table, where a row replaces the one of its key, and where
// no more are taken than the limit has room for.
func (c column) nested(acc, v []types.Value) []types.Value {
	if len(acc) >= c.limit {
		return acc
	}
	out := slices.DeleteFunc(slices.Clone(acc), isNull)
	more := slices.DeleteFunc(slices.Clone(v), isNull)
	return c.perKey(append(out, more[:min(len(more), c.limit-len(acc))]...))
}

// perKey are the rows of a nested table, with a key the last one of each.
func (c column) perKey(rows []types.Value) []types.Value {
	kept := []types.Value{}
	for i, row := range rows {
		again := len(c.nestedKey) > 0 && slices.ContainsFunc(rows[i+1:], func(later types.Value) bool { return c.id(later) == c.id(row) })
		if row != nil && !again {
			kept = append(kept, row)
		}
	}
	return kept
}

// patch makes one row of all those of a key: of each member the last value.
func (c column) patch(rows []types.Value) []types.Value {
	out := []types.Value{}
	for _, row := range slices.DeleteFunc(rows, isNull) {
		i := slices.IndexFunc(out, func(o types.Value) bool { return c.id(o) == c.id(row) })
		if i < 0 {
			i = len(out)
			out = append(out, make([]types.Value, len(c.t.Element.Fields)))
		}
		for m, v := range row.([]types.Value) {
			if v != nil {
				out[i].([]types.Value)[m] = v
			}
		}
	}
	return out
}

func isNull(v types.Value) bool { return v == nil }

// text is a value as text: of a function that keeps no order, with its elements sorted.
func (c column) text(v types.Value) string {
	if v == nil {
		return "null"
	}
	var parts []string
	switch keyed := len(c.nestedKey) > 0; {
	case strings.HasPrefix(c.function, "merge_map"):
		for _, e := range v.([]types.Entry) {
			parts = append(parts, types.FormatValue(c.t, []types.Entry{e}))
		}
	case c.function == "collect" && c.distinct, c.function == "nested_update" && keyed, c.function == "nested_partial_update":
		for _, e := range v.([]types.Value) {
			parts = append(parts, types.FormatValue(c.t, []types.Value{e}))
		}
	default:
		return types.FormatValue(c.t, v)
	}
	slices.Sort(parts)
	return "sorted" + strings.Join(parts, "")
}
