// Package merge turns sorted runs into one: it walks their keys in a loser tree
// over normalised key prefixes, lets the merge function choose among the rows
// of a key, and gathers the columns of the survivors once per batch. Nothing of
// what it returns lies in the memory of two runs or more, which may be used again.
//
// Floor F3. Reads and compactions merge runs opened by package run.
package merge
