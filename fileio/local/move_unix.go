//go:build unix && !linux && !darwin

package local

// moveNoReplace moves src to dst in one step; it fails when dst exists.
func moveNoReplace(src, dst string) error { return linkNoReplace(src, dst) }
