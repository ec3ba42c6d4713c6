package commit

import (
	"math"
	"time"
)

// Retry limits how often and how fast a lost race is run again.
type Retry struct {
	MaxRetries int           // commit.max-retries
	Timeout    time.Duration // commit.timeout; 0 = none
	MinWait    time.Duration // commit.min-retry-wait
	MaxWait    time.Duration // commit.max-retry-wait
}

// DefaultRetry is Paimon's default.
func DefaultRetry() Retry {
	return Retry{MaxRetries: 10, MinWait: 10 * time.Millisecond, MaxWait: 10 * time.Second}
}

// again decides whether another try may follow after retries retries and elapsed time.
func (r Retry) again(retries int, elapsed time.Duration) bool {
	if r.Timeout > 0 && elapsed > r.Timeout {
		return false
	}
	return retries < r.MaxRetries
}

// wait is the pause before retry number retry (from 0): the shortest wait
// doubled each time up to the longest, and up to a fifth more by chance, a
// number in [0,1), so that those who lost together do not meet again.
func (r Retry) wait(retry int, chance float64) time.Duration {
	w := math.Min(float64(r.MinWait)*math.Pow(2, float64(retry)), float64(r.MaxWait))
	return time.Duration(w * (1 + 0.2*chance))
}
