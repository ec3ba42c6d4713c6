// Package sqltext reads the small pieces of SQL that Tarn parses itself: the
// predicate of --where. A real SQL engine reads everything else.
//
// Floor F1. It needs no cgo.
package sqltext
