package write

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// giveWay frees memory of the buffer, if it holds any: all of it by spilling, else
// that of the buckets that were left alone the longest. It reports whether rows went.
// A writer that fails by it tells its owner with the next call. Only who makes room
// for itself may wait for the budget: others give way because someone waits already,
// who may hold it.
func (w *Writer) giveWay(ctx context.Context, wait bool) (bool, error) {
	if w.failed != nil || w.closed || w.buffer.rows() == 0 {
		return false, nil
	}
	if w.spills() {
		err := w.spill(ctx)
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil { // nothing is lost yet
			return false, err
		}
		w.warn("spilling write buffer", err)
	}
	ctx = context.WithoutCancel(ctx)
	if w.single() {
		w.fail(w.flushOldest(ctx))
	} else {
		w.fail(w.flush(ctx, false, wait))
	}
	return true, nil
}

// single says that a buffer that is not spilled gives up single buckets: where that
// makes fewer and larger files. What is on disk goes as a whole, to make room there;
// and few append files stay open and grow from flush to flush.
func (w *Writer) single() bool {
	return len(w.runs) == 0 && (w.keyed || len(w.router.groups) > maxOpen)
}

// age is since when what the writer would give up was left alone, by the clock of
// the pool, and whether that is everything.
func (w *Writer) age() (last uint64, whole bool) {
	if w.spills() || !w.single() {
		return w.grown, true
	}
	// To look at each group costs little only now and then.
	if n := w.buffer.rows(); n < w.agedRows || n > w.agedRows+w.agedRows/8 {
		w.agedRows, w.aged = n, w.grown
		for _, g := range w.buffer.oldest() {
			w.aged = w.buffer.held[g].last
		}
	}
	return w.aged, false
}

// flushOldest writes the rows of the buckets that were left alone the longest, and keeps
// those of the others.
func (w *Writer) flushOldest(ctx context.Context) error {
	if err := w.buffer.join(); err != nil {
		return err
	}
	if err := w.restore(ctx, w.buffer.present()); err != nil { // at once, for it costs a scan
		return err
	}
	going := w.buffer.oldest()
	if err := w.flushBuckets(ctx, w.buffer.byGroup(len(w.router.groups)), going, w.cfg.Workers, false); err != nil {
		return err
	}
	if err := w.buffer.remove(going); err != nil {
		return tarnerr.Trace("flushing write buffer", err, "table", w.cfg.Table)
	}
	if w.buffer.rows() == 0 {
		w.empty()
	} else if w.reserved != nil {
		w.reserved.Shrink(w.reserved.Size() - w.buffer.bytes)
		w.pool.note(w)
	}
	return w.closeLargest(ctx)
}

// present are the groups that the buffer holds rows of.
func (b *buffer) present() []int {
	groups := make([]int, 0, len(b.held))
	for g, h := range b.held {
		if h.rows > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// oldest are the groups that were left alone the longest, with up to half of the rows,
// and one more where that is less than an eighth: for what stays is copied. Of those as
// old the largest go.
func (b *buffer) oldest() []int {
	groups := b.present()
	slices.SortFunc(groups, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.held[x].last, b.held[y].last), cmp.Compare(b.held[y].rows, b.held[x].rows), cmp.Compare(x, y))
	})
	rows := 0
	for i, g := range groups {
		if 8*rows >= b.rows() && 2*(rows+b.held[g].rows) > b.rows() {
			return groups[:i]
		}
		rows += b.held[g].rows
	}
	return groups
}

// remove drops the rows of some groups. Chunks that had any are copied without them, a
// few at a time, so that little more memory is needed meanwhile. Small batches have been
// joined. After an error the buffer can only be reset.
func (b *buffer) remove(groups []int) error {
	gone := make([]bool, len(b.held))
	for _, g := range groups {
		gone[g], b.held[g] = true, heldRows{}
	}
	old, owners := b.chunks, b.groups
	var kept []arrow.RecordBatch
	var refs []batch.Ref
	at, left, from := 0, 0, 0         // the next row; rows kept; the first chunk of refs
	settle := func(until int) error { // those before until, from which refs are kept
		copies, err := b.gather(old[from:until], refs)
		kept = append(kept, copies...)
		if err != nil {
			b.chunks = append(kept, old[from:]...)
			return err
		}
		for _, c := range old[from:until] {
			c.Release()
		}
		refs, from = refs[:0], until
		return nil
	}
	for i, c := range old {
		n, before := int(c.NumRows()), len(refs)
		for r := range n {
			if g := owners[at]; !gone[g] {
				refs = append(refs, batch.NewRef(i-from, r))
				owners[left] = g
				left++
			}
			at++
		}
		if len(refs) == n && before == 0 && n >= largeRows { // all of it stays, as it is
			refs = refs[:0]
			if err := settle(i); err != nil {
				return err
			}
			kept, from = append(kept, c), i+1
			continue
		}
		if len(refs) >= joinRows || i == len(old)-1 {
			if err := settle(i + 1); err != nil {
				return err
			}
		}
	}
	b.chunks, b.groups, b.bytes = kept, owners[:left], 0
	for _, c := range kept {
		b.bytes += cost(c)
	}
	return nil
}

// gather copies rows of chunks.
func (b *buffer) gather(chunks []arrow.RecordBatch, refs []batch.Ref) (out []arrow.RecordBatch, err error) {
	for step := len(refs); len(refs) > 0; {
		n := min(step, len(refs))
		rec, err := batch.Gather(b.mem, b.schema, chunks, nil, refs[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err != nil {
			return out, err
		}
		out, refs = append(out, rec), refs[n:]
	}
	return out, nil
}
