package write

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// flushRows is how many rows a flush gathers at a time.
const flushRows = 16 << 10

// flush writes what is buffered to data files, buckets side by side, and
// empties the buffer. The last flush before a commit finishes the files of append
// tables too. With wait it may wait for memory to merge in.
func (w *Writer) flush(ctx context.Context, last, wait bool) error {
	if w.buffer.rows() == 0 && len(w.runs) == 0 {
		return nil
	}
	lanes, merging, err := w.readyRuns(ctx, w.cfg.Workers, wait)
	if merging != nil {
		defer merging.Release()
	}
	if err != nil {
		return tarnerr.Trace("flushing write buffer", err, "table", w.cfg.Table)
	}
	if err := w.buffer.join(); err != nil {
		return err
	}
	rows := w.buffer.byGroup(len(w.router.groups))
	var active []int
	for g, r := range rows {
		if len(r) > 0 || w.spilledRows(g) > 0 {
			active = append(active, g)
		}
	}
	if err := w.flushBuckets(ctx, rows, active, lanes, last); err != nil {
		return err
	}
	w.drop()
	return w.closeLargest(ctx)
}

// flushBuckets writes the rows of the active groups, which stay in the buffer.
func (w *Writer) flushBuckets(ctx context.Context, rows [][]batch.Ref, active []int, lanes int, last bool) error {
	if err := w.restore(ctx, active); err != nil {
		return err
	}
	w.spec.Encoding.Workers = max(1, w.cfg.Workers/len(active))
	w.spec.Encoding.Hold = w.hold(len(active), last)
	var keys *loaded
	var err error
	if w.keyed {
		if keys, err = w.order.load(w.buffer.chunks); err != nil {
			return err
		}
	}
	for _, c := range w.buffer.chunks {
		for _, a := range c.Columns() {
			countNulls(a)
		}
	}
	next := make(chan int, len(active))
	for _, g := range active {
		next <- g
	}
	close(next)
	eg, laneCtx := errgroup.WithContext(ctx)
	for range w.abreast(lanes, rows, active) {
		eg.Go(func() error {
			l := w.newLane()
			defer l.close()
			for g := range next {
				if err := laneCtx.Err(); err != nil {
					return tarnerr.Wrap(tarnerr.Unavailable, "flushing write buffer", err)
				}
				if err := w.flushGroup(laneCtx, g, rows[g], keys, last, l); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return tarnerr.Trace("flushing write buffer", eg.Wait(), "table", w.cfg.Table)
}

// syncLanes is how many small files a worker has under way.
const syncLanes = 8

// abreast is how many buckets are flushed side by side. Who finishes a file waits
// for the storage: of small buckets there are more under way than workers, as many
// as hold no more memory than large ones.
func (w *Writer) abreast(lanes int, rows [][]batch.Ref, active []int) int {
	if w.cfg.Workers > 1 && len(w.runs) == 0 {
		most := 1
		for _, g := range active {
			most = max(most, len(rows[g]))
		}
		largest := max(1, w.buffer.bytes/int64(w.buffer.rows())*int64(most))
		lanes = max(lanes, int(min(holdGathered/largest, syncLanes))*w.cfg.Workers)
	}
	return min(lanes, len(active))
}

// countNulls has an array count its nulls, and those within it, before lanes ask it
// side by side: Arrow counts when it is asked first, and keeps the number in a plain
// field.
func countNulls(a arrow.Array) {
	a.NullN()
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			countNulls(a.Field(i))
		}
	case *array.Map:
		countNulls(a.ListValues())
		countNulls(a.Keys())
		countNulls(a.Items())
	case array.ListLike:
		countNulls(a.ListValues())
	}
}

const (
	// holdGathered is what a file may hold of batches that were made for it.
	holdGathered = 8 << 20
	// holdBuffered is what it may hold of batches that are in the buffer anyway.
	holdBuffered = 64 << 20
)

// hold is how many bytes a file may hold back so that its end is encoded column
// by column: where it is finished in this flush.
func (w *Writer) hold(buckets int, last bool) int64 {
	switch {
	case w.keyed:
		return holdGathered
	case !last:
		return 0
	case buckets == 1:
		return holdBuffered
	}
	return holdGathered
}

func (w *Writer) flushGroup(ctx context.Context, number int, rows []batch.Ref, keys *loaded, last bool, l *lane) error {
	start := w.cfg.Env.Now()
	g := w.router.groups[number]
	before := len(g.files)
	spilled := w.parts(l, number)
	in := int64(len(rows)) + w.spilledRows(number)
	out := in
	var err error
	if w.changes != nil {
		if err = w.writeChangelog(ctx, number, rows, keys, l); err != nil {
			return err
		}
	}
	switch {
	case w.keyed && (len(spilled) > 0 || w.order.folds()):
		out, err = w.flushMerged(ctx, number, spilled, rows, keys, l)
	case w.keyed:
		out, err = w.flushKeyed(ctx, g, rows, keys, l)
	default:
		err = w.flushAppend(ctx, g, spilled, rows)
		if err == nil && last {
			err = w.finish(ctx, g)
		}
	}
	w.told(g, g.files[before:], in, out, start, err)
	return err
}

func (w *Writer) told(g *group, files []*datafile.Meta, in, out int64, start time.Time, err error) {
	info := event.FlushEnd{
		Table: w.cfg.Table, Partition: g.spec, Bucket: int(g.bucket), Files: len(files),
		RowsIn: in, RowsOut: out, Elapsed: w.cfg.Env.Now().Sub(start), Err: err,
	}
	for _, f := range files {
		info.Bytes += f.FileSize
	}
	w.cfg.Listener.Emit(info)
}

// flushKeyed writes one bucket of a key table: sorted, each key once, as a
// sorted run of its own (INV-WRITE-2). It returns the number of rows written.
func (w *Writer) flushKeyed(ctx context.Context, g *group, rows []batch.Ref, keys *loaded, l *lane) (int64, error) {
	places := keys.sorted(rows, &l.scratch)
	base := g.sequence
	g.sequence += int64(len(rows)) // rows that lost have used their numbers too (INV-WRITE-1)
	asm := newAssembler(w)
	out := run.NewRollingWriter(w.spec, g.dir, 0)
	refs := make([]batch.Ref, 0, min(flushRows, len(places)))
	for step := flushRows; len(places) > 0; {
		n := min(step, len(places))
		refs = refs[:0]
		for _, p := range places[:n] {
			refs = append(refs, rows[p])
		}
		rec, err := asm.keyed(w.buffer.chunks, refs, places[:n], base)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err == nil {
			err = out.Write(ctx, rec)
			rec.Release()
		}
		if err != nil {
			return 0, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
		}
		places = places[n:]
	}
	return w.closeRun(ctx, g, out)
}

// flushMerged is flushKeyed of a bucket that has spilled, and of merge engines
// that need all rows of a key.
func (w *Writer) flushMerged(ctx context.Context, number int, runs []batch.Reader, rows []batch.Ref, keys *loaded, l *lane) (int64, error) {
	g := w.router.groups[number]
	merged, err := w.mergedRows(number, runs, rows, keys, l)
	g.sequence += int64(len(rows)) // rows that lost have used their numbers too (INV-WRITE-1)
	if err != nil {
		return 0, err
	}
	asm := newAssembler(w)
	out := run.NewRollingWriter(w.spec, g.dir, 0)
	err = each(ctx, merged, func(rec arrow.RecordBatch) error {
		file := asm.fileColumns(rec)
		defer file.Release()
		return out.Write(ctx, file)
	})
	if err != nil {
		return 0, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
	}
	return w.closeRun(ctx, g, out)
}

// mergedRows reads the rows of a bucket, each key once.
func (w *Writer) mergedRows(number int, runs []batch.Reader, rows []batch.Ref, keys *loaded, l *lane) (batch.Reader, error) {
	base := w.router.groups[number].sequence
	if len(runs) > 0 && w.raw() {
		return newReduced(w, w.allRows(l, number, rows, keys, base))
	}
	if len(rows) > 0 {
		youngest, err := w.inMemory(rows, keys, &l.scratch, base)
		if err != nil {
			return nil, err
		}
		runs = append(runs, youngest)
	}
	return w.merged(runs)
}

// closeRun finishes the files of a sorted run and returns the number of their rows.
func (w *Writer) closeRun(ctx context.Context, g *group, out *run.RollingWriter) (int64, error) {
	files, err := out.Close(ctx)
	if err != nil {
		return 0, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
	}
	g.files = append(g.files, files...)
	if err := w.grow(g, files); err != nil {
		return 0, err
	}
	var written int64
	for _, f := range files {
		written += f.RowCount
	}
	return written, nil
}

// assembler makes batches of file columns out of buffered rows.
type assembler struct {
	mem    memory.Allocator
	buffer *arrow.Schema
	file   *arrow.Schema
	keys   []int // buffer columns of `_KEY_*`
}

func newAssembler(w *Writer) *assembler {
	a := &assembler{mem: batch.Recycled(w.cfg.Mem), buffer: w.buffer.schema, file: w.fileSchema}
	if !w.spec.Thin {
		a.keys = w.keyColumns
	}
	return a
}

// keyed gathers the rows named by refs under the columns of a key-value file.
// Row i has the sequence number base + places[i]. The caller releases it.
func (a *assembler) keyed(chunks []arrow.RecordBatch, refs []batch.Ref, places []uint32, base int64) (arrow.RecordBatch, error) {
	rec, err := batch.Gather(a.mem, a.buffer, chunks, nil, refs)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	sequence := a.sequence(places, base)
	defer sequence.Release()
	cols := make([]arrow.Array, 0, a.file.NumFields())
	for _, k := range a.keys {
		cols = append(cols, rec.Column(k))
	}
	cols = append(cols, sequence, rec.Column(bufferKind))
	cols = append(cols, rec.Columns()[bufferValues:]...)
	return array.NewRecordBatch(a.file, cols, rec.NumRows()), nil
}

func (a *assembler) sequence(places []uint32, base int64) arrow.Array {
	return batch.Int64s(a.mem, len(places), func(out []int64) {
		for i, p := range places {
			out[i] = base + int64(p)
		}
	})
}

// flushAppend writes the rows of one bucket of an append table in their order.
// The file stays open, so that files grow to their target size over flushes.
func (w *Writer) flushAppend(ctx context.Context, g *group, spilled []batch.Reader, rows []batch.Ref) error {
	if g.open == nil {
		g.open = run.NewRollingWriter(w.spec, g.dir, g.sequence)
	}
	write := func(rec arrow.RecordBatch) error {
		defer rec.Release()
		return g.open.Write(ctx, rec)
	}
	for _, r := range spilled {
		if err := each(ctx, r, func(rec arrow.RecordBatch) error { return g.open.Write(ctx, rec) }); err != nil {
			return err
		}
	}
	for step := flushRows; len(rows) > 0; {
		if n := together(rows); n >= min(largeRows, len(rows)) {
			at := rows[0]
			if err := write(batch.Slice(w.buffer.chunks[at.Source()], int64(at.Row()), int64(at.Row()+n))); err != nil {
				return err
			}
			rows = rows[n:]
			continue
		}
		n := min(step, len(rows))
		rec, err := batch.Gather(batch.Recycled(w.cfg.Mem), w.buffer.schema, w.buffer.chunks, nil, rows[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err != nil {
			return err
		}
		if err := write(rec); err != nil {
			return err
		}
		rows = rows[n:]
	}
	g.sequence = g.open.Sequence()
	return nil
}

// together is how many refs from the first on are rows that follow each other.
func together(refs []batch.Ref) int {
	n := 1
	for n < len(refs) && refs[n] == refs[0]+batch.Ref(n) {
		n++
	}
	return n
}

// closeLargest finishes open append files, largest first, until the rest fits
// the write buffer: what a file writer holds is memory too.
func (w *Writer) closeLargest(ctx context.Context) error {
	var open []*group
	var held int64
	for _, g := range w.router.groups {
		if g.open != nil {
			open = append(open, g)
			held += g.open.Size()
		}
	}
	slices.SortStableFunc(open, func(a, b *group) int { return int(b.open.Size() - a.open.Size()) })
	for _, g := range open {
		if held <= w.set.WriteBufferSize && len(open) <= maxOpen {
			return nil
		}
		held -= g.open.Size()
		open = open[1:]
		if err := w.finish(ctx, g); err != nil {
			return tarnerr.Trace("flushing write buffer", err, "table", w.cfg.Table)
		}
	}
	return nil
}

// maxOpen is how many append files stay open between flushes at most.
const maxOpen = 32

// finishOpen finishes all open append files.
func (w *Writer) finishOpen(ctx context.Context) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(w.cfg.Workers)
	for _, g := range w.router.groups {
		if g.open != nil {
			eg.Go(func() error { return w.finish(ctx, g) })
		}
	}
	return tarnerr.Trace("flushing write buffer", eg.Wait(), "table", w.cfg.Table)
}

func (w *Writer) finish(ctx context.Context, g *group) error {
	files, err := g.open.Close(ctx)
	if err != nil {
		return err // Abort removes what is there
	}
	g.open = nil
	g.files = append(g.files, files...)
	return nil
}

// restore looks up what the buckets about to be flushed hold already, once per
// bucket, and refuses a partition that has another number of buckets.
func (w *Writer) restore(ctx context.Context, active []int) error {
	if w.router.buckets == nil || (!w.keyed && !w.set.ordered) {
		return nil
	}
	var missing []*group
	var buckets []Bucket
	for _, g := range active {
		if g := w.router.groups[g]; !g.restored || w.compacts() && g.tree == nil {
			missing = append(missing, g)
			buckets = append(buckets, Bucket{g.partition, g.bucket})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	want := int32(w.set.Bucket)
	held, err := w.cfg.Restore.Restore(ctx, want, buckets)
	if err != nil {
		return tarnerr.Trace("restoring buckets", err, "table", w.cfg.Table)
	}
	for i, g := range missing {
		if n := held[i].TotalBuckets; n != 0 && n != want {
			return tarnerr.New(tarnerr.Invalid, "restoring buckets", "the partition was written with another number of buckets",
				"table", w.cfg.Table, "partition", g.spec, "buckets", n, "option bucket", want).
				WithHint("Set the option back, or rescale the partition with INSERT OVERWRITE first.")
		}
		invariants.Check(g.sequence == 0 || g.restored, "INV-WRITE-1", "bucket %d of %q had numbers before it was restored", g.bucket, g.spec)
		g.sequence = max(g.sequence, held[i].MaxSequence+1)
		g.restored = true
		if w.compacts() {
			if err := w.plant(g, held[i].Files); err != nil {
				return err
			}
		}
	}
	return nil
}

// layOutFiles fixes the columns of the files of key tables.
func (w *Writer) layOutFiles() error {
	if !w.keyed {
		return nil
	}
	var err error
	if w.fileSchema, err = types.ArrowSchema(w.spec.Fields()); err != nil {
		return err
	}
	w.keyColumns, err = w.columns(w.cfg.Schema.TrimmedPrimaryKeys())
	return err
}
