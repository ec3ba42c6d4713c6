// Package cast turns values of one type into another as Java Paimon does when it
// reads files that were written before a column changed its type: the same
// results, its odd ones included. docs/format/evolution.md lists the rules.
//
// Floor F1.
package cast
