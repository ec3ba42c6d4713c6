// Package kvbatch knows the columns of key-value data files: keys, sequence
// number and value kind before the table's own columns.
//
// Floor F1. Flush writes this layout, reads and compactions take it apart.
package kvbatch
