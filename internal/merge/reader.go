package merge

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// NewReader merges runs, which it owns and closes. Each run is sorted by
// cfg.Keys. The order of the runs counts as cfg.Ranked says, or else only among
// rows equal in key and sequence, where it decides as Java's reader does.
func NewReader(cfg Config, runs []batch.Reader) batch.Reader {
	c := cfg.withDefaults()
	if len(runs) == 1 {
		return &single{cfg: c, run: runs[0]}
	}
	s := survivors{cfg: c}
	for i, run := range runs {
		s.leaves = append(s.leaves, &leaf{reader: run, source: -1, rank: i})
	}
	r := &reader{survivors: s}
	if c.Engine.folds() {
		r.fold, r.err = NewFolder(cfg)
	}
	switch {
	case !c.fast() || c.Level != nil && r.fold != nil:
		r.steps = newGroups(&r.survivors)
	case r.fold != nil:
		r.steps = newRelay(&r.survivors)
	default:
		r.steps = newRace(&r.survivors)
	}
	return r
}

// steps is a way to walk the keys of the runs.
type steps interface {
	// step decides about some rows and adds those that survive to the survivors,
	// at most up to their room. It returns io.EOF when no rows are left.
	step(ctx context.Context) error
}

// reader merges two runs or more.
type reader struct {
	survivors
	steps steps
	ended bool
	err   error
}

func (r *reader) Schema() *arrow.Schema { return r.cfg.Schema }

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	release(&r.out)
	if r.err == nil {
		r.err = r.next(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

func (r *reader) next(ctx context.Context) error {
	for r.out == nil {
		for !r.full() && !r.ended {
			err := r.steps.step(ctx)
			if err == io.EOF {
				r.ended = true
			} else if err != nil {
				return err
			}
		}
		if r.chosen() == 0 {
			if r.ended {
				return io.EOF
			}
			r.forget() // as many batches as may wait, and no row of them stays
			continue
		}
		if err := r.gather(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) Close() error {
	r.err = tarnerr.New(tarnerr.Closed, "merging sorted runs", "reader is closed")
	return r.close()
}
