package avro

import (
	"context"
	"crypto/sha256"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Writer writes one Avro file. Not safe for concurrent use.
type Writer struct {
	out    fileio.Writer
	schema string
	arrow  *arrow.Schema
	fields []types.Field
	cols   []*source
	stats  []counter
	packer *packer

	marker []byte
	block  []byte
	count  int64 // records in block
	plain  int64 // bytes of records so far in finished blocks
	size   int64 // of the file so far
	rows   int64
	err    error // what broke the writer, if anything
	done   bool
}

// NewWriter starts a file of the given columns. Nothing is written before the
// first block is full or Close.
func NewWriter(w fileio.Writer, fields []types.Field, opts fileformat.WriteOptions) (*Writer, error) {
	p, err := newPacker(opts)
	if err != nil {
		return nil, err
	}
	text, err := schemaText(fields)
	if err != nil {
		return nil, err
	}
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "writing Avro schema", "a file without columns cannot be written to Avro")
	}
	out := &Writer{out: w, schema: text, arrow: sc, fields: fields, packer: p, stats: make([]counter, len(fields))}
	for i, f := range fields {
		out.cols = append(out.cols, newSource(f.Type, f.Name))
		out.stats[i].typ = f.Type
	}
	return out, nil
}

// Write implements [fileformat.Writer].
func (w *Writer) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if w.done {
		return tarnerr.New(tarnerr.Closed, "writing Avro file", "writer is closed")
	}
	if w.err == nil {
		w.err = w.write(ctx, rec)
	}
	return w.err
}

func (w *Writer) write(ctx context.Context, rec arrow.RecordBatch) error {
	if err := w.check(rec); err != nil {
		return err
	}
	for i, c := range w.cols {
		c.bind(rec.Column(i))
	}
	var err error
	for i := range int(rec.NumRows()) {
		for _, c := range w.cols {
			if w.block, err = c.append(w.block, i); err != nil {
				return err
			}
		}
		w.count++
		if len(w.block) >= ocf.BlockSize {
			if err := ctx.Err(); err != nil {
				return tarnerr.Wrap(tarnerr.Closed, "writing Avro file", err)
			}
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	for i := range w.stats {
		w.stats[i].add(w.cols[i])
	}
	w.rows += rec.NumRows()
	return nil
}

func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.cols) {
		return tarnerr.New(tarnerr.Invalid, "writing Avro file", "batch does not have the file's columns",
			"columns", len(w.cols), "batch", rec.NumCols())
	}
	for i, f := range w.fields {
		want, got := w.arrow.Field(i).Type, rec.Column(i).DataType()
		if !fileformat.SameLayout(want, got) {
			return tarnerr.New(tarnerr.Invalid, "writing Avro file", "array does not have the column's type",
				"column", f.Name, "want", want, "got", got)
		}
	}
	return nil
}

// flush ends the block, if it has records, and writes it.
func (w *Writer) flush() error {
	if w.count == 0 {
		return nil
	}
	packed, err := w.packer.pack(w.block)
	if err != nil {
		return err
	}
	if err := w.begin(packed); err != nil {
		return err
	}
	head := ocf.AppendLong(ocf.AppendLong(make([]byte, 0, 20), w.count), int64(len(packed)))
	w.plain += int64(len(w.block))
	w.block, w.count = w.block[:0], 0
	return w.emit(head, packed, w.marker)
}

// begin writes the header, once. The marker that stands behind every block is
// drawn from what the file holds, so that writing needs no chance and no two
// files share it.
func (w *Writer) begin(first []byte) error {
	if w.marker != nil {
		return nil
	}
	h := sha256.New()
	h.Write([]byte(w.schema))
	h.Write(first)
	w.marker = h.Sum(nil)[:ocf.MarkerSize]
	return w.emit(ocf.AppendHeader(nil, w.schema, w.packer.codec), w.marker)
}

func (w *Writer) emit(parts ...[]byte) error {
	for _, p := range parts {
		if _, err := w.out.Write(p); err != nil {
			return tarnerr.Trace("writing Avro file", err)
		}
		w.size += int64(len(p))
	}
	return nil
}

// Size implements [fileformat.Writer]. The open block is taken to shrink as
// those before it did, or by half.
func (w *Writer) Size() int64 {
	n := int64(len(w.block))
	if w.plain > 0 {
		return w.size + int64(float64(n)*min(1, float64(w.size)/float64(w.plain)))
	}
	return int64(len(w.schema)) + n/2
}

// Close implements [fileformat.Writer].
func (w *Writer) Close(ctx context.Context) (fileformat.Summary, error) {
	if w.done {
		return fileformat.Summary{}, tarnerr.New(tarnerr.Closed, "closing Avro file", "writer is closed")
	}
	w.done = true
	if w.err == nil {
		w.err = w.finish(ctx)
	}
	if w.err != nil {
		w.out.Abort()
		return fileformat.Summary{}, w.err
	}
	s := fileformat.Summary{FileSize: w.size, RowCount: w.rows}
	for i := range w.stats {
		s.Columns = append(s.Columns, w.stats[i].result())
	}
	return s, nil
}

func (w *Writer) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Closed, "closing Avro file", err)
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.begin(nil); err != nil { // of a file without rows
		return err
	}
	return w.out.Close()
}

// Abort implements [fileformat.Writer].
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.out.Abort()
}
