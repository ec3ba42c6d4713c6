package avro

import (
	"context"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	defaultBatchRows = 16 << 10
	// batchBytes is how much a batch may take of decompressed blocks before it has
	// fewer rows. It keeps offsets far from overflowing, too.
	batchBytes = 64 << 20
)

// reader reads columns of a file, batch by batch.
type reader struct {
	file      *File
	schema    *arrow.Schema
	columns   []*slot
	plan      []step
	nothing   bool // none of the columns is in the file
	outs      []arrow.ArrayData
	batchRows int64

	in     window
	skip   int64 // rows to pass over yet
	left   int64 // rows to give yet
	rows   int64 // of the current block
	off    int64 // of the current block in the file
	cur    cursor
	buf    []byte // the current block, decompressed
	last   arrow.RecordBatch
	failed error
	closed bool
}

// Read implements [fileformat.File]. A predicate skips nothing: Avro has no statistics.
func (f *File) Read(ctx context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading Avro file", err, "path", f.path)
	}
	if req.From < 0 || req.To < 0 || req.To != 0 && req.To < req.From {
		return nil, tarnerr.New(tarnerr.Invalid, "reading Avro file", "rows from and to are out of order", "path", f.path, "from", req.From, "to", req.To)
	}
	sc, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, tarnerr.Trace("reading Avro file", err, "path", f.path)
	}
	r := &reader{file: f, schema: sc, nothing: true, batchRows: int64(req.BatchRows), in: newWindow(f), skip: req.From, left: math.MaxInt64}
	if r.batchRows <= 0 {
		r.batchRows = defaultBatchRows
	}
	if req.To != 0 {
		r.left = req.To - req.From
	}
	for i, c := range req.Columns {
		if sc.FieldIndices(c.Name)[0] != i {
			return nil, tarnerr.New(tarnerr.Invalid, "reading Avro file", "column is asked for twice", "path", f.path, "column", c.Name)
		}
		s, err := newSlot(f.mem, f.root.member(c.Name), c.Type, sc.Field(i).Type, c.Name)
		if err != nil {
			return nil, tarnerr.Trace("reading Avro file", err, "path", f.path)
		}
		r.columns = append(r.columns, s)
		r.nothing = r.nothing && s.op == opMissing
	}
	r.plan = planRecord(f.root, req.Columns, r.columns)
	r.outs = make([]arrow.ArrayData, len(r.columns))
	return r, nil
}

// Schema implements [batch.Reader].
func (r *reader) Schema() *arrow.Schema { return r.schema }

// Next implements [batch.Reader].
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.closed {
		return nil, tarnerr.New(tarnerr.Closed, "reading Avro file", "reader is closed", "path", r.file.path)
	}
	if r.failed != nil {
		return nil, r.failed
	}
	r.drop()
	rec, err := r.next(ctx)
	if err != nil {
		r.failed = err
		return nil, err
	}
	r.last = rec
	return rec, nil
}

func (r *reader) drop() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

func (r *reader) next(ctx context.Context) (arrow.RecordBatch, error) {
	var rows, size int64
	for rows < r.batchRows && size < batchBytes && r.left > 0 {
		if r.rows == 0 {
			if err := ctx.Err(); err != nil {
				return nil, tarnerr.Wrap(tarnerr.Closed, "reading Avro file", err, "path", r.file.path)
			}
			if more, err := r.openBlock(ctx); err != nil {
				return nil, err
			} else if !more {
				break
			}
			continue
		}
		n, read, err := r.decode(min(r.batchRows-rows, r.left), batchBytes-size)
		if err != nil {
			return nil, err
		}
		rows, size, r.left = rows+n, size+read, r.left-n
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return r.finish(int(rows))
}

// openBlock goes to the next block that has rows wanted, decompresses it and
// passes over the rows in front of them.
func (r *reader) openBlock(ctx context.Context) (more bool, err error) {
	b, more, err := r.in.next(ctx, r.skip)
	if err != nil || !more {
		return false, err
	}
	if b.packed == nil {
		r.skip -= b.rows
		return true, nil
	}
	r.rows, r.off = b.rows, b.off
	if r.nothing {
		r.rows -= r.skip
		r.skip = 0
		return true, nil
	}
	r.file.unpacked.Add(1)
	plain, err := unpack(r.file.codec, r.buf, b.packed)
	if err != nil {
		return false, r.file.broken(b.off, err.Error())
	}
	if r.file.codec != codecNull {
		r.buf = plain
	}
	if b.rows > int64(len(plain)) {
		return false, r.file.broken(b.off, "block claims more rows than it has bytes", "rows", b.rows)
	}
	r.cur = cursor{buf: plain}
	for ; r.skip > 0 && r.cur.err == nil; r.skip-- {
		if r.row() {
			r.cur.skip(r.file.root)
		}
		r.rows--
	}
	return true, r.checkBlock()
}

// row reads which branch of the union around a row it is.
func (r *reader) row() bool {
	if r.file.branch >= 0 {
		if b := r.cur.long(); b != r.file.branch {
			if r.cur.err == nil && b == r.file.null {
				r.cur.failAs(tarnerr.Unsupported, "rows that are null cannot be read", "")
			}
			r.cur.fail("no such branch of a union")
			return false
		}
	}
	return true
}

// decode reads rows of the current block: as many as asked for, fewer when it
// ends or size bytes are reached. It tells the rows and the bytes.
func (r *reader) decode(rows, size int64) (n, read int64, err error) {
	rows = min(rows, r.rows)
	if r.nothing {
		r.rows -= rows
		return rows, 0, nil
	}
	c := &r.cur
	from := c.pos
	for n < rows && int64(c.pos-from) < size && c.err == nil {
		if r.row() {
			readRecord(c, r.plan)
		}
		n++
	}
	r.rows -= n
	return n, int64(c.pos - from), r.checkBlock()
}

// checkBlock gives the error of the block at hand, and wants it to end with its rows.
func (r *reader) checkBlock() error {
	if e := r.cur.err; e != nil {
		kv := []any{"path", r.file.path, "offset", r.off, "at", e.at}
		if e.column != "" {
			kv = append(kv, "column", e.column)
		}
		return tarnerr.New(e.kind, "reading Avro file", e.cause, kv...)
	}
	if r.rows == 0 && r.cur.pos != len(r.cur.buf) {
		return r.file.broken(r.off, "block has bytes behind its rows", "at", r.cur.pos)
	}
	return nil
}

func (r *reader) finish(rows int) (arrow.RecordBatch, error) {
	defer func() {
		for i, d := range r.outs {
			if d != nil {
				d.Release()
				r.outs[i] = nil
			}
		}
	}()
	for i, c := range r.columns {
		d, err := c.finish(rows)
		if err != nil {
			return nil, tarnerr.Trace("reading Avro file", err, "path", r.file.path)
		}
		r.outs[i] = d
	}
	return batch.FromData(r.schema, r.outs, rows), nil
}

// Close implements [batch.Reader].
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.drop()
	for _, c := range r.columns {
		c.release()
	}
	return nil
}
