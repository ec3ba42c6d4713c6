package budget

import (
	"container/list"
	"context"
	"sync"

	"github.com/tarnlake/tarn/tarnerr"
)

// Budget is a number of bytes shared by everyone in a process. Those who wait
// are served in order. Safe for concurrent use.
type Budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	peak    int64
	waiters list.List // of *waiter
	reclaim func(context.Context) bool
}

type waiter struct {
	n     int64
	ready chan struct{}
}

func (w *waiter) served() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// New returns a budget of so many bytes.
func New(bytes int64) *Budget { return &Budget{limit: bytes} }

// OnWait sets what is asked for memory when someone has to wait: f makes a holder
// give some back and reports whether one did. It is called side by side, by those
// who wait, without a lock, as long as it helps; it must not wait for the budget.
func (b *Budget) OnWait(f func(context.Context) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reclaim = f
}

// Contended reports that someone waits.
func (b *Budget) Contended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters.Len() > 0
}

// Limit is the whole budget in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used is what is reserved now, in bytes. It is above Limit only while memory
// counted by an Allocator overdraws the budget.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Peak is the highest Used so far.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Reserve takes n bytes, waiting until they are free. It fails when ctx ends
// (Unavailable) and when n is more than the whole budget (Invalid).
//
// Whoever waits should hold nothing that others wait for; one who can spill
// instead uses TryReserve or TryGrow.
func (b *Budget) Reserve(ctx context.Context, n int64) (*Reservation, error) {
	if err := b.take(ctx, n, 0); err != nil {
		return nil, err
	}
	return &Reservation{b: b, n: n}, nil
}

// TryReserve takes n bytes when they are free now and nobody waits.
func (b *Budget) TryReserve(n int64) (*Reservation, bool) {
	if !b.tryTake(n) {
		return nil, false
	}
	return &Reservation{b: b, n: n}, true
}

// take waits for n bytes on top of held ones.
func (b *Budget) take(ctx context.Context, n, held int64) error {
	const op = "reserving memory"
	if err := checkSize(n); err != nil {
		return err
	}
	if n > b.limit-held {
		return tarnerr.New(tarnerr.Invalid, op, "more than the whole memory budget", "bytes", n+held, "budget", b.limit).
			WithHint("Raise the memory setting (Config.Memory, --memory) or use smaller rows and batches.")
	}
	b.mu.Lock()
	if b.fits(n) {
		b.add(n)
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	e := b.waiters.PushBack(w)
	reclaim := b.reclaim
	b.mu.Unlock()

	for reclaim != nil && !w.served() && reclaim(ctx) {
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	select {
	case <-w.ready: // served at the same moment: hand it on
		b.used -= n
	default:
		b.waiters.Remove(e)
	}
	b.serve()
	b.mu.Unlock()
	return tarnerr.Wrap(tarnerr.Unavailable, op, ctx.Err(), "bytes", n, "used", b.Used(), "budget", b.limit)
}

func (b *Budget) tryTake(n int64) bool {
	if n < 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fits(n) {
		return false
	}
	b.add(n)
	return true
}

// charge takes n bytes whether they are free or not; n may be negative.
func (b *Budget) charge(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(n)
	if n < 0 {
		b.serve()
	}
}

func (b *Budget) fits(n int64) bool { return b.waiters.Len() == 0 && n <= b.limit-b.used }

func (b *Budget) add(n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

// serve gives free bytes to those who wait, in order. A large request at the
// front holds back smaller ones behind it, so that it is served at all.
func (b *Budget) serve() {
	for e := b.waiters.Front(); e != nil; e = b.waiters.Front() {
		w := e.Value.(*waiter)
		if w.n > b.limit-b.used {
			return
		}
		b.waiters.Remove(e)
		b.add(w.n)
		close(w.ready)
	}
}

func checkSize(n int64) error {
	if n < 0 {
		return tarnerr.New(tarnerr.Internal, "reserving memory", "negative size", "bytes", n)
	}
	return nil
}
