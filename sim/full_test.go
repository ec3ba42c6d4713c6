//go:build !race && cgo

package sim

// full: run all seeds.
const full = true
