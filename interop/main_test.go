//go:build !interop

package interop

import "testing"

func run(m *testing.M) int { return m.Run() }
