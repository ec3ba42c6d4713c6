// Package fanin bounds the memory of merges of many sorted runs: those that do not
// fit go to temporary files first, several merged into one where that is the same,
// else each copied to a file of small blocks.
//
// Floor F3. Between the sections of package lsm and the merge of package merge, for
// reads and for compactions.
package fanin
