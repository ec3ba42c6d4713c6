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

// spend waits until n more bytes may be written. The first ones are free.
func (p *Pace) spend(ctx context.Context, n int64) error {
	if p == nil || n <= 0 {
		return nil
	}
	now := p.env.Now()
	p.mu.Lock()
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now)
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
	p.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	if err := p.env.Sleep(ctx, wait); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, "holding a rewrite back", err)
	}
	return nil
}
