package parquet

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Writer writes one Parquet file. It holds one row group of encoded columns in
// memory and encodes columns side by side. Batches may wait, up to the limit of
// the options, so that the last row group can be finished column by column: a
// column is written while the next ones are encoded. Not safe for concurrent use.
type Writer struct {
	shape *shape
	*kit  // nil when the file is finished

	sink   *sink
	groups []groupFacts

	rows      int64 // of the file, with those waiting
	groupRows int   // of the open row group, encoded
	open      bool  // a row group is
	waiting   []part
	held      int64 // bytes of waiting
	taken     int64 // bytes of all batches that were encoded
	err       error // what broke the writer, if anything
}

// part is some rows of a batch.
type part struct {
	rec      arrow.RecordBatch
	from, to int
}

// NewWriter implements [fileformat.Format]. Nothing is written before the first
// row group is full or Close.
func (f *format) NewWriter(w fileio.Writer, fields []types.Field, opts fileformat.WriteOptions) (fileformat.Writer, error) {
	s, err := f.shapes.find(fields, opts)
	if err != nil {
		return nil, err
	}
	out := &Writer{shape: s, kit: s.take(&opts)}
	out.sink = newSink(w, out.out)
	return out, nil
}

func (c *column) eachLeaf(yield func(*column)) {
	if c.leaf >= 0 {
		yield(c)
	}
	for _, child := range c.children {
		child.eachLeaf(yield)
	}
}

// Write implements [fileformat.Writer].
func (w *Writer) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if w.kit == nil {
		return tarnerr.New(tarnerr.Closed, "writing Parquet file", "writer is closed")
	}
	if w.err != nil {
		return w.err
	}
	if err := w.check(rec); err != nil {
		return err
	}
	if rec.NumRows() == 0 {
		return nil
	}
	w.err = w.take(ctx, rec)
	return w.err
}

func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.columns) {
		return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "batch does not have the file's columns",
			"columns", len(w.columns), "batch", rec.NumCols())
	}
	for i, c := range w.columns {
		want, got := w.shape.arrow.Field(i).Type, rec.Column(i).DataType()
		if !fileformat.SameLayout(want, got) {
			return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "array does not have the column's type",
				"column", c.column.name, "want", want, "got", got)
		}
	}
	return nil
}

// take keeps the batch as long as the options allow, and encodes what waited
// when they do not.
func (w *Writer) take(ctx context.Context, rec arrow.RecordBatch) error {
	if w.sink.n == 0 {
		w.sink.write([]byte(magic))
	}
	size := batch.Bytes(rec)
	w.rows += rec.NumRows()
	if w.held+size <= w.set.hold && w.size()+w.held+size <= w.set.groupSize {
		rec.Retain()
		w.waiting = append(w.waiting, part{rec, 0, int(rec.NumRows())})
		w.held += size
		return nil
	}
	if err := w.encodeWaiting(ctx); err != nil {
		return err
	}
	w.taken += size
	return w.encodeAll(ctx, part{rec, 0, int(rec.NumRows())})
}

func (w *Writer) encodeWaiting(ctx context.Context) error {
	for _, p := range w.waiting {
		if err := w.encodeAll(ctx, p); err != nil {
			return err
		}
	}
	w.letGo()
	return nil
}

// letGo releases the batches that waited.
func (w *Writer) letGo() {
	for _, p := range w.waiting {
		p.rec.Release()
	}
	clear(w.waiting)
	w.waiting = w.waiting[:0]
	w.taken += w.held
	w.held = 0
}

// encodeAll encodes rows all columns side by side, ending row groups that are full.
func (w *Writer) encodeAll(ctx context.Context, p part) error {
	for p.from < p.to {
		if err := ctx.Err(); err != nil {
			return tarnerr.Wrap(tarnerr.Closed, "writing Parquet file", err)
		}
		w.openGroup()
		// As many pages at a time as keep all workers busy, few enough that a row
		// group does not grow far beyond its size.
		next := p
		next.to = min(p.to, p.from+8*w.set.pageRows-w.groupRows%w.set.pageRows)
		if err := w.encode(next); err != nil {
			return err
		}
		w.groupRows += next.to - next.from
		p.from = next.to
		if w.size() >= w.set.groupSize {
			if err := w.closeGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) openGroup() {
	if w.open {
		return
	}
	for _, c := range w.chunks {
		c.start()
	}
	w.open, w.groupRows = true, 0
}

// size estimates the bytes of the open row group so far.
func (w *Writer) size() (n int64) {
	for _, c := range w.chunks {
		n += c.size()
	}
	return n
}

// Size implements [fileformat.Writer]. Rows that wait are taken to shrink as
// those before them did, or by half.
func (w *Writer) Size() int64 {
	if w.kit == nil {
		return w.sink.n
	}
	n := w.sink.n + w.size()
	if w.taken > 0 {
		return n + int64(float64(w.held)*min(1, float64(n)/float64(w.taken)))
	}
	return n + w.held/2
}

// Close implements [fileformat.Writer].
func (w *Writer) Close(ctx context.Context) (fileformat.Summary, error) {
	if w.kit == nil {
		return fileformat.Summary{}, tarnerr.New(tarnerr.Closed, "closing Parquet file", "writer is closed")
	}
	if w.err == nil {
		w.err = w.finish(ctx)
	}
	s := fileformat.Summary{FileSize: w.sink.n, RowCount: w.rows, Columns: make([]fileformat.ColumnStats, len(w.columns))}
	for i, c := range w.columns {
		s.Columns[i] = c.stats()
	}
	w.release()
	if w.err != nil {
		w.sink.w.Abort()
		return fileformat.Summary{}, w.err
	}
	return s, nil
}

func (w *Writer) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Closed, "closing Parquet file", err)
	}
	if w.sink.n == 0 {
		w.sink.write([]byte(magic))
	}
	if len(w.waiting) > 0 {
		w.openGroup()
	}
	if err := w.closeGroup(); err != nil {
		return err
	}
	w.writeFooter()
	if err := w.sink.flush(); err != nil {
		return tarnerr.Trace("writing Parquet file", err)
	}
	return w.sink.w.Close()
}

// Abort implements [fileformat.Writer].
func (w *Writer) Abort() error {
	if w.kit == nil {
		return nil
	}
	w.release()
	return w.sink.w.Abort()
}

// release gives all memory back.
func (w *Writer) release() {
	w.letGo()
	for _, c := range w.chunks {
		c.drop()
	}
	k := w.kit
	w.kit, w.sink.buf, w.groups = nil, nil, nil
	w.shape.give(k)
}
