package parquet

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Writer writes one Parquet file. It holds one row group of encoded columns in
// memory and encodes columns side by side. Not safe for concurrent use.
type Writer struct {
	settings settings
	opts     fileformat.WriteOptions
	root     *schema.GroupNode
	columns  []*columnWriter
	schema   *arrow.Schema

	sink  *sink
	out   *file.Writer                // nil before the first row
	group file.BufferedRowGroupWriter // nil between row groups

	rows      int64 // of the file
	groupRows int   // of the open row group
	pageRows  int   // since the last row limit of pages
	err       error // what broke the writer, if anything
	done      bool
}

// columnWriter is one top-level column.
type columnWriter struct {
	column  *column
	stats   statsCollector
	scratch scratch
	shred   shredder
	chunks  []file.ColumnChunkWriter // of the open row group, by leaf below this column
	first   int                      // index of the first of them
	leaves  []*column
}

// NewWriter starts a file of the given columns. Nothing is written before the
// first row or Close.
func NewWriter(w fileio.Writer, fields []types.Field, opts fileformat.WriteOptions) (*Writer, error) {
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	root, columns, err := messageType(fields)
	if err != nil {
		return nil, err
	}
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	out := &Writer{settings: s, opts: opts, root: root, schema: sc, sink: newSink(w)}
	for i, c := range columns {
		cw := &columnWriter{column: c, stats: statsCollector{typ: fields[i].Type}}
		c.eachLeaf(func(l *column) { cw.leaves = append(cw.leaves, l) })
		if len(cw.leaves) == 0 {
			return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "a ROW without members cannot be written to Parquet", "column", c.name)
		}
		cw.first = cw.leaves[0].leaf
		out.columns = append(out.columns, cw)
	}
	if len(columns) == 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "a file without columns cannot be written to Parquet")
	}
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
	if w.done {
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
	w.err = w.write(ctx, rec)
	return w.err
}

func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.columns) {
		return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "batch does not have the file's columns",
			"columns", len(w.columns), "batch", rec.NumCols())
	}
	for i, c := range w.columns {
		want, got := w.schema.Field(i).Type, rec.Column(i).DataType()
		if !sameLayout(want, got) {
			return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "array does not have the column's type",
				"column", c.column.name, "want", want, "got", got)
		}
	}
	return nil
}

// sameLayout reports types whose arrays look alike: names, nullability and
// metadata inside nested types do not count, nor does a timestamp's zone.
func sameLayout(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	switch a := a.(type) {
	case arrow.NestedType:
		af, bf := a.Fields(), b.(arrow.NestedType).Fields()
		if len(af) != len(bf) {
			return false
		}
		for i := range af {
			if !sameLayout(af[i].Type, bf[i].Type) {
				return false
			}
		}
		return true
	case *arrow.TimestampType:
		return a.Unit == b.(*arrow.TimestampType).Unit
	}
	return arrow.TypeEqual(a, b)
}

