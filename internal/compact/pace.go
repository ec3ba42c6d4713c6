package compact

import (
	"context"
	"sync"
	"time"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// Pace holds rewrites to so many bytes a second, all that share it together.
// Safe for concurrent use; a nil Pace holds nobody.
type Pace struct {
	env       env.Env
	perSecond int64

	mu   sync.Mutex
	free time.Time // when what was written so far is paid for
}

// NewPace allows so many bytes a second, at least one.
func NewPace(e env.Env, perSecond int64) *Pace { return &Pace{env: e, perSecond: max(1, perSecond)} }

// spend waits until n more bytes may be written. The first ones are free. A negative n
// takes back what was estimated too much, and waits for nothing.
func (p *Pace) spend(ctx context.Context, n int64) error {
	if p == nil || n == 0 {
		return nil
	}
	wait := p.owe(n)
	if n < 0 || wait <= 0 {
		return nil
	}
	if err := p.env.Sleep(ctx, wait); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, "holding a rewrite back", err)
	}
	return nil
}

// owe counts n more bytes, of which none wait: those do that come next. It returns how
// long what was counted before makes one wait. A negative n takes back what was estimated
// too much.
func (p *Pace) owe(n int64) (wait time.Duration) {
	if p == nil {
		return 0
	}
	now := p.env.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	wait = p.free.Sub(now)
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
	return wait
}
