package metamorphic

import (
	"slices"
	"strings"
)

// setOfFunctions is what an aggregation, or the sequence groups, do with their columns,
// and the types of two columns for that.
type setOfFunctions struct {
	x, y    string
	of      map[string]string
	options map[string]string // of the functions, by column and name
}

// setsOfFunctions hold all aggregate functions but rbm64, hll_sketch and theta_sketch,
// whose bytes are no matter of a model of a few lines: what they make is held to Java's
// bytes where they are.
var setsOfFunctions = map[string]setOfFunctions{
	"plain": {x: "BIGINT", y: "BIGINT", of: map[string]string{
		"a": "sum", "b": "last_value", "c": "max", "e": "listagg", "x": "last_non_null_value", "y": "first_value"}},
	"numbers": {x: "BOOLEAN", y: "BOOLEAN", of: map[string]string{
		"a": "product", "b": "first_value", "c": "last_non_null_value", "e": "listagg", "x": "bool_and", "y": "bool_or"},
		options: map[string]string{"e.distinct": "true"}},
	"lists": {x: "ARRAY<INT>", y: "ARRAY<INT>", of: map[string]string{
		"a": "sum", "b": "last_value", "c": "min", "e": "listagg", "x": "collect", "y": "collect"},
		options: map[string]string{"y.distinct": "true"}},
	"maps": {x: "MAP<INT, INT>", y: "MAP<INT, ROW<v INT, at STRING>>", of: map[string]string{
		"a": "max", "b": "first_non_null_value", "c": "sum", "x": "merge_map", "y": "merge_map_with_keytime"}},
	"tables": {x: "ARRAY<ROW<k INT, v INT, w INT>>", y: "ARRAY<ROW<k INT, v INT, w INT>>", of: map[string]string{
		"a": "product", "c": "min", "x": "nested_update", "y": "nested_partial_update"},
		options: map[string]string{"x.nested-key": "k", "y.nested-key": "k"}},
	"sets": {x: "BYTES", y: "ARRAY<ROW<k INT, v INT>>", of: map[string]string{
		"b": "first_non_null_value", "x": "rbm32", "y": "nested_update"},
		options: map[string]string{"y.count-limit": "4"}},
}

// takeBack are the functions that can take a value back.
var takeBack = []string{"sum", "product", "last_value", "last_non_null_value", "collect", "merge_map", "nested_update"}

// functionOptions are the options of the aggregate functions of a config. The groups of
// plain have none.
func (c config) functionOptions() map[string]string {
	set, out := setsOfFunctions[c[functions]], map[string]string{}
	aggregates := strings.HasPrefix(c[engine], "aggregation")
	if !aggregates && (!strings.HasPrefix(c[engine], "groups") || c[functions] == "plain") {
		return out
	}
	// Java takes no ignore-retract beside remove-record-on-delete.
	removing := c[engine] == "aggregation-removing"
	takes := removing && c[rows] == "updates" && c[drops] == "nothing"
	add := func(column, function string) {
		can := slices.Contains(takeBack, function)
		if takes && !can {
			return
		}
		out["fields."+column+".aggregate-function"] = function
		if !removing && !can {
			out["fields."+column+".ignore-retract"] = "true"
		}
		for key, v := range set.options {
			if of, name, _ := strings.Cut(key, "."); of == column {
				out["fields."+column+"."+name] = v
			}
		}
	}
	for column, function := range set.of {
		add(column, function)
	}
	if aggregates {
		add("g", "min")
		add("h", "first_non_null_value")
		if c[functions] == "lists" {
			out["fields.default-aggregate-function"] = "last_value"
		}
	}
	return out
}
