// Package compact rewrites data files so that reads find less to do: it merges
// the sorted runs that package lsm picked in a key table, and the small files of
// an append table. What comes out replaces what went in, and no read changes
// (INV-TREE-3).
//
// Floor F4. Between a pick and the commit message; a writer may run it beside
// its flushes.
package compact
