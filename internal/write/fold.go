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

// folds says that the merge engine makes a row out of all rows of a key, where
// deduplication chooses one of them.
func (o *orderer) folds() bool { return o.rules.Engine != merge.Deduplicate }

// bufferFields are the columns of the buffer of a key table.
func (w *Writer) bufferFields() []types.Field {
	return append([]types.Field{types.ValueKindField()}, w.fields...)
}

// folded reads the rows of one group that are in memory as a sorted run: merged by
// an engine that needs all rows of a key, with sequence numbers.
type folded struct {
	w      *Writer
	folder *merge.Folder
	kinds  [][]int8 // of the buffer's chunks
	rows   []batch.Ref
	places []uint32 // of rows, key after key
	ends   []int    // of the keys in places
	from   int      // where the next key begins
	base   int64
	step   int // keys at a time

	refs  []batch.Ref
	kind  []int8
	until []int
	cur   arrow.RecordBatch
}

// newFolded reads the rows of a group whose first one has the sequence number base.
func (w *Writer) newFolded(rows []batch.Ref, keys *loaded, scratch *[]item, base int64, step int) (*folded, error) {
	cfg := merge.Config{
		Kind: bufferKind, KeepDeletes: true, Schema: w.buffer.schema, Output: make([]int, w.buffer.schema.NumFields()),
		Mem: batch.Recycled(w.cfg.Mem),
	}
	for i := range cfg.Output {
		cfg.Output[i] = i
	}
	if err := w.order.rules.Apply(&cfg, w.bufferFields()); err != nil {
		return nil, err
	}
	f := &folded{w: w, rows: rows, base: base, step: step}
	var err error
	if f.folder, err = merge.NewFolder(cfg); err != nil {
		return nil, err
	}
	for _, c := range w.buffer.chunks {
		f.kinds = append(f.kinds, c.Column(bufferKind).(*array.Int8).Int8Values())
	}
	f.places, f.ends = keys.grouped(rows, scratch)
	return f, nil
}

func (f *folded) Schema() *arrow.Schema { return f.w.spillSchema }

func (f *folded) Next(ctx context.Context) (arrow.RecordBatch, error) {
	f.drop()
	for f.cur == nil {
		if len(f.ends) == 0 {
			return nil, io.EOF
		}
		n := min(f.step, len(f.ends))
		err := f.next(n)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			f.step = n / 2
			continue
		}
		if err != nil {
			return nil, err
		}
		f.from = f.ends[n-1]
		f.ends = f.ends[n:]
	}
	return f.cur, nil
}

// next makes a batch of the next n keys; none when nothing comes out of them.
func (f *folded) next(n int) error {
	places := f.places[f.from:f.ends[n-1]]
	f.refs, f.kind, f.until = f.refs[:0], f.kind[:0], f.until[:0]
	for _, p := range places {
		r := f.rows[p]
		f.refs, f.kind = append(f.refs, r), append(f.kind, f.kinds[r.Source()][r.Row()])
	}
	for _, end := range f.ends[:n] {
		f.until = append(f.until, end-f.from)
	}
	rec, last, err := f.folder.Fold(f.w.buffer.chunks, merge.Rows{Refs: f.refs, Ends: f.until, Kinds: f.kind})
	if err != nil || rec == nil {
		return err
	}
	defer rec.Release()
	numbers := make([]int64, len(last))
	for i, at := range last {
		numbers[i] = f.base + int64(places[at])
	}
	f.cur = f.w.withSequence(rec, numbers)
	return nil
}

func (f *folded) drop() {
	if f.cur != nil {
		f.cur.Release()
		f.cur = nil
	}
}

func (f *folded) Close() error {
	f.drop()
	f.ends = nil
	return nil
}
