package sim

import "math/rand/v2"

// choices is where every decision of a run comes from, so that a run can be
// written down and repeated. Not safe for concurrent use: it is asked while the
// scenario is laid out, and then only by the scheduler.
type choices struct {
	rnd   *rand.Rand
	given []uint32 // decisions prescribed by a trace, used up first
	taken []uint32 // decisions made
	stray int      // prescribed decisions that no longer fit
}

func newChoices(seed uint64, given []uint32) *choices {
	return &choices{rnd: rand.New(rand.NewPCG(seed, 0x7a61)), given: given}
}

// below decides on a number of [0,n).
func (c *choices) below(n int) int {
	if n <= 1 {
		return 0
	}
	v := c.rnd.IntN(n)
	if i := len(c.taken); i < len(c.given) {
		if v = int(c.given[i]); v >= n {
			v %= n
			c.stray++
		}
	}
	c.taken = append(c.taken, uint32(v))
	return v
}

// between decides on a number of [lo,hi].
func (c *choices) between(lo, hi int) int { return lo + c.below(hi-lo+1) }

// percent decides yes in p of 100 cases.
func (c *choices) percent(p int) bool { return p > 0 && c.below(100) < p }

// pick decides on one of several values.
func pick[T any](c *choices, of ...T) T { return of[c.below(len(of))] }
