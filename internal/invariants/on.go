//go:build invariants

package invariants

import "fmt"

// Enabled guards assertions whose condition costs something.
const Enabled = true

// Check panics in builds with the tag invariants when ok is false. id is the
// invariant's number, INV-WRITE-1.
func Check(ok bool, id, format string, args ...any) {
	if !ok {
		panic(id + " broken: " + fmt.Sprintf(format, args...))
	}
}
