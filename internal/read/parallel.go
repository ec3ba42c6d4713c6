package read

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/fanin"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
)

// parallel reads several splits side by side. Each worker takes the next split
// when it is done with its own; batches come as they are ready.
type parallel struct {
	scan    *scan
	splits  []*split.Split
	next    atomic.Int64 // split to be taken
	done    atomic.Int64 // splits read to their end
	holding atomic.Int64 // workers with memory for a split
	results chan result
	cancel  context.CancelFunc
	workers sync.WaitGroup
	cur     arrow.RecordBatch
	err     error
	once    sync.Once
}

type result struct {
	rec arrow.RecordBatch // retained for the receiver
	err error
}

func newParallel(ctx context.Context, s *scan, splits []*split.Split, workers int) *parallel {
	ctx, cancel := context.WithCancel(ctx)
	p := &parallel{scan: s, splits: splits, results: make(chan result), cancel: cancel}
	p.workers.Add(workers)
	for range workers {
		go func() {
			defer p.workers.Done()
			p.work(ctx)
		}()
	}
	go func() {
		p.workers.Wait()
		close(p.results)
	}()
	return p
}

// work reads splits until there are none left, ctx ends, or one fails. Where memory is
// short for another one it leaves the rest to the workers that are reading.
func (p *parallel) work(ctx context.Context) {
	for {
		i := p.next.Load()
		if i >= int64(len(p.splits)) {
			return
		}
		most, release, ok, err := p.scan.reserve(ctx, p.splits[i], p.holding.Load() > 0)
		switch {
		case err != nil:
			p.send(ctx, result{err: err})
			return
		case !ok:
			return
		}
		p.holding.Add(1)
		if p.next.CompareAndSwap(i, i+1) {
			err = p.read(ctx, p.splits[i], most)
		}
		release()
		p.holding.Add(-1)
		if err != nil {
			p.send(ctx, result{err: err})
			return
		}
	}
}

func (p *parallel) read(ctx context.Context, sp *split.Split, most int64) error {
	r, err := p.scan.open(sp, most)
	if err != nil {
		return err
	}
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			p.done.Add(1)
			return r.Close()
		}
		if err != nil {
			r.Close()
			return err
		}
		rec.Retain()
		if !p.send(ctx, result{rec: rec}) {
			rec.Release()
			r.Close()
			return ctx.Err()
		}
	}
}

// send hands a result over; false when ctx ended first.
func (p *parallel) send(ctx context.Context, r result) bool {
	select {
	case p.results <- r:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *parallel) Schema() *arrow.Schema { return p.scan.out }

func (p *parallel) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if p.cur != nil {
		p.cur.Release()
		p.cur = nil
	}
	if p.err != nil {
		return nil, p.err
	}
	select {
	case r, ok := <-p.results:
		switch {
		case !ok && p.done.Load() < int64(len(p.splits)):
			// The workers left rows behind: the context of Open has ended.
			p.err = tarnerr.Wrap(tarnerr.Unavailable, "reading splits", context.Canceled)
		case !ok:
			p.err = io.EOF
		case r.err != nil:
			p.err = r.err
			p.cancel()
		default:
			p.cur = r.rec
			return p.cur, nil
		}
		return nil, p.err
	case <-ctx.Done():
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "reading splits", ctx.Err())
	}
}

// Close stops the workers and waits until they are gone.
func (p *parallel) Close() error {
	p.once.Do(func() {
		p.cancel()
		if p.cur != nil {
			p.cur.Release()
			p.cur = nil
		}
		for r := range p.results {
			if r.rec != nil {
				r.rec.Release()
			}
		}
		p.err = tarnerr.New(tarnerr.Closed, "reading splits", "reader is closed")
	})
	return nil
}

// What reading one file and one split holds at most, as far as it can be told
// beforehand: decoded batches and the pages behind them grow with the file up
// to some bound.
const (
	perFile  = 4 << 20
	perSplit = 2 << 20
)

// reserve takes the memory a split will need and says how much of it there is for its
// files. A split that needs more than readers may have, or have left, gets that, unless
// it is to have all.
func (s *scan) reserve(ctx context.Context, sp *split.Split, all bool) (most int64, release func(), ok bool, err error) {
	b := s.cfg.Budget
	if b == nil {
		return 0, func() {}, true, nil
	}
	need := int64(perSplit)
	if sp.RawConvertible {
		need += perFile
	} else {
		files := sp.Files
		if sp.Change != nil {
			files = slices.Concat(files, sp.Change.Before)
		}
		for _, f := range files {
			need += fanin.Cost(f.FileSize)
		}
	}
	taken, release, ok, err := b.ReserveReader(ctx, need, all)
	return max(taken-perSplit, taken/2, 1), release, ok, err
}
