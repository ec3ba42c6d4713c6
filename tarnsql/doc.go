// Package tarnsql is SQL over the tables of a catalog: DuckDB reads them through
// a table function of ours, and the statements that change a catalog or write a
// table are read and carried out here.
//
//	db, err := tarnsql.Open(ctx, cat, tarnsql.Options{})
//	rows, err := db.Query(ctx, "SELECT status, count(*) FROM shop.orders GROUP BY status")
//
// A query goes serialize.go (DuckDB's syntax tree of it), references.go (the
// tables it names, each pinned to one snapshot), pushdown.go (what each need not
// read), plain.go (the files that DuckDB reads itself), edit.go (the text that
// DuckDB runs), scan.go and fill.go (tables to DuckDB's vectors), rows.go and
// decode.go (DuckDB's vectors to Arrow batches).
//
// Floor F7. It needs cgo; built without it, or with the tag tarn_nosql, Open
// says that it is missing.
package tarnsql
