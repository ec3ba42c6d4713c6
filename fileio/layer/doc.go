// Package layer wraps a storage backend: Count counts its calls, Observe tells
// an event listener about each.
//
// Floor F1.
package layer
