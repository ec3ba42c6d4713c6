package budget

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/tarnerr"
)

// Budget is a number of bytes shared by everyone in a process. Those who wait
// are served in order. Safe for concurrent use.
//
// There are two kinds of holders. Most go on by themselves until they give back
// what they hold, or give it back when they are asked to. A reader goes on only
// when its consumer asks for more, who may be waiting for memory meanwhile. So
// readers together have half of the budget at most, and of the other half nobody
// ever waits for a reader: then everybody is served in the end.
type Budget struct {
	limit int64
	// readers lets readers in, as many as have room in their half; nil in itself.
	readers *Budget

	mu      sync.Mutex
	used    int64
	reading int64 // of used, what readers hold
	peak    int64
	waiters list.List // of *waiter
	reclaim func(context.Context) bool
	caches  []func(bytes int64) bool
}

type waiter struct {
	n      int64 // what it wants, and at the end has
	reader bool
	ready  chan struct{}
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
func New(bytes int64) *Budget {
	return &Budget{limit: bytes, readers: &Budget{limit: bytes / 2}}
}

// OnWait sets what is asked for memory when someone has to wait: f makes a holder
// give some back and reports whether one did. It is called side by side, by those
// who wait, without a lock, as long as it helps; it must not wait for the budget.
func (b *Budget) OnWait(f func(context.Context) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reclaim = f
}

// OnShortage adds a cache. f gives up about so many bytes, which are kept for speed
// alone, and reports whether it gave any; it is called side by side, without a lock,
// and must not wait.
func (b *Budget) OnShortage(f func(bytes int64) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caches = append(b.caches, f)
}

// Shed makes a cache give up about n bytes and reports whether one did: for those
// who would rather have that memory than wait or spill.
func (b *Budget) Shed(n int64) bool {
	b.mu.Lock()
	caches := b.caches
	b.mu.Unlock()
	return slices.ContainsFunc(caches, func(f func(int64) bool) bool { return f(n) })
}

// Contended reports that someone waits for what others than readers hold.
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
// (Unavailable) and when n is more than the whole budget (Invalid). Where n is more
// than half of the budget and readers are in the way, it takes what they leave,
// which is half of it at least: Size tells.
//
// Whoever waits should hold nothing that others wait for; one who can spill
// instead uses TryReserve or TryGrow.
func (b *Budget) Reserve(ctx context.Context, n int64) (*Reservation, error) {
	got, err := b.take(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	return &Reservation{b: b, n: got}, nil
}

// ReserveReader takes n bytes for a reader, at most half of the budget, waiting for
// whoever else holds too much. It never waits for other readers, whose consumer may be
// its own: where they hold so much that less is left, it takes what is left, or, with
// all, nothing and reports false. It fails when ctx ends (Unavailable).
// It tells how many it took; release gives them back, once, and may be called again.
func (b *Budget) ReserveReader(ctx context.Context, n int64, all bool) (taken int64, release func(), ok bool, err error) {
	if err := checkSize(n); err != nil {
		return 0, nil, false, err
	}
	n = min(n, b.readers.limit)
	if taken = b.readers.takeUpTo(n, all); taken < n && all {
		return 0, nil, false, nil
	}
	if err := b.wait(ctx, &waiter{n: taken, reader: true, ready: make(chan struct{})}); err != nil {
		b.readers.charge(-taken)
		return 0, nil, false, err
	}
	return taken, sync.OnceFunc(func() {
		b.mu.Lock()
		b.add(-taken, true)
		b.serve()
		b.mu.Unlock()
		b.readers.charge(-taken)
	}), true, nil
}

// takeUpTo takes n bytes or what is left of them; with all, n or nothing.
func (b *Budget) takeUpTo(n int64, all bool) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := min(n, b.limit-b.used)
	if got < n && all {
		return 0
	}
	b.add(got, false)
	return got
}

// TryReserve takes n bytes when they are free now and nobody waits.
func (b *Budget) TryReserve(n int64) (*Reservation, bool) {
	if !b.tryTake(n) {
		return nil, false
	}
	return &Reservation{b: b, n: n}, true
}

// take waits for n bytes on top of held ones and tells how many there are.
func (b *Budget) take(ctx context.Context, n, held int64) (int64, error) {
	if err := checkSize(n); err != nil {
		return 0, err
	}
	if n > b.limit-held {
		return 0, tarnerr.New(tarnerr.Invalid, reserving, "more than the whole memory budget", "bytes", n+held, "budget", b.limit).
			WithHint("Raise the memory setting (Config.Memory, --memory) or use smaller rows and batches.")
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	if err := b.wait(ctx, w); err != nil {
		return 0, err
	}
	return w.n, nil
}

const reserving = "reserving memory"

// wait queues w until it is served.
func (b *Budget) wait(ctx context.Context, w *waiter) error {
	want := w.n // who serves w may change it
	b.mu.Lock()
	e := b.waiters.PushBack(w)
	b.serve()
	reclaim := b.reclaim
	b.mu.Unlock()

	for !w.served() && (b.Shed(want) || reclaim != nil && reclaim(ctx)) {
	}
	if w.served() {
		return nil
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	if w.served() { // at the same moment: hand it on
		b.add(-w.n, w.reader)
	} else {
		b.waiters.Remove(e)
	}
	b.serve()
	b.mu.Unlock()
	return tarnerr.Wrap(tarnerr.Unavailable, reserving, ctx.Err(), "bytes", want, "used", b.Used(), "budget", b.limit)
}

func (b *Budget) tryTake(n int64) bool {
	if n < 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters.Len() > 0 || n > b.limit-b.used {
		return false
	}
	b.add(n, false)
	return true
}

// charge takes n bytes whether they are free or not; n may be negative.
func (b *Budget) charge(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(n, false)
	if n < 0 {
		b.serve()
	}
}

func (b *Budget) add(n int64, reader bool) {
	if b.used += n; reader {
		b.reading += n
	}
	b.peak = max(b.peak, b.used)
	invariants.Check(b.used >= 0 && b.reading >= 0, "INV-MEMORY-1", "%d bytes are held, %d by readers", b.used, b.reading)
}

// serve gives free bytes to those who wait, in order. A large request at the
// front holds back smaller ones behind it, so that it is served at all; but
// readers do not hold back what others have a right to.
func (b *Budget) serve() {
	readers := false
	var next *list.Element
	for e := b.waiters.Front(); e != nil; e = next {
		next = e.Next()
		w := e.Value.(*waiter)
		n, ok := b.grant(w, readers)
		switch {
		case ok:
			b.waiters.Remove(e)
			b.add(n, w.reader)
			w.n = n
			close(w.ready)
		case !w.reader:
			return
		default:
			readers = true
		}
	}
}

// grant is what one who waits may have now; readers says that some wait before it.
func (b *Budget) grant(w *waiter, readers bool) (n int64, ok bool) {
	free, others := b.limit-b.used, b.used-b.reading
	switch {
	case w.n <= free && !readers:
		return w.n, true
	case w.reader:
		return 0, false
	case w.n <= b.limit/2:
		return w.n, w.n <= b.limit/2-others
	}
	return min(w.n, free), others == 0 // but for readers nobody is in the way
}

func checkSize(n int64) error {
	if n < 0 {
		return tarnerr.New(tarnerr.Internal, reserving, "negative size", "bytes", n)
	}
	return nil
}
