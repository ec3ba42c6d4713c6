package merge

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// NewReader merges runs, which it owns and closes. Each run is sorted by
// cfg.Keys. The order of the runs counts only among rows equal in key and
// sequence, where it decides as Java's reader does.
func NewReader(cfg Config, runs []batch.Reader) batch.Reader {
	c := cfg.withDefaults()
	if len(runs) == 1 {
		return &single{cfg: c, run: runs[0]}
	}
	r := &reader{cfg: c}
	for _, run := range runs {
		r.leaves = append(r.leaves, &leaf{reader: run, source: -1})
	}
	r.tree = newTree(r.leaves, c.Keys.exact, seqOrder{c.Descending})
	return r
}

// reader merges two runs or more.
type reader struct {
	cfg    *Config
	leaves []*leaf
	tree   *tree
	// refs are the rows of the next batch within sources, which are retained.
	refs    []batch.Ref
	sources []arrow.RecordBatch
	slice   arrow.RecordBatch // to be returned after the rows of refs
	out     arrow.RecordBatch
	opened  bool
	streak  int // the leaf that won the last group alone, -1 none
	ended   bool
	err     error
}

func (r *reader) Schema() *arrow.Schema { return r.cfg.Schema }

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	release(&r.out)
	if r.err != nil {
		return nil, r.err
	}
	for {
		full := len(r.refs) >= r.cfg.BatchRows || len(r.sources) >= maxSources+len(r.leaves)
		if full || r.slice != nil || r.ended {
			switch {
			case len(r.refs) > 0:
				r.err = r.gather()
			case r.slice != nil:
				r.out, r.slice = r.slice, nil
			default:
				r.err = io.EOF
			}
			if r.err != nil {
				return nil, r.err
			}
			return r.out, nil
		}
		if err := r.step(ctx); err != nil {
			r.err = err
			return nil, err
		}
	}
}

// gather makes the next batch of the rows chosen, of fewer when they are too large.
func (r *reader) gather() error {
	for n := min(len(r.refs), r.cfg.BatchRows); ; n /= 2 {
		out, err := batch.Gather(r.cfg.Mem, r.cfg.Schema, r.sources, r.cfg.Output, r.refs[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			continue
		}
		if err != nil {
			return err
		}
		r.out = out
		r.refs = r.refs[:copy(r.refs, r.refs[n:])]
		if len(r.refs) == 0 {
			r.forget()
		}
		return nil
	}
}

// forget releases the sources.
func (r *reader) forget() {
	for i, s := range r.sources {
		s.Release()
		r.sources[i] = nil
	}
	r.sources = r.sources[:0]
	for _, l := range r.leaves {
		l.source = -1
	}
}

// step decides about the next key, or about a stretch of keys only one run has.
func (r *reader) step(ctx context.Context) error {
	if !r.opened {
		r.opened, r.streak = true, -1
		for i := len(r.leaves) - 1; i >= 0; i-- {
			if err := r.leaves[i].load(ctx, r.cfg); err != nil {
				return err
			}
			r.tree.settle(i)
		}
	}
	w := r.tree.winner()
	l := r.leaves[w]
	if l.done {
		r.ended = true
		return nil
	}
	if w == r.streak {
		if done, err := r.stretch(ctx, w); done || err != nil {
			return err
		}
	}
	r.tree.take()
	if r.tree.grouped() {
		r.streak = w
		r.keep(l, l.row)
	} else {
		r.streak = -1
		r.merge(l)
	}
	return r.advance(ctx)
}

// merge takes the remaining rows of the key whose first row l stands on and
// keeps the one that deduplication leaves.
func (r *reader) merge(l *leaf) {
	var last *leaf
	for {
		if !r.cfg.IgnoreDelete || l.kind[l.row]&1 == 0 {
			last = l
		}
		if r.tree.grouped() {
			break
		}
		l = r.leaves[r.tree.winner()]
		r.tree.take()
	}
	if last != nil {
		r.keep(last, last.row)
	}
}

// keep adds a row to the next batch unless it is a delete to be dropped.
func (r *reader) keep(l *leaf, row int) {
	if l.kind[row]&1 == 1 && !r.cfg.KeepDeletes {
		return
	}
	r.use(l)
	r.refs = append(r.refs, batch.NewRef(l.source, row))
}

// use makes a leaf's batch one of the sources.
func (r *reader) use(l *leaf) {
	if l.source < 0 {
		l.rec.Retain()
		l.source = len(r.sources)
		r.sources = append(r.sources, l.rec)
	}
}

// advance moves every leaf of the group just decided to its next row.
func (r *reader) advance(ctx context.Context) error {
	for r.tree.grouped() {
		w := r.tree.winner()
		if err := r.leaves[w].skip(ctx, r.cfg, 1); err != nil {
			return err
		}
		r.tree.renew(w)
		r.tree.settle(w)
	}
	return nil
}

// stretch decides about the rows of the winner that lie below the rows of all
// other leaves. It reports false when there are none, or too few to tell.
func (r *reader) stretch(ctx context.Context, w int) (bool, error) {
	l := r.leaves[w]
	n := l.rows() - l.row
	if bound, free := r.tree.bound(); !free {
		n = below(l.keys.prefix[l.row:], bound)
	}
	if n == 0 {
		r.streak = -1
		return false, nil
	}
	kinds := l.kind[l.row : l.row+n]
	clean := r.cfg.KeepDeletes || !retracts(kinds)
	switch {
	case n >= sliceRows && clean:
		part := batch.Slice(l.rec, int64(l.row), int64(l.row+n))
		r.slice = batch.Select(r.cfg.Schema, part, r.cfg.Output)
		part.Release()
	case clean:
		n = min(n, r.cfg.BatchRows-len(r.refs))
		r.use(l)
		r.refs = batch.AppendRange(r.refs, l.source, l.row, l.row+n)
	default:
		n = min(n, r.cfg.BatchRows-len(r.refs))
		for i := range n {
			r.keep(l, l.row+i)
		}
	}
	if err := l.skip(ctx, r.cfg, n); err != nil {
		return true, err
	}
	// The leaf need not play while it stays below all others.
	r.tree.renew(w)
	r.tree.settle(w)
	if r.tree.winner() != w {
		r.streak = -1
	}
	return true, nil
}

// below is the number of leading prefixes smaller than bound. Prefixes ascend:
// it doubles its steps, then halves them.
func below(prefix []uint64, bound uint64) int {
	lo, hi := 0, 1
	for hi <= len(prefix) && prefix[hi-1] < bound {
		lo, hi = hi, 2*hi
	}
	hi = min(hi, len(prefix)+1)
	// prefix[:lo] lie below; prefix[hi-1:] do not.
	for lo < hi-1 {
		mid := int(uint(lo+hi) / 2)
		if prefix[mid-1] < bound {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func (r *reader) Close() error {
	release(&r.out)
	release(&r.slice)
	r.forget()
	r.refs = nil
	var err error
	for _, l := range r.leaves {
		if e := l.reader.Close(); err == nil {
			err = e
		}
	}
	r.err = tarnerr.New(tarnerr.Closed, "merging sorted runs", "reader is closed")
	return err
}

func release(rec *arrow.RecordBatch) {
	if *rec != nil {
		(*rec).Release()
		*rec = nil
	}
}
