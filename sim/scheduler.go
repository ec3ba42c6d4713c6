package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/tarnerr"
)

// call is a storage call that waits to be admitted.
type call struct {
	p      *process
	client int // part of the process
	method string
	path   string
	// late makes the call's effect on the storage when its process no longer
	// waits for it; nil when a call cannot be late.
	late    func()
	due     int64 // step from which on the late effect may come
	changes bool
	verdict chan verdict // of length 1
}

// verdict is what the scheduler decides about a call it admits.
type verdict struct {
	fault faultio.Fault
	late  bool // the effect comes later, or never; the caller is told that nobody knows
	crash bool // the process dies in the call
}

// scheduler admits storage calls one by one.
type scheduler struct {
	c     *choices
	rates rates
	trace *trace

	mu      sync.Mutex
	waiting []*call
	late    []*call // effects under way whose callers have given up
	working int     // processes that have not ended
	asleep  int     // processes that wait for the clock
	stopped bool
	arrived chan struct{} // a call has come, or a process has ended

	steps   atomic.Int64 // calls admitted
	faults  atomic.Int64 // calls that failed
	crashes int
	expiry  bool               // there are expirers
	held    map[*process]int64 // calls of a process wait until the step
	last    *process
}

// rates say how often what happens, drawn per run.
type rates struct {
	fault   int   // of 1000 calls
	publish int   // percent: faults of calls that create a snapshot or an intent
	crashes int   // at most
	crash   int   // of 1000 calls
	stick   int   // percent: the process of the call before goes on
	hold    int   // of 1000 calls: a process is held back for a while
	clock   int   // percent: the clock moves although calls wait, when somebody sleeps
	forced  int64 // the step at which a fault comes if there was none before
}

// maxSteps ends a run that does not end by itself.
const maxSteps = 50_000

func newScheduler(c *choices, r rates, tr *trace) *scheduler {
	return &scheduler{c: c, rates: r, trace: tr, held: map[*process]int64{}}
}

// run admits calls until all processes have ended. It runs on the root of the
// bubble.
func (s *scheduler) run() {
	for {
		synctest.Wait()
		s.trace.settle()
		s.mu.Lock()
		waiting, working, asleep := len(s.waiting), s.working, s.asleep
		s.mu.Unlock()
		switch {
		case working == 0 && waiting == 0 && asleep == 0:
			return
		case s.steps.Load() > maxSteps:
			s.stop()
		case waiting == 0 && len(s.late) > 0 && s.c.percent(20):
			s.finishLate(s.c.below(len(s.late)))
		case waiting == 0:
			<-s.arrived // the clock runs until somebody wakes up
		case asleep > 0 && s.c.percent(s.rates.clock):
			s.moveClock()
		case s.ripe() >= 0 && s.c.percent(20):
			s.finishLate(s.ripe())
		default:
			s.admit(s.choose())
		}
	}
}

// moveClock lets time pass while calls wait: some of them take long, now and
// then longer than anybody waits for them.
func (s *scheduler) moveClock() {
	d := time.Duration(s.c.between(1, 50)) * time.Millisecond
	if s.c.below(100) == 0 {
		d = 90 * time.Second
	}
	s.trace.note("clock +" + d.String())
	time.Sleep(d)
}

// choose picks the call to be admitted next.
func (s *scheduler) choose() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Which of several processes came first is chance; their names are not.
	slices.SortStableFunc(s.waiting, inOrder)
	var free []int
	for i, c := range s.waiting {
		if s.held[c.p] <= s.steps.Load() {
			free = append(free, i)
		}
		if c.p == s.last && s.c.percent(s.rates.stick) {
			return s.take(i)
		}
	}
	if len(free) == 0 {
		return s.take(s.c.below(len(s.waiting)))
	}
	return s.take(free[s.c.below(len(free))])
}

func inOrder(a, b *call) int {
	return cmp.Or(cmp.Compare(a.p.number, b.p.number), cmp.Compare(a.client, b.client), cmp.Compare(a.method, b.method), cmp.Compare(a.path, b.path))
}

func (s *scheduler) take(i int) *call {
	c := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.last = c.p
	return c
}

