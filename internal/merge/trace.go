package merge

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// Trace walks the keys of runs as a merge does, but decides nothing: it gives all
// rows of each key with the level they come from, for those who tell what a merge
// changes. Not safe for concurrent use.
type Trace struct {
	survivors
	tree   *tree
	level  func(run int) int32
	levels []int32 // of the batches the leaves stand in
	opened bool
	out    Traced
}

// Traced are the rows of some keys.
type Traced struct {
	Sources []arrow.RecordBatch
	Rows
	Levels []int32 // of Rows.Refs
}

// NewTrace walks runs, which it owns and closes; cfg is as for [NewReader]. level
// says of which level the batch is that a run gave last.
func NewTrace(cfg Config, runs []batch.Reader, level func(run int) int32) *Trace {
	t := &Trace{survivors: survivors{cfg: cfg.withDefaults()}, level: level, levels: make([]int32, len(runs))}
	for i, run := range runs {
		t.leaves = append(t.leaves, &leaf{reader: run, source: -1, rank: i})
	}
	t.tree = newTree(t.leaves, t.cfg.Keys.exact, t.cfg.order())
	return t
}

// Next gives the rows of the next keys, in the order of the keys, or io.EOF. They
// are valid until the next Next or Close.
func (t *Trace) Next(ctx context.Context) (*Traced, error) {
	t.forget()
	t.rows.Refs, t.rows.Ends, t.rows.Kinds, t.out.Levels = t.rows.Refs[:0], t.rows.Ends[:0], t.rows.Kinds[:0], t.out.Levels[:0]
	if !t.opened {
		for i := len(t.leaves) - 1; i >= 0; i-- {
			if err := t.skip(ctx, i, 0); err != nil {
				return nil, err
			}
			t.tree.settle(i)
		}
		t.opened = true
	}
	for len(t.rows.Ends) < t.cfg.BatchRows && len(t.sources) < maxSources+len(t.leaves) {
		w := t.tree.winner()
		if t.leaves[w].done {
			break
		}
		for {
			t.tree.take()
			t.add(w)
			if t.tree.grouped() {
				break
			}
			w = t.tree.winner()
		}
		t.rows.Ends = append(t.rows.Ends, len(t.rows.Refs))
		for t.tree.grouped() {
			w := t.tree.winner()
			if err := t.skip(ctx, w, 1); err != nil {
				return nil, err
			}
			t.tree.renew(w)
			t.tree.settle(w)
		}
	}
	if len(t.rows.Ends) == 0 {
		return nil, io.EOF
	}
	t.out.Sources, t.out.Rows = t.sources, t.rows
	return &t.out, nil
}

func (t *Trace) add(w int) {
	l := t.leaves[w]
	t.rows.Refs = append(t.rows.Refs, batch.NewRef(t.use(l), l.row))
	t.rows.Kinds = append(t.rows.Kinds, l.kind[l.row])
	t.out.Levels = append(t.out.Levels, t.levels[w])
}

// skip moves a leaf n rows on, to its first row when it has not begun.
func (t *Trace) skip(ctx context.Context, w, n int) error {
	l := t.leaves[w]
	before := l.rec
	if err := l.skip(ctx, t.cfg, n); err != nil {
		return err
	}
	if l.rec != before && l.rec != nil {
		t.levels[w] = t.level(w)
	}
	return nil
}

// Close closes the runs.
func (t *Trace) Close() error { return t.close() }
