// Package table is the public face of a table, the same for every format: plan
// and read, write and commit, with the nouns a program must name, store or ship.
//
// Floor F5. The Paimon implementation is table/paimon; catalogs open tables.
package table
