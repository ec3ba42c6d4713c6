package read

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
)

// withInserts puts a kind column of +I before the first n columns of rec.
func withInserts(mem memory.Allocator, schema *arrow.Schema, rec arrow.RecordBatch, n int) arrow.RecordBatch {
	kinds := batch.Int8s(mem, int(rec.NumRows()), func(out []int8) { clear(out) })
	defer kinds.Release()
	cols := append([]arrow.Array{kinds}, rec.Columns()[:n]...)
	return array.NewRecordBatch(schema, cols, rec.NumRows())
}

// ordered reads splits one after the other on the caller's goroutine.
type ordered struct {
	scan    *scan
	splits  []*split.Split
	cur     batch.Reader
	release func() // gives the memory of the current split back
	closed  bool
}

func (o *ordered) Schema() *arrow.Schema { return o.scan.out }

func (o *ordered) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if o.closed {
		return nil, tarnerr.New(tarnerr.Closed, "reading splits", "reader is closed")
	}
	for {
		if o.cur == nil {
			if len(o.splits) == 0 {
				return nil, io.EOF
			}
			most, release, _, err := o.scan.reserve(ctx, o.splits[0], false)
			if err != nil {
				return nil, err
			}
			o.release = release
			if o.cur, err = o.scan.open(o.splits[0], most); err != nil {
				o.leave()
				return nil, err
			}
			o.splits = o.splits[1:]
		}
		rec, err := o.cur.Next(ctx)
		if err != io.EOF {
			return rec, err
		}
		if err := o.leave(); err != nil {
			return nil, err
		}
	}
}

// leave closes the current split.
func (o *ordered) leave() error {
	var err error
	if o.cur != nil {
		err = o.cur.Close()
		o.cur = nil
	}
	if o.release != nil {
		o.release()
		o.release = nil
	}
	return err
}

func (o *ordered) Close() error {
	o.closed = true
	o.splits = nil
	return o.leave()
}

// limited ends after some rows.
type limited struct {
	batch.Reader
	left int64
	cut  arrow.RecordBatch
}

func (l *limited) Next(ctx context.Context) (arrow.RecordBatch, error) {
	l.drop()
	if l.left <= 0 {
		// The rest will not be read: let go of it now, not at Close.
		if err := l.Reader.Close(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	rec, err := l.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	if rec.NumRows() > l.left {
		l.cut = rec.NewSlice(0, l.left)
		rec = l.cut
	}
	l.left -= rec.NumRows()
	return rec, nil
}

func (l *limited) drop() {
	if l.cut != nil {
		l.cut.Release()
		l.cut = nil
	}
}

func (l *limited) Close() error {
	l.drop()
	return l.Reader.Close()
}
