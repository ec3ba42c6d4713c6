//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// tableFunctions are those of DuckDB that a query may name: they make rows of
// their arguments, or tell of DuckDB itself. Any other may reach files, run text
// as SQL, or change what all users of the engine have.
var tableFunctions = []string{
	"generate_series", "range", "repeat", "repeat_row", "summary", "unnest",
	"histogram", "histogram_values", "json_each", "json_tree", "test_all_types",
	"duckdb_functions", "duckdb_keywords", "duckdb_memory", "duckdb_optimizers", "duckdb_settings", "duckdb_types",
	"icu_calendar_names", "pg_timezone_names", "pragma_platform", "pragma_version",
}

// call checks a table function that a query names.
func (s *survey) call(n node) {
	name := n.child("function").text("function_name")
	if slices.Contains(tableFunctions, strings.ToLower(name)) {
		return
	}
	s.refuse(n.location(), tarnerr.New(tarnerr.Denied, "reading query", "this table function is disabled, or there is none of this name", "function", name).
		WithHint("SQL reads the tables of the catalog alone; import files with `tarn table import`."))
}

// compute checks a function that a query names: this one binds a query that is
// given as text, and so opens the files that the text names.
func (s *survey) compute(n node) {
	if strings.EqualFold(n.text("function_name"), "json_serialize_plan") {
		s.refuse(n.location(), tarnerr.New(tarnerr.Denied, "reading query", "this function is disabled", "function", "json_serialize_plan").
			WithHint("EXPLAIN shows the plan of a query."))
	}
}

// show refuses what DuckDB would say of tables that it does not know.
func (s *survey) show(n node) {
	s.refuse(n.location(), tarnerr.New(tarnerr.Unsupported, "reading query", "SHOW, DESCRIBE or SUMMARIZE in a query").
		WithHint("SHOW and DESCRIBE are statements of their own."))
}
