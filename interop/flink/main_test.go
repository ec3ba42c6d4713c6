//go:build !interopall

package flink

import "testing"

func runAll(m *testing.M) int { return m.Run() }
