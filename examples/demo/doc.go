// Command demo is the guided tour behind "make demo". It needs a local directory
// and no server. Its parts, in order, each in a file of its own:
//
//	orders.go      what a primary-key table does with a late row
//	flights.go     a month of real flights as a stream of updates
//	sqlorders.go   the late row again, in SQL
//	questions.go   SQL joins of the flights with planes and airports;
//	               answers.go has the answers a second time, without Tarn
//	timetravel.go  SQL over an earlier snapshot; boards.go has what must come
//	               out, from the events
//
// The SQL parts need cgo and are left out without it. Beside the parts: rows.go
// (Arrow batches), source.go (the files that the tables are checked against),
// console.go (SQL as it is typed), memory.go.
package main
