// Package metamorphic holds whole tables to the oracle: random histories of one
// table under every pair of option values, after each commit of which the table is
// what the oracle says and the changelog folded is the table. [Tables] are for others
// that are to refuse the same tables.
// Floor T.
//
//	go test ./metamorphic                      # 2,000 histories; 300 with -short, 100 under the race detector
//	go test ./metamorphic -v                   # with a table of how often each pair was held
//	go test ./metamorphic -args -histories 50000
//	go test ./metamorphic -args -seed 4711     # the history of one seed
package metamorphic
