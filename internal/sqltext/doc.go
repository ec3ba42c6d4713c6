// Package sqltext reads the pieces of SQL that Tarn parses itself: the predicate
// of --where, a script's statements, and those of them that change a catalog.
// A real SQL engine reads queries.
//
// Floor F1. It needs no cgo.
package sqltext
