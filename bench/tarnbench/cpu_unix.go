//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used of all CPUs so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
