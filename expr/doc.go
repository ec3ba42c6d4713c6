// Package expr holds predicates over a table's columns: built by callers or
// parsed from text, bound to a schema, then used twice — on statistics to skip
// files, and on batches to keep exactly the rows that match.
//
// Floor F0. Comparison with null is never true (SQL's three-valued logic).
package expr
