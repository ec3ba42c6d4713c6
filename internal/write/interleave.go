package write

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
)

// interleaved reads runs of one group of a key table, each sorted by key and age, as
// one run: all rows, those of a key from the oldest to the newest. Runs come the
// oldest first, and of rows as old as each other those of the older run.
type interleaved struct {
	w    *Writer
	runs []*interleavedRun // all of them, to be closed
	heap []*interleavedRun // by the row they stand on
	step int

	opened  bool
	refs    []batch.Ref
	sources []arrow.RecordBatch // retained
	cur     arrow.RecordBatch
}

type interleavedRun struct {
	batch.Reader
	rank      int
	rec       arrow.RecordBatch
	row       int
	source    int // of rec among the sources, -1 none yet
	keys      *merge.Keys
	sequences *merge.Sequences // nil without sequence fields
}

// newInterleaved owns the runs.
func newInterleaved(w *Writer, runs []batch.Reader) batch.Reader {
	if len(runs) == 1 {
		return runs[0]
	}
	v := &interleaved{w: w, step: w.stepRows()}
	for i, r := range runs {
		v.runs = append(v.runs, &interleavedRun{Reader: r, rank: i, source: -1})
	}
	return v
}

func (v *interleaved) Schema() *arrow.Schema { return v.w.spillSchema }

func (v *interleaved) Next(ctx context.Context) (arrow.RecordBatch, error) {
	v.drop()
	if !v.opened {
		v.opened = true
		for _, r := range v.runs {
			if err := v.load(ctx, r); err != nil {
				return nil, err
			}
			if r.rec != nil {
				v.heap = append(v.heap, r)
			}
		}
		for i := len(v.heap)/2 - 1; i >= 0; i-- {
			v.sink(i)
		}
	}
	for len(v.refs) < v.step && len(v.heap) > 0 && len(v.sources) <= 2*len(v.runs) {
		if err := v.take(ctx); err != nil {
			return nil, err
		}
	}
	return v.gather()
}

// take takes the first row.
func (v *interleaved) take(ctx context.Context) error {
	r := v.heap[0]
	if r.source < 0 {
		r.rec.Retain()
		r.source = len(v.sources)
		v.sources = append(v.sources, r.rec)
	}
	v.refs = append(v.refs, batch.NewRef(r.source, r.row))
	if r.row++; r.row == int(r.rec.NumRows()) {
		if err := v.load(ctx, r); err != nil {
			return err
		}
		if r.rec == nil {
			last := len(v.heap) - 1
			v.heap[0] = v.heap[last]
			v.heap = v.heap[:last]
		}
	}
	v.sink(0)
	return nil
}

// load reads the next batch of a run; none when it has ended.
func (v *interleaved) load(ctx context.Context, r *interleavedRun) (err error) {
	r.row, r.source = 0, -1
	if r.rec, err = r.Next(ctx); err != nil {
		r.rec = nil
		if err == io.EOF {
			return nil
		}
		return err
	}
	o := v.w.order
	if r.keys, err = o.keys.Load(r.rec); err == nil && len(o.sequence) > 0 {
		r.sequences, err = merge.LoadSequences(o.sequence, o.descending, r.rec)
	}
	return err
}

// gather makes a batch of the rows taken, of fewer when they are too large.
func (v *interleaved) gather() (arrow.RecordBatch, error) {
	if len(v.refs) == 0 {
		return nil, io.EOF
	}
	for n := len(v.refs); ; n /= 2 {
		rec, err := batch.Gather(batch.Recycled(v.w.cfg.Mem), v.w.spillSchema, v.sources, nil, v.refs[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		v.cur = rec
		v.refs = v.refs[:copy(v.refs, v.refs[n:])]
		if len(v.refs) == 0 {
			v.forget()
		}
		return rec, nil
	}
}

// sink moves the run at i down to its place in the heap.
func (v *interleaved) sink(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(v.heap); child++ {
			if v.heap[child].before(v.heap[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		v.heap[i], v.heap[first] = v.heap[first], v.heap[i]
		i = first
	}
}

// before orders the rows that two runs stand on.
func (r *interleavedRun) before(o *interleavedRun) bool {
	c := merge.CompareKeys(r.keys, r.row, o.keys, o.row)
	if c == 0 && r.sequences != nil {
		c = merge.CompareSequences(r.sequences, r.row, o.sequences, o.row)
	}
	return c < 0 || c == 0 && r.rank < o.rank
}

func (v *interleaved) drop() {
	if v.cur != nil {
		v.cur.Release()
		v.cur = nil
	}
}

func (v *interleaved) forget() {
	for _, rec := range v.sources {
		rec.Release()
	}
	v.sources = v.sources[:0]
	for _, r := range v.runs {
		r.source = -1
	}
}

func (v *interleaved) Close() error {
	v.drop()
	v.forget()
	v.refs, v.heap, v.opened = nil, nil, true
	var first error
	for _, r := range v.runs {
		if err := r.Reader.Close(); first == nil {
			first = err
		}
	}
	return first
}
