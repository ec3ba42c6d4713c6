// Package invariants asserts the numbered invariants of docs/invariants.md in
// builds with the tag "invariants"; in others it costs nothing.
//
// Floor F0.
package invariants
