// Command scan reads a table as Arrow batches in three ways: columns and rows by
// a filter, side by side from splits that were planned first, and as it was at an
// earlier snapshot.
//
//	go run ./examples/scan [DIRECTORY]
package main