func (w *Writer) write(ctx context.Context, rec arrow.RecordBatch) error {
	if w.out == nil {
		if err := w.open(rec); err != nil {
			return err
		}
	}
	for from := 0; from < int(rec.NumRows()); {
		if err := ctx.Err(); err != nil {
			return tarnerr.Wrap(tarnerr.Closed, "writing Parquet file", err)
		}
		if err := w.openGroup(); err != nil {
			return err
		}
		// As many pages at a time as keep all workers busy, few enough that a row
		// group does not grow far beyond its size.
		to := min(int(rec.NumRows()), from+8*w.settings.pageRows-w.pageRows)
		if err := w.encode(rec, from, to); err != nil {
			return err
		}
		w.rows += int64(to - from)
		w.groupRows += to - from
		w.pageRows = (w.pageRows + to - from) % w.settings.pageRows
		from = to
		if w.pending() >= w.settings.groupSize {
			if err := w.closeGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// open decides which columns get a dictionary and writes the head of the file.
func (w *Writer) open(rec arrow.RecordBatch) error {
	dict := map[string]bool{}
	if rec != nil {
		sample := rec.NewSlice(0, min(rec.NumRows(), sampleRows))
		defer sample.Release()
		for i, c := range w.columns {
			values, err := c.shred.shred(c.column, sample.Column(i))
			if err != nil {
				return err
			}
			for k, v := range values {
				path := c.leaves[k].path
				dict[path] = w.settings.dictionary(path) && worthDictionary(v)
			}
		}
	}
	out, err := file.NewParquetWriterWithError(w.sink, w.root, file.WithWriterProps(w.settings.properties(w.opts, dict)))
	if err != nil {
		return w.sinkError(err)
	}
	w.out = out
	return nil
}

func (w *Writer) openGroup() error {
	if w.group != nil {
		return nil
	}
	group, err := w.out.AppendBufferedRowGroupChecked()
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, "writing Parquet file", err)
	}
	w.group = group
	for _, c := range w.columns {
		c.chunks = c.chunks[:0]
		for i := range c.leaves {
			cw, err := w.group.Column(c.first + i)
			if err != nil {
				return tarnerr.Wrap(tarnerr.Internal, "writing Parquet file", err, "column", c.leaves[i].path)
			}
			c.chunks = append(c.chunks, cw)
		}
	}
	w.groupRows, w.pageRows = 0, 0
	return nil
}

// encode encodes rows from … to of every column, side by side.
func (w *Writer) encode(rec arrow.RecordBatch, from, to int) error {
	return w.eachColumn(func(i int) error {
		return w.columns[i].write(rec.Column(i), from, to, w.pageRows, w.settings.pageRows)
	})
}

// eachColumn calls work for every column on up to the writer's workers.
func (w *Writer) eachColumn(work func(i int) error) error {
	workers := min(w.settings.workers, len(w.columns))
	if workers < 2 {
		for i := range w.columns {
			if err := work(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(w.columns) {
					return nil
				}
				if err := work(i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// write encodes rows from … to, cutting pages at multiples of pageRows rows of
// the row group, of which the current page's share is inPage.
func (c *columnWriter) write(arr arrow.Array, from, to, inPage, pageRows int) error {
	for from < to {
		n := min(to-from, pageRows-inPage)
		slice := array.NewSlice(arr, int64(from), int64(from+n))
		err := c.writeRows(slice)
		slice.Release()
		if err != nil {
			return err
		}
		from, inPage = from+n, inPage+n
		if inPage == pageRows {
			inPage = 0
			for i, cw := range c.chunks {
				if err := cutPage(c.leaves[i].path, cw); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *columnWriter) writeRows(arr arrow.Array) error {
	c.stats.update(arr)
	if c.column.leaf >= 0 {
		return c.scratch.writeFlat(c.chunks[0], c.column, arr)
	}
	values, err := c.shred.shred(c.column, arr)
	if err != nil {
		return err
	}
	for i, v := range values {
		if err := c.scratch.write(c.chunks[i], c.leaves[i], v); err != nil {
			return err
		}
	}
	return nil
}

// cutPage ends the current page unless it is empty. While a dictionary is in
// use pages wait in memory for it, and only its encoder knows what it holds.
func cutPage(path string, cw file.ColumnChunkWriter) (err error) {
	defer recoverWrite(path, &err)
	if d, ok := cw.CurrentEncoder().(interface{ ObservedRawSize() int64 }); ok {
		if f, ok := cw.(interface{ FlushCurrentPage() error }); ok && d.ObservedRawSize() > 0 {
			return f.FlushCurrentPage()
		}
		return nil
	}
	if f, ok := cw.(interface{ FlushBufferedDataPages() error }); ok {
		return f.FlushBufferedDataPages()
	}
	return nil
}

// pending is the size of the open row group so far.
func (w *Writer) pending() int64 {
	var n int64
	if w.group == nil {
		return 0
	}
	for _, c := range w.columns {
		for _, cw := range c.chunks {
			n += cw.TotalCompressedBytes()
			if e, ok := cw.(interface{ EstimatedBufferedValueBytes() int64 }); ok {
				n += e.EstimatedBufferedValueBytes()
			}
		}
	}
	return n
}

// Size implements [fileformat.Writer].
func (w *Writer) Size() int64 { return w.sink.n + w.pending() }

func (w *Writer) closeGroup() error {
	if w.group == nil {
		return nil
	}
	// Compress the last page of every column side by side; Close does it one by one.
	if err := w.eachColumn(func(i int) error {
		c := w.columns[i]
		for k, cw := range c.chunks {
			if err := cutPage(c.leaves[k].path, cw); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := w.group.Close(); err != nil {
		return w.sinkError(err)
	}
	w.group = nil
	for _, c := range w.columns {
		c.chunks = c.chunks[:0]
	}
	return w.sinkError(nil)
}

// Close implements [fileformat.Writer].
func (w *Writer) Close(ctx context.Context) (fileformat.Summary, error) {
	if w.done {
		return fileformat.Summary{}, tarnerr.New(tarnerr.Closed, "closing Parquet file", "writer is closed")
	}
	if w.err == nil {
		w.err = w.finish(ctx)
	}
	w.done = true
	if w.err != nil {
		w.release()
		w.sink.w.Abort()
		return fileformat.Summary{}, w.err
	}
	s := fileformat.Summary{FileSize: w.sink.n, RowCount: w.rows}
	for _, c := range w.columns {
		s.Columns = append(s.Columns, c.stats.result())
	}
	return s, nil
}

func (w *Writer) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Closed, "closing Parquet file", err)
	}
	if w.out == nil {
		if err := w.open(nil); err != nil {
			return err
		}
	}
	if err := w.closeGroup(); err != nil {
		return err
	}
	out := w.out
	w.out = nil
	if err := out.Close(); err != nil {
		return w.sinkError(err)
	}
	if err := w.sink.flush(); err != nil {
		return tarnerr.Trace("writing Parquet file", err)
	}
	return w.sink.w.Close()
}

// Abort implements [fileformat.Writer].
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.release()
	return w.sink.w.Abort()
}

// release frees the encoders of an unfinished row group. Closing the group
// would refuse columns of different length, so each is closed on its own.
func (w *Writer) release() {
	w.sink.drop = true
	for _, c := range w.columns {
		for _, cw := range c.chunks {
			func() {
				defer func() { _ = recover() }() // an encoder that failed may be in any state
				_ = cw.Close()
			}()
		}
		c.chunks = nil
	}
	w.group, w.out = nil, nil
}

// sinkError is the storage's own error, if there was one, else err of the encoder.
func (w *Writer) sinkError(err error) error {
	if w.sink.err != nil {
		return tarnerr.Trace("writing Parquet file", w.sink.err)
	}
	if err == nil {
		return nil
	}
	return tarnerr.Wrap(tarnerr.Internal, "writing Parquet file", err)
}