// admit decides about a call and lets it go.
func (s *scheduler) admit(c *call) {
	step := s.steps.Add(1)
	if s.c.below(1000) < s.rates.hold {
		s.held[c.p] = step + int64(s.c.between(5, 80))
	}
	if s.expiry && isPlan(c.path) && s.c.percent(50) { // others work while it has a plan
		s.held[c.p] = step + int64(s.c.between(10, 80))
	}
	v := s.decide(c)
	if v.fault.When != faultio.Never || v.late {
		s.faults.Add(1)
		c.p.op.faults.Add(1)
	}
	if v.late {
		c.due = step + int64(pick(s.c, 3, 50, 300))
		s.late = append(s.late, c)
	}
	if v.crash {
		s.crashes++
	}
	c.verdict <- v
}

// decide draws a call's fate.
func (s *scheduler) decide(c *call) verdict {
	var v verdict
	if c.method == pass {
		return v
	}
	atomic := c.method == "create-if-absent"
	roll := s.c.below(1000)
	faulty := roll < s.rates.fault || atomic && s.c.percent(s.rates.publish)
	if s.crashes < s.rates.crashes && c.p.mortal {
		v.crash = roll >= 1000-s.rates.crash || atomic && s.c.percent(s.rates.publish/2)
	}
	if s.expiry && c.method == "delete" && c.p.mortal && s.crashes < max(1, s.rates.crashes) && s.c.percent(10) {
		v.crash = true
	}
	if !faulty && s.faults.Load() == 0 && s.steps.Load() >= s.rates.forced {
		faulty = true
	}
	if !faulty && !v.crash {
		return v
	}
	kinds := 1 // before
	if c.changes {
		kinds = 4
		if c.late == nil {
			kinds = 3
		}
	}
	switch s.c.below(kinds) {
	case 0:
		v.fault = faultio.Fault{When: faultio.Before}
	case 1:
		v.fault = faultio.Fault{When: faultio.After}
		if c.method == "write" && s.c.percent(50) {
			v.fault.When = faultio.Halfway
		}
	case 2:
		v.fault = faultio.Fault{When: faultio.Before, Kind: tarnerr.Ambiguous, Cause: "the request was lost"}
	case 3:
		v.late = true
	}
	return v
}

// ripe is the first late effect that may come now, -1 when there is none.
func (s *scheduler) ripe() int {
	slices.SortStableFunc(s.late, inOrder)
	return slices.IndexFunc(s.late, func(c *call) bool { return c.due <= s.steps.Load() })
}

// finishLate makes the effect of a call whose caller has given up on it, or
// drops it.
func (s *scheduler) finishLate(i int) {
	slices.SortStableFunc(s.late, inOrder)
	c := s.late[i]
	s.late = slices.Delete(s.late, i, i+1)
	word := "dropped"
	if s.c.percent(80) {
		word = "done"
		c.late()
	}
	s.trace.call(s.steps.Load(), c, "late: "+word)
}

// wait hands in a call and waits until it is admitted. false means that its
// context has ended first: the call is under way, and nobody waits for it.
func (s *scheduler) wait(ctx context.Context, c *call) (verdict, bool) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return verdict{fault: faultio.Fault{When: faultio.Before, Cause: "the run is over"}}, true
	}
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	s.tell()
	select {
	case v := <-c.verdict:
		return v, true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, c); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	if c.late != nil {
		s.late = append(s.late, c)
	}
	s.faults.Add(1)
	c.p.op.faults.Add(1)
	return verdict{}, false
}

// tell wakes the scheduler up.
func (s *scheduler) tell() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// stop fails all calls from now on, so that everybody ends.
func (s *scheduler) stop() {
	s.trace.violate("the run did not end after %d steps", maxSteps)
	s.mu.Lock()
	s.stopped = true
	calls := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	s.steps.Store(0)
	for _, c := range calls {
		c.verdict <- verdict{fault: faultio.Fault{When: faultio.Before, Cause: "the run is over"}}
	}
}

func (s *scheduler) begin() { s.change(1, 0) }
func (s *scheduler) end()   { s.change(-1, 0); s.tell() }

func (s *scheduler) change(working, asleep int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working += working
	s.asleep += asleep
}

// sleep waits on the bubble's clock; false when over was closed before.
func (s *scheduler) sleep(ctx context.Context, d time.Duration, over <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	s.change(0, 1)
	defer s.change(0, -1)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return errCrashed
	}
}
