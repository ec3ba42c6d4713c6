package avro

import (
	"context"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fileReader reads columns of a file, batch by batch.
type fileReader struct {
	file      *File
	schema    *arrow.Schema
	columns   []*slot
	plan      []step
	nothing   bool // none of the columns is in the file
	outs      []arrow.ArrayData
	batchRows int64
	allowance batch.Allowance
	numbers   *arrow.Schema // of batches with row numbers; nil: they were not asked for

	in   window
	skip int64 // rows to pass over yet
	left int64 // rows to give yet
	at   int64 // number of the next row to give
	rows int64 // of the current block
	off  int64 // of the current block in the file
	cur  ocf.Cursor
	buf  []byte // the current block, decompressed
}

// Read implements [fileformat.File]. A predicate skips nothing: Avro has no statistics.
func (f *File) Read(ctx context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading Avro file", err, "path", f.Path)
	}
	r, err := f.reader(req)
	if err != nil {
		return nil, tarnerr.Trace("reading Avro file", err, "path", f.Path)
	}
	sc := r.schema
	if r.numbers != nil {
		sc = r.numbers
	}
	return fileformat.NewReader(sc, "Avro", f.Path, r), nil
}

func (f *File) reader(req fileformat.ReadRequest) (*fileReader, error) {
	if req.From < 0 || req.To < 0 || req.To != 0 && req.To < req.From {
		return nil, tarnerr.New(tarnerr.Invalid, "reading Avro file", "rows from and to are out of order", "from", req.From, "to", req.To)
	}
	sc, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, err
	}
	r := &fileReader{file: f, schema: sc, nothing: true, in: newWindow(f), skip: req.From, at: req.From, left: math.MaxInt64}
	r.batchRows = int64(fileformat.BatchRows(sc, req.BatchRows))
	if req.To != 0 {
		r.left = req.To - req.From
	}
	for i, c := range req.Columns {
		if sc.FieldIndices(c.Name)[0] != i {
			return nil, tarnerr.New(tarnerr.Invalid, "reading Avro file", "column is asked for twice", "column", c.Name)
		}
		s, err := newSlot(memories{f.mem, &r.allowance}, f.root.Member(c.Name), c.Type, sc.Field(i).Type, c.Name)
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, s)
		r.nothing = r.nothing && s.op == opMissing
	}
	r.plan = planRecord(f.root, req.Columns, r.columns)
	r.outs = make([]arrow.ArrayData, len(r.columns))
	if req.Numbers {
		r.numbers = fileformat.Numbered(sc)
	}
	return r, nil
}

// Decode implements [fileformat.Decoder].
func (r *fileReader) Decode(ctx context.Context) (arrow.RecordBatch, error) {
	var rows int64
	r.allowance.Begin(true)
	for rows < r.batchRows && r.left > 0 && r.allowance.Used() < fileformat.BatchBytes {
		if r.rows == 0 {
			if err := ctx.Err(); err != nil {
				return nil, tarnerr.Wrap(tarnerr.Closed, "reading Avro file", err, "path", r.file.Path)
			}
			if more, err := r.openBlock(ctx); err != nil {
				return nil, err
			} else if !more {
				break
			}
			continue
		}
		n, err := r.decode(min(r.batchRows-rows, r.left))
		if err != nil {
			return nil, err
		}
		rows, r.left = rows+n, r.left-n
	}
	if rows == 0 {
		return nil, io.EOF
	}
	rec, err := r.finish(int(rows))
	run := fileformat.Run{From: r.at, Rows: int(rows)}
	r.at += rows
	if err != nil || r.numbers == nil {
		return rec, err
	}
	return fileformat.WithNumbers(r.file.mem, r.numbers, rec, run), nil
}

// openBlock goes to the next block that has rows wanted, decompresses it and
// passes over the rows in front of them.
func (r *fileReader) openBlock(ctx context.Context) (more bool, err error) {
	b, more, err := r.in.next(ctx, r.skip)
	if err != nil || !more {
		return false, err
	}
	if b.packed == nil {
		r.skip -= b.rows
		return true, nil
	}
	r.rows, r.off = b.rows, b.off
	if r.nothing && b.rows <= int64(len(b.packed)) { // to be believed without a look
		r.rows, r.skip = r.rows-r.skip, 0
		return true, nil
	}
	plain, err := r.unpack(b.packed)
	if err != nil {
		return false, r.file.broken(b.off, err.Error())
	}
	if b.rows > int64(len(plain)) {
		return false, r.file.broken(b.off, "block claims more rows than it has bytes", "rows", b.rows)
	}
	r.cur = ocf.Cursor{Buf: plain}
	for ; r.skip > 0 && r.cur.Err == nil; r.skip-- {
		if r.row() {
			r.cur.Skip(r.file.root)
		}
		r.rows--
	}
	return true, r.checkBlock()
}

func (r *fileReader) unpack(packed []byte) ([]byte, error) {
	codec := r.file.codec
	if codec == ocf.CodecZstd {
		r.buf = ocf.Room(r.buf, len(packed))
	}
	r.file.unpacked.Add(1)
	plain, err := ocf.Unpack(codec, r.buf, packed)
	if err == nil && codec != ocf.CodecNull {
		r.buf = plain
	}
	return plain, err
}

// row reads which branch of the union around a row it is.
func (r *fileReader) row() bool {
	if r.file.branch >= 0 {
		if b := r.cur.Long(); b != r.file.branch {
			if r.cur.Err == nil && b == r.file.null {
				r.cur.FailAs(tarnerr.Unsupported, "rows that are null cannot be read")
			}
			r.cur.Fail("no such branch of a union")
			return false
		}
	}
	return true
}

// decode reads rows of the current block: as many as asked for, fewer when it
// ends or they take much memory.
func (r *fileReader) decode(rows int64) (n int64, err error) {
	rows = min(rows, r.rows)
	if r.nothing {
		r.rows -= rows
		return rows, nil
	}
	c := &r.cur
	for n < rows && c.Err == nil && r.allowance.Used() < fileformat.BatchBytes {
		if r.row() {
			readRecord(c, r.plan)
		}
		n++
	}
	r.rows -= n
	return n, r.checkBlock()
}

// checkBlock gives the error of the block at hand, and wants it to end with its rows.
func (r *fileReader) checkBlock() error {
	if r.cur.Err != nil {
		return r.cur.Error("reading Avro file", "path", r.file.Path, "offset", r.off)
	}
	if r.rows == 0 && r.cur.Pos != len(r.cur.Buf) {
		return r.file.broken(r.off, "block has bytes behind its rows", "at", r.cur.Pos)
	}
	return nil
}

func (r *fileReader) finish(rows int) (arrow.RecordBatch, error) {
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
			return nil, tarnerr.Trace("reading Avro file", err, "path", r.file.Path)
		}
		r.outs[i] = d
	}
	return batch.FromData(r.schema, r.outs, rows), nil
}

// Release implements [fileformat.Decoder].
func (r *fileReader) Release() {
	for _, c := range r.columns {
		c.release()
	}
}
