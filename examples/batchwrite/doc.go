// Command batchwrite makes a primary-key table and writes to it in two commits,
// the second of which changes a row. It prints what each commit reports and
// what the table reads afterwards.
//
//	go run ./examples/batchwrite [DIRECTORY]
package main
