package write

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/types"
)

// reduced makes one row of all rows of each key, which it reads by key and age.
type reduced struct {
	w      *Writer
	in     batch.Reader
	folder *merge.Folder // nil: the newest row stays
	ended  bool

	// Rows read and not yet merged: those of whole keys, which ends bound, then those
	// of the key that more may come of.
	sources []arrow.RecordBatch // retained
	refs    []batch.Ref
	kinds   []int8
	ends    []int
	keys    *merge.Keys // of the youngest source
	cur     arrow.RecordBatch
}

// mostOfKey is how many rows of one key wait to be merged together. Of more the
// first ones are merged before the others, lest a key fills the memory.
const mostOfKey = 64 << 10

// newReduced owns in.
func newReduced(w *Writer, in batch.Reader) (batch.Reader, error) {
	r := &reduced{w: w, in: in}
	if !w.order.folds() {
		return r, nil
	}
	cfg := merge.Config{Kind: bufferKind, KeepDeletes: true, Schema: w.spillSchema, Mem: batch.Recycled(w.cfg.Mem)}
	for i := range w.spillSchema.NumFields() {
		cfg.Output = append(cfg.Output, i)
	}
	err := w.order.rules.Apply(&cfg, append(w.bufferFields(), types.SequenceNumberField()))
	if err == nil {
		r.folder, err = merge.NewFolder(cfg)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return r, nil
}

func (r *reduced) Schema() *arrow.Schema { return r.w.spillSchema }

func (r *reduced) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	for r.cur == nil {
		var err error
		switch {
		case len(r.ends) > 0:
			r.cur, err = r.merge()
		case r.ended:
			err = io.EOF
		default:
			err = r.read(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.cur, nil
}

// read takes the next batch in.
func (r *reduced) read(ctx context.Context) error {
	if len(r.refs) > mostOfKey {
		if err := r.shorten(); err != nil {
			return err
		}
	}
	rec, err := r.in.Next(ctx)
	if err == io.EOF {
		if r.ended = true; len(r.refs) > 0 {
			r.ends = append(r.ends, len(r.refs))
		}
		return nil
	}
	if err != nil {
		return err
	}
	keys, err := r.w.order.keys.Load(rec)
	if err != nil {
		return err
	}
	rec.Retain()
	r.sources = append(r.sources, rec)
	for i, kind := range rec.Column(bufferKind).(*array.Int8).Int8Values() {
		if n := len(r.refs); n > 0 && merge.CompareKeys(r.keys, r.refs[n-1].Row(), keys, i) != 0 {
			r.ends = append(r.ends, n)
		}
		r.refs = append(r.refs, batch.NewRef(len(r.sources)-1, i))
		r.kinds = append(r.kinds, kind)
		r.keys = keys
	}
	return nil
}

// merge makes a batch of whole keys, nil when nothing comes out of them.
func (r *reduced) merge() (arrow.RecordBatch, error) {
	for n := len(r.ends); ; n /= 2 {
		rec, err := r.rowsOf(n)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.forget(n)
		return rec, nil
	}
}

// rowsOf merges the first n keys.
func (r *reduced) rowsOf(n int) (arrow.RecordBatch, error) {
	if r.folder == nil {
		last := make([]batch.Ref, n)
		for i, end := range r.ends[:n] {
			last[i] = r.refs[end-1]
		}
		return batch.Gather(batch.Recycled(r.w.cfg.Mem), r.w.spillSchema, r.sources, nil, last)
	}
	rows := r.ends[n-1]
	rec, _, err := r.folder.Fold(r.sources, merge.Rows{Refs: r.refs[:rows], Ends: r.ends[:n], Kinds: r.kinds[:rows]})
	return rec, err
}

// forget drops the rows of the first n keys.
func (r *reduced) forget(n int) {
	rows := r.ends[n-1]
	r.refs = r.refs[:copy(r.refs, r.refs[rows:])]
	r.kinds = r.kinds[:copy(r.kinds, r.kinds[rows:])]
	r.ends = r.ends[:copy(r.ends, r.ends[n:])]
	for i := range r.ends {
		r.ends[i] -= rows
	}
	gone := len(r.sources)
	if len(r.refs) > 0 {
		gone = r.refs[0].Source()
	}
	for _, rec := range r.sources[:gone] {
		rec.Release()
	}
	r.sources = r.sources[:copy(r.sources, r.sources[gone:])]
	for i, ref := range r.refs {
		r.refs[i] = batch.NewRef(ref.Source()-gone, ref.Row())
	}
}

// shorten merges the rows of the key that more may come of.
func (r *reduced) shorten() error {
	r.ends = append(r.ends, len(r.refs))
	rec, err := r.rowsOf(1)
	if err != nil {
		return err
	}
	if r.forget(1); rec == nil {
		return nil
	}
	r.sources = append(r.sources, rec)
	r.refs, r.kinds = append(r.refs, batch.NewRef(0, 0)), append(r.kinds, rec.Column(bufferKind).(*array.Int8).Value(0))
	r.keys, err = r.w.order.keys.Load(rec)
	return err
}

func (r *reduced) drop() {
	if r.cur != nil {
		r.cur.Release()
		r.cur = nil
	}
}

func (r *reduced) Close() error {
	r.drop()
	for _, rec := range r.sources {
		rec.Release()
	}
	r.sources, r.refs, r.kinds, r.ends, r.ended = nil, nil, nil, nil, true
	return r.in.Close()
}
