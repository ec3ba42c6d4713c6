package write

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/tarnerr"
)

// Pool is the writers of all tables of a process under its one memory budget.
// When that is full, what was left alone the longest gives way, whoever asks for the
// memory: buffers that spill as a whole, of others single buckets. Safe for
// concurrent use.
//
// Whoever waits for the budget holds nothing of it, and whoever is done with a
// call while others wait gives way at its end: so writers cannot wait for each
// other.
type Pool struct {
	budget *budget.Budget
	// slots are taken by compactions, of which so many run at a time, and more of
	// small ones, which wait for the storage most of the time.
	slots, small chan struct{}

	clock   atomic.Uint64 // goes on with each batch that a writer takes
	mu      sync.Mutex
	members map[*Writer]*member
}

// member is what the pool knows of a writer.
type member struct {
	held  int64  // bytes of its buffer
	last  uint64 // since when what it would give up was left alone
	whole bool   // it gives up everything
}

// NewPool makes the pool of a budget, of which there is one. So many compactions
// run at a time as there are workers.
func NewPool(b *budget.Budget, workers int) *Pool {
	p := newPool(workers)
	p.budget, p.members = b, map[*Writer]*member{}
	b.OnWait(func(ctx context.Context) bool {
		gave, err := p.evict(ctx, nil)
		return gave && err == nil
	})
	return p
}

func newPool(workers int) *Pool {
	workers = max(1, workers)
	return &Pool{slots: make(chan struct{}, workers), small: make(chan struct{}, workers*syncLanes)}
}

// grow takes n more bytes for the buffer of w, whose turn it is. Before it waits,
// own makes w itself give way; it reports false when it cannot.
func (p *Pool) grow(ctx context.Context, w *Writer, n int64, own func(context.Context) (bool, error)) error {
	const op = "buffering rows"
	if p.budget == nil {
		return nil
	}
	for w.reserved == nil || !w.reserved.TryGrow(n) {
		if w.reserved == nil {
			if r, ok := p.budget.TryReserve(n); ok {
				w.reserved = r
				break
			}
		}
		if p.budget.Shed(n) {
			continue
		}
		gave, err := p.evict(ctx, w)
		if err == nil && !gave {
			gave, err = own(ctx)
		}
		if err != nil {
			return err
		}
		if !gave {
			return tarnerr.Trace(op, p.wait(ctx, w, n))
		}
	}
	return nil
}

func (p *Pool) wait(ctx context.Context, w *Writer, n int64) (err error) {
	if w.reserved != nil {
		return w.reserved.Grow(ctx, n)
	}
	w.reserved, err = p.budget.Reserve(ctx, n)
	return err
}

// smallUnit is up to how many bytes of files a compaction is small.
const smallUnit = 2 << 20

// begin waits until a compaction of so many bytes may start; end is its end.
func (p *Pool) begin(ctx context.Context, bytes int64) (end func(), err error) {
	slots := p.slots
	if bytes <= smallUnit {
		slots = p.small
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "waiting for other compactions", ctx.Err())
	}
}

// note keeps what w holds now.
func (p *Pool) note(w *Writer) {
	if p.budget == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.holds() {
		delete(p.members, w)
		return
	}
	m := p.members[w]
	if m == nil {
		m = &member{}
		p.members[w] = m
	}
	m.held = w.reserved.Size()
	m.last, m.whole = w.age()
}

// evict makes one of the writers give way, other than w, if w is not the one to
// do so itself. It reports false when none can: they have nothing, or are at work
// and will find at its end that others wait.
func (p *Pool) evict(ctx context.Context, w *Writer) (bool, error) {
	for _, victim := range p.victims(w) {
		if victim == w {
			return false, nil
		}
		if !victim.tryEnter() {
			continue
		}
		gave, err := victim.giveWay(ctx, false)
		// Whoever asks must not wait for a compaction, which may wait for memory.
		if gave && victim.cfg.Workers > 1 {
			victim.fail(victim.triggerAll(ctx, false, false))
		}
		victim.exit()
		if gave || err != nil {
			return gave, err
		}
	}
	return false, nil
}

// share is which part of the budget makes a buffer worth more than its age.
const share = 16

// victims are the writers in the order they are to give way: of those that hold a
// good part of the budget the one that would give up what was left alone the longest,
// then the largest. All that w holds is young, for it grows now; its buckets may be old.
func (p *Pool) victims(w *Writer) []*Writer {
	type entry struct {
		w *Writer
		member
	}
	p.mu.Lock()
	all := make([]entry, 0, len(p.members))
	for v, m := range p.members {
		e := entry{v, *m}
		if v == w && m.whole {
			e.last = math.MaxUint64
		}
		all = append(all, e)
	}
	p.mu.Unlock()
	large := func(e entry) bool { return e.held >= p.budget.Limit()/share }
	slices.SortFunc(all, func(a, b entry) int {
		switch {
		case large(a) != large(b):
			if large(a) {
				return -1
			}
			return 1
		case !large(a):
			if c := cmp.Compare(b.held, a.held); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.last, b.last)
	})
	out := make([]*Writer, len(all))
	for i, e := range all {
		out[i] = e.w
	}
	return out
}

// enter takes the turn of a writer: a call of its owner, or an eviction.
func (w *Writer) enter(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return tarnerr.Wrap(tarnerr.Unavailable, "waiting for an eviction of the write buffer", ctx.Err(), "table", w.cfg.Table)
	}
}

func (w *Writer) tryEnter() bool {
	select {
	case w.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (w *Writer) exit() { <-w.turn }

// leave ends a call of the owner. Who holds memory that others wait for gives way
// now, for nobody knows when the next call comes.
func (w *Writer) leave(ctx context.Context) {
	for {
		gives := w.holds()
		for gives && w.pool.budget.Contended() {
			gave, _ := w.giveWay(context.WithoutCancel(ctx), false)
			gives = gave && w.holds()
		}
		w.exit()
		// One may have begun to wait in between and found this writer at work.
		if !gives || !w.pool.budget.Contended() || !w.tryEnter() {
			return
		}
	}
}

// holds reports that the writer holds memory of the budget.
func (w *Writer) holds() bool { return w.reserved != nil && w.reserved.Size() > 0 }
