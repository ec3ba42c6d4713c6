//go:build !invariants

package invariants

// Enabled guards assertions whose condition costs something.
const Enabled = false

// Check panics in builds with the tag invariants when ok is false. id is the
// invariant's number, INV-WRITE-1.
func Check(ok bool, id, format string, args ...any) {}
