// Command sql makes tables, writes and reads them in SQL, and reads the rows of
// a query as Arrow batches.
//
//	go run ./examples/sql [DIR]
//
// DIR is the warehouse; left out, a temporary directory that is removed at the
// end. SQL runs on DuckDB and needs cgo.
package main
