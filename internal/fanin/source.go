package fanin

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/spill"
)

// source is a run as it is read: from its own files, or from a temporary one, which
// goes when the source is closed.
type source struct {
	schema *arrow.Schema
	parts  Run
	file   *spill.File // nil: the run's own
	cursor *spill.Cursor
	bytes  int64
	cost   int64
	level  int32 // of the batch given last
	in     batch.Reader
	closed bool
}

func newSource(schema *arrow.Schema, parts Run) *source {
	s := &source{schema: schema, parts: parts}
	for _, p := range parts {
		s.bytes += p.Bytes
		s.cost = max(s.cost, Cost(p.Bytes))
	}
	return s
}

func (s *source) Schema() *arrow.Schema { return s.schema }

func (s *source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if s.in == nil {
		open := make([]func(context.Context) (batch.Reader, error), len(s.parts))
		for i, p := range s.parts {
			open[i] = func(ctx context.Context) (batch.Reader, error) {
				s.level = p.Level
				return p.Open(ctx)
			}
		}
		s.in = batch.Chain(s.schema, open...)
	}
	return s.in.Next(ctx)
}

func (s *source) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.in != nil {
		err = s.in.Close()
	}
	if s.file != nil {
		s.cursor.Close()
		s.file.Remove() // what is left goes with the directory of the process
	}
	return err
}

const (
	// maxBlock and minBlock bound the bytes of rows that make a block of a temporary file.
	maxBlock, minBlock = 256 << 10, 4 << 10
	// perBlock is how often a block is in memory while it is read: as it is on disk,
	// plain, and as a batch.
	perBlock = 3
)

// spilled makes a source of what fill writes.
func (s *Set) spilled(ctx context.Context, fill func(*blocks) error) (*source, error) {
	out, err := s.limits.Store.Create(ctx, s.limits.Codec)
	if err != nil {
		return nil, err
	}
	size := int64(maxBlock)
	if s.memory > 0 {
		size = min(size, max(minBlock, s.memory/perBlock/int64(2*len(s.runs))))
	}
	b := &blocks{set: s, out: out, size: size}
	err = fill(b)
	if err == nil {
		err = b.cut()
	}
	b.drop()
	if err != nil {
		out.Abort()
		return nil, err
	}
	file, err := out.Close()
	if err != nil {
		return nil, err
	}
	return &source{schema: s.schema, file: file, cursor: file.NewCursor(s.limits.Mem), bytes: file.Size(), cost: perBlock * file.MaxBlock()}, nil
}

// copied makes a source of the rows of another, file after file, and closes it.
func (s *Set) copied(ctx context.Context, from *source) (*source, error) {
	rows := make([]int64, len(from.parts))
	to, err := s.spilled(ctx, func(b *blocks) error {
		for i, p := range from.parts {
			r, err := p.Open(ctx)
			if err != nil {
				return err
			}
			if rows[i], err = b.all(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	first := int64(0)
	for i, p := range from.parts {
		at, n := first, rows[i]
		to.parts = append(to.parts, Part{Level: p.Level, Open: func(context.Context) (batch.Reader, error) {
			return to.cursor.Rows(s.schema, at, n), nil
		}})
		first += n
	}
	return to, from.Close()
}

// merged makes one source of several and closes them.
func (s *Set) merged(ctx context.Context, from []*source) (*source, error) {
	in := make([]batch.Reader, len(from))
	for i, f := range from {
		in[i] = f
	}
	var rows int64
	to, err := s.spilled(ctx, func(b *blocks) (err error) {
		rows, err = b.all(ctx, merge.NewReader(s.merge, in))
		return err
	})
	if err != nil {
		return nil, err
	}
	to.parts = Run{{Open: func(context.Context) (batch.Reader, error) { return to.cursor.Rows(s.schema, 0, rows), nil }}}
	return to, nil
}

// blocks writes rows in blocks of about one size.
type blocks struct {
	set     *Set
	out     *spill.Writer
	size    int64
	waiting []arrow.RecordBatch // owned
	few     int64               // bytes of waiting
}

// all writes all rows of r, which it closes, and says how many they are.
func (b *blocks) all(ctx context.Context, r batch.Reader) (rows int64, err error) {
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return rows, r.Close()
		}
		if err == nil {
			rows += rec.NumRows()
			err = b.add(rec)
		}
		if err != nil {
			return 0, errors.Join(err, r.Close())
		}
	}
}

func (b *blocks) add(rec arrow.RecordBatch) error {
	perRow := max(1, batch.Bytes(rec)/rec.NumRows())
	for from := int64(0); from < rec.NumRows(); {
		n := min(rec.NumRows()-from, max(1, (b.size-b.few)/perRow))
		b.waiting = append(b.waiting, batch.Slice(rec, from, from+n))
		from, b.few = from+n, b.few+n*perRow
		if b.few+perRow > b.size {
			if err := b.cut(); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut writes what waits.
func (b *blocks) cut() error {
	if len(b.waiting) == 0 {
		return nil
	}
	rec, err := batch.Concat(b.set.limits.Mem, b.set.schema, b.waiting)
	if err != nil {
		return err
	}
	b.drop()
	defer rec.Release()
	return b.out.Write(rec)
}

func (b *blocks) drop() {
	for _, r := range b.waiting {
		r.Release()
	}
	b.waiting, b.few = b.waiting[:0], 0
}
