// Package faultio makes calls of a storage backend fail, before or after their
// effect, as a plan says. For tests.
//
// Floor F1.
package faultio
