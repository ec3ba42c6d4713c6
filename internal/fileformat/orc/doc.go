// Package orc reads ORC data files, as Paimon before 1.0 writes them by default:
// a decoder of its own that goes from streams straight to Arrow buffers and
// skips stripes and row groups by statistics. It does not write.
// docs/format/orc.md has the details.
//
// Floor F1.
package orc
