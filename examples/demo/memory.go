package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// peakMemory is the most memory this process ever held, as the system counts it
// where it can be asked (Linux), else what the Go runtime took.
func peakMemory() string {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			var kb int
			if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
				return fmt.Sprintf("%d MiB", kb/1024)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d MiB (Go runtime)", m.Sys>>20)
}
