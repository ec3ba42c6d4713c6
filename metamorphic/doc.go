// Package metamorphic holds whole tables to the oracle: random histories of one
// table under every pair of option values, after each commit of which the table is
// what the oracle says and the changelog folded is the table. It has tests only.
// Floor T.
package metamorphic
