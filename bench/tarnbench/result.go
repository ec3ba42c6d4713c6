package main

import (
	"fmt"
	"slices"
	"time"
)

// clock measures wall and CPU time.
type clock struct {
	start time.Time
	cpu   time.Duration
}

func startClock() clock { return clock{time.Now(), cpuTime()} }

func (c clock) stop() (wall, cpu time.Duration) { return time.Since(c.start), cpuTime() - c.cpu }

// result prints one measurement; more is further JSON members, with commas before each.
func result(metric, variant string, rows int64, wall, cpu time.Duration, more string) {
	fmt.Printf("RESULT {\"metric\":%q,\"variant\":%q,\"rows\":%d,\"secs\":%.4f,\"cpu\":%.3f%s}\n",
		metric, variant, rows, wall.Seconds(), cpu.Seconds(), more)
}

// latencies prints the distribution of the times of single operations.
func latencies(metric, variant string, each []time.Duration, more string) {
	sorted := slices.Clone(each)
	slices.Sort(sorted)
	n := len(sorted)
	var sum time.Duration
	for _, t := range sorted {
		sum += t
	}
	result(metric, variant, int64(n), sum, 0, fmt.Sprintf(`,"first_ms":%.3f,"p50_ms":%.3f,"p99_ms":%.3f,"min_ms":%.3f,"max_ms":%.3f%s`,
		ms(each[0]), ms(sorted[n/2]), ms(sorted[min(n*99/100, n-1)]), ms(sorted[0]), ms(sorted[n-1]), more))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// nth names iterations: the first of a process is cold.
func nth(i int) string {
	if i == 0 {
		return "cold"
	}
	return fmt.Sprintf("warm%d", i)
}
