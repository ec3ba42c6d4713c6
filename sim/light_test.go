//go:build race || !cgo

package sim

// full: run all seeds. Here it is the race detector, under which everything is
// slower, or a second run of the same tests without cgo.
const full = false
