package spill

import (
	"context"
	"io"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// Cursor reads ranges of a file one after the other. It keeps the block it read
// last, which the next range may begin in. Not safe for concurrent use.
type Cursor struct {
	f   *File
	mem memory.Allocator

	small, plain []byte
	at           int // of rec
	rec          arrow.RecordBatch
}

// NewCursor reads f with memory of its own.
func (f *File) NewCursor(mem memory.Allocator) *Cursor { return &Cursor{f: f, mem: mem} }

// Close frees the block kept.
func (c *Cursor) Close() {
	if c.rec != nil {
		c.rec.Release()
		c.rec = nil
	}
}

// Rows reads n rows from row from on. Its batches have the schema given, which is
// that of the batches written. One reader of a cursor is read at a time.
func (c *Cursor) Rows(schema *arrow.Schema, from, n int64) batch.Reader {
	return &reader{c: c, schema: schema, at: from, end: from + n}
}

// block makes block i the one kept.
func (c *Cursor) block(ctx context.Context, i int) error {
	const op = "reading temporary file"
	if c.rec != nil && c.at == i {
		return nil
	}
	c.Close()
	in, err := c.f.handle(ctx)
	if err != nil {
		return err
	}
	b := c.f.blocks[i]
	if cap(c.small) < b.small {
		c.small = make([]byte, b.small)
	}
	c.small = c.small[:b.small]
	if _, err := in.ReadAt(ctx, c.small, b.at); err != nil {
		return Broken(op, err, "file", c.f.path, "offset", b.at)
	}
	if c.plain, err = c.f.codec.Decompress(c.plain, c.small, b.size); err != nil {
		return Broken(op, err, "file", c.f.path, "offset", b.at)
	}
	if c.rec, err = decode(c.plain, c.mem); err != nil {
		return Broken(op, err, "file", c.f.path, "offset", b.at)
	}
	c.at = i
	return nil
}

// reader is a range of rows.
type reader struct {
	c       *Cursor
	schema  *arrow.Schema
	at, end int64
	cur     arrow.RecordBatch
}

func (r *reader) Schema() *arrow.Schema { return r.schema }

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	if r.at >= r.end {
		return nil, io.EOF
	}
	blocks := r.c.f.blocks
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].first > r.at }) - 1
	if i < 0 || r.end > r.c.f.rows {
		return nil, tarnerr.New(tarnerr.Internal, "reading temporary file", "no such rows", "from", r.at, "to", r.end, "rows", r.c.f.rows)
	}
	if err := r.c.block(ctx, i); err != nil {
		return nil, err
	}
	from := r.at - blocks[i].first
	to := min(r.c.rec.NumRows(), r.end-blocks[i].first)
	r.cur = batch.Slice(r.c.rec, from, to)
	r.at += to - from
	return r.cur, nil
}

func (r *reader) drop() {
	if r.cur != nil {
		r.cur.Release()
		r.cur = nil
	}
}

func (r *reader) Close() error {
	r.drop()
	r.at = r.end
	return nil
}
