package batch

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/tarnerr"
)

// Of is a reader over batches in memory, which it retains.
func Of(schema *arrow.Schema, recs ...arrow.RecordBatch) Reader {
	for _, r := range recs {
		r.Retain()
	}
	return &memoryReader{schema: schema, recs: recs}
}

type memoryReader struct {
	schema *arrow.Schema
	recs   []arrow.RecordBatch
	cur    arrow.RecordBatch
}

func (m *memoryReader) Schema() *arrow.Schema { return m.schema }

func (m *memoryReader) Next(context.Context) (arrow.RecordBatch, error) {
	m.drop()
	for len(m.recs) > 0 {
		m.cur, m.recs = m.recs[0], m.recs[1:]
		if m.cur.NumRows() > 0 {
			return m.cur, nil
		}
		m.drop()
	}
	return nil, io.EOF
}

func (m *memoryReader) drop() {
	if m.cur != nil {
		m.cur.Release()
		m.cur = nil
	}
}

func (m *memoryReader) Close() error {
	m.drop()
	for _, r := range m.recs {
		r.Release()
	}
	m.recs = nil
	return nil
}

// Chain reads one reader after the other. Each is opened when the one before it
// has ended, and closed at its end, so that one at a time is open.
func Chain(schema *arrow.Schema, open ...func(context.Context) (Reader, error)) Reader {
	return &chain{schema: schema, open: open}
}

type chain struct {
	schema *arrow.Schema
	open   []func(context.Context) (Reader, error)
	cur    Reader
	closed bool
}

func (c *chain) Schema() *arrow.Schema { return c.schema }

func (c *chain) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if c.closed {
			return nil, tarnerr.New(tarnerr.Closed, "reading batches", "reader is closed")
		}
		if c.cur == nil {
			if len(c.open) == 0 {
				return nil, io.EOF
			}
			r, err := c.open[0](ctx)
			if err != nil {
				return nil, err
			}
			c.cur, c.open = r, c.open[1:]
		}
		rec, err := c.cur.Next(ctx)
		if err != io.EOF {
			return rec, err
		}
		err = c.cur.Close()
		c.cur = nil
		if err != nil {
			return nil, err
		}
	}
}

func (c *chain) Close() error {
	c.closed = true
	c.open = nil
	if c.cur == nil {
		return nil
	}
	err := c.cur.Close()
	c.cur = nil
	return err
}
