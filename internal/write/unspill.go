package write

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/types"
)

// lane is one of the goroutines of a flush with what it reuses from bucket to bucket.
type lane struct {
	scratch []item
	cursors []*spill.Cursor // of the spilled runs
}

func (w *Writer) newLane() *lane {
	l := &lane{}
	for _, r := range w.runs {
		l.cursors = append(l.cursors, r.file.NewCursor(batch.Recycled(w.cfg.Mem)))
	}
	return l
}

func (l *lane) close() {
	for _, c := range l.cursors {
		c.Close()
	}
}

// spilledRows is how many rows of group g are on disk.
func (w *Writer) spilledRows(g int) int64 {
	var n int64
	for _, r := range w.runs {
		n += r.part(g).rows
	}
	return n
}

// parts are the readers of a group's spilled rows, the oldest first.
func (w *Writer) parts(l *lane, g int) []batch.Reader {
	var out []batch.Reader
	for i, r := range w.runs {
		if p := r.part(g); p.rows > 0 {
			out = append(out, l.cursors[i].Rows(w.spillSchema, p.first, p.rows))
		}
	}
	return out
}

// allRows reads all rows of a group as they came, those that are spilled and those in
// memory, by key and then by age. The caller closes it.
func (w *Writer) allRows(l *lane, g int, rows []batch.Ref, keys *loaded, base int64) batch.Reader {
	runs := w.parts(l, g)
	if len(rows) > 0 {
		runs = append(runs, &buffered{w: w, rows: rows, places: keys.inOrder(rows, &l.scratch), base: base, step: w.stepRows()})
	}
	return newInterleaved(w, runs)
}

// stepRows is how many rows are read at a time of those in memory.
func (w *Writer) stepRows() int {
	if w.blockRows == 0 { // nothing has spilled
		return flushRows
	}
	return w.blockRows
}

// merged merges runs of one group of a key table, the oldest first: columns and
// order are those of spilled rows. The caller closes it.
func (w *Writer) merged(runs []batch.Reader) (batch.Reader, error) {
	n := w.spillSchema.NumFields()
	columns := make([]int, n)
	for i := range columns {
		columns[i] = i
	}
	cfg := merge.Config{
		Keys: w.order.keys, Sequence: w.order.sequence, Descending: w.order.descending,
		SequenceNumber: n - 1, Ranked: true, Kind: bufferKind, KeepDeletes: true,
		Schema: w.spillSchema, Output: columns, Mem: batch.Recycled(w.cfg.Mem),
	}
	if err := w.order.rules.Apply(&cfg, append(w.bufferFields(), types.SequenceNumberField())); err != nil {
		return nil, err
	}
	return merge.NewReader(cfg, runs), nil
}

// inMemory reads the rows of one group that are in memory as a sorted run. The
// first of them has the sequence number base.
func (w *Writer) inMemory(rows []batch.Ref, keys *loaded, scratch *[]item, base int64) (batch.Reader, error) {
	step := w.stepRows()
	if w.order.folds() {
		return w.newFolded(rows, keys, scratch, base, step)
	}
	return &buffered{w: w, rows: rows, places: keys.sorted(rows, scratch), base: base, step: step}, nil
}

// buffered reads the rows of one group that are in memory, sorted and with their
// sequence numbers, as the youngest run.
type buffered struct {
	w      *Writer
	rows   []batch.Ref
	places []uint32
	base   int64
	step   int
	cur    arrow.RecordBatch
}

func (b *buffered) Schema() *arrow.Schema { return b.w.spillSchema }

func (b *buffered) Next(context.Context) (arrow.RecordBatch, error) {
	b.drop()
	for len(b.places) > 0 {
		n := min(b.step, len(b.places))
		refs := make([]batch.Ref, n)
		numbers := make([]int64, n)
		for i, p := range b.places[:n] {
			refs[i], numbers[i] = b.rows[p], b.base+int64(p)
		}
		rec, err := batch.Gather(batch.Recycled(b.w.cfg.Mem), b.w.buffer.schema, b.w.buffer.chunks, nil, refs)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			b.step = n / 2
			continue
		}
		if err != nil {
			return nil, err
		}
		b.cur = b.w.withSequence(rec, numbers)
		rec.Release()
		b.places = b.places[n:]
		return b.cur, nil
	}
	return nil, io.EOF
}

func (b *buffered) drop() {
	if b.cur != nil {
		b.cur.Release()
		b.cur = nil
	}
}

func (b *buffered) Close() error {
	b.drop()
	b.places = nil
	return nil
}

// fileColumns puts spilled rows under the columns of a key-value file. The caller
// releases the result.
func (a *assembler) fileColumns(rec arrow.RecordBatch) arrow.RecordBatch {
	n := int(rec.NumCols()) - 1
	cols := make([]arrow.Array, 0, a.file.NumFields())
	for _, k := range a.keys {
		cols = append(cols, rec.Column(k))
	}
	cols = append(cols, rec.Column(n), rec.Column(bufferKind))
	cols = append(cols, rec.Columns()[bufferValues:n]...)
	return array.NewRecordBatch(a.file, cols, rec.NumRows())
}

// each calls take with the batches of r and closes it.
func each(ctx context.Context, r batch.Reader, take func(arrow.RecordBatch) error) error {
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return r.Close()
		}
		if err == nil {
			err = take(rec)
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
	}
}

// mergeCost is what reading one run takes in one lane: a block on disk, the same
// plain, and the batch of it.
func (w *Writer) mergeCost() int64 {
	var n int64
	for _, r := range w.runs {
		n = max(n, 3*r.file.MaxBlock())
	}
	return n
}

// readyRuns makes ready to merge what was spilled: memory to read the runs in so
// many lanes as it grants, and no more runs than are merged at once. Who may not wait for
// memory takes what one lane needs all the same. The caller releases what was reserved.
func (w *Writer) readyRuns(ctx context.Context, lanes int, wait bool) (int, *budget.Reservation, error) {
	if len(w.runs) == 0 {
		return lanes, nil, nil
	}
	cost := w.mergeCost()
	fan := max(2, w.set.Spill.Handles)
	b := w.pool.budget
	if b == nil {
		return lanes, nil, w.reduceRuns(ctx, fan)
	}
	fan = int(max(2, min(int64(fan), b.Limit()/2/cost)))
	need := int64(min(fan, len(w.runs))) * cost
	for ; lanes >= 1; lanes-- {
		if r, ok := b.TryReserve(int64(lanes) * need); ok {
			return lanes, r, w.reduceRuns(ctx, fan)
		}
	}
	// Nothing may be held by one who waits.
	if w.buffer.rows() > 0 {
		err := w.spill(ctx)
		if err == nil {
			return w.readyRuns(ctx, 1, wait)
		}
		if ctx.Err() != nil {
			return 0, nil, err
		}
		// Neither memory nor disk: rather a little more memory than rows lost.
		w.warn("spilling write buffer", err)
		return 1, nil, nil
	}
	if !wait {
		return 1, nil, w.reduceRuns(ctx, fan)
	}
	r, err := b.Reserve(ctx, min(b.Limit()/2, need))
	if err != nil {
		return 0, nil, err
	}
	return 1, r, w.reduceRuns(ctx, fan)
}

// reduceRuns merges the oldest runs into one until no more than fan are left.
func (w *Writer) reduceRuns(ctx context.Context, fan int) error {
	for len(w.runs) > fan {
		n := min(fan, len(w.runs)-fan+1)
		s, err := w.mergeRuns(ctx, n)
		if err != nil {
			return err
		}
		gone := w.runs[:n:n]
		rest := append([]*spilled{s}, w.runs[n:]...)
		w.runs = gone
		w.dropRuns()
		w.runs = rest
	}
	return nil
}

// mergeRuns makes one run of the n oldest.
func (w *Writer) mergeRuns(ctx context.Context, n int) (*spilled, error) {
	all := w.runs
	w.runs = all[:n:n]
	defer func() { w.runs = all }()
	l := w.newLane()
	defer l.close()
	return w.temporary(ctx, func(out *spill.Writer, parts []part) error {
		c := &collector{w: w, out: out, most: w.blockRows}
		defer c.drop()
		for g := range parts {
			parts[g].first = c.rows
			r, err := w.joined(l, g)
			if err == nil {
				err = each(ctx, r, c.add)
			}
			if err != nil {
				return err
			}
			parts[g].rows = c.rows - parts[g].first
		}
		return c.cut()
	})
}

// joined makes one run of the spilled ones of a group.
func (w *Writer) joined(l *lane, g int) (batch.Reader, error) {
	runs := w.parts(l, g)
	switch {
	case !w.keyed || len(runs) == 0:
		return oneByOne(w.spillSchema, runs), nil
	case w.raw():
		return newInterleaved(w, runs), nil
	}
	return w.merged(runs)
}

func oneByOne(schema *arrow.Schema, runs []batch.Reader) batch.Reader {
	open := make([]func(context.Context) (batch.Reader, error), len(runs))
	for i, r := range runs {
		open[i] = func(context.Context) (batch.Reader, error) { return r, nil }
	}
	return batch.Chain(schema, open...)
}

// collector makes blocks of batches.
type collector struct {
	w       *Writer
	out     *spill.Writer
	most    int
	waiting []arrow.RecordBatch // owned
	few     int
	rows    int64
}

func (c *collector) add(rec arrow.RecordBatch) error {
	for from := int64(0); from < rec.NumRows(); {
		to := min(rec.NumRows(), from+int64(c.most-c.few))
		c.waiting = append(c.waiting, batch.Slice(rec, from, to))
		c.few += int(to - from)
		c.rows += to - from
		from = to
		if c.few >= c.most {
			if err := c.cut(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) cut() error {
	if c.few == 0 {
		return nil
	}
	rec, err := batch.Concat(batch.Recycled(c.w.cfg.Mem), c.w.spillSchema, c.waiting)
	if err != nil {
		return err
	}
	c.drop()
	defer rec.Release()
	return c.out.Write(rec)
}

func (c *collector) drop() {
	for _, r := range c.waiting {
		r.Release()
	}
	c.waiting, c.few = c.waiting[:0], 0
}
