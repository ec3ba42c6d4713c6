package fileformat

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// Bounds of a batch. Formats have fewer rows in one that would get larger.
const (
	DefaultBatchRows = 16 << 10
	BatchBytes       = batch.MostBytes / 4
)

// BatchRows is how many rows a batch of this schema has when so many are asked
// for, 0 = the default: rows take as much at least as their fixed parts do.
func BatchRows(schema *arrow.Schema, asked int) int {
	if asked <= 0 {
		asked = DefaultBatchRows
	}
	per := int64(1)
	for _, f := range schema.Fields() {
		per += batch.SlotBytes(f.Type)
	}
	return int(min(int64(asked), max(1, BatchBytes/per)))
}

// FewerRows is how many rows are tried in a batch after one of so many got too large.
func FewerRows(rows int) int { return max(1, rows/16) }

// Decoder makes the batches of a file.
type Decoder interface {
	// Decode makes the next batch, which is the caller's; io.EOF after the last.
	Decode(ctx context.Context) (arrow.RecordBatch, error)
	// Release drops what is under way.
	Release()
}

// NewReader gives the batches that d makes one after the other. The first error
// sticks. What is the name of the format, for errors.
func NewReader(schema *arrow.Schema, what, path string, d Decoder) batch.Reader {
	return &reader{schema: schema, op: "reading " + what + " file", path: path, decoder: d}
}

type reader struct {
	schema   *arrow.Schema
	op, path string
	decoder  Decoder
	last     arrow.RecordBatch
	failed   error
	closed   bool
}

// Schema implements [batch.Reader].
func (r *reader) Schema() *arrow.Schema { return r.schema }

// Next implements [batch.Reader].
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.closed {
		return nil, tarnerr.New(tarnerr.Closed, r.op, "reader is closed", "path", r.path)
	}
	if r.failed != nil {
		return nil, r.failed
	}
	r.drop()
	if err := ctx.Err(); err != nil {
		r.failed = tarnerr.Wrap(tarnerr.Closed, r.op, err, "path", r.path)
		return nil, r.failed
	}
	r.last, r.failed = r.decoder.Decode(ctx)
	return r.last, r.failed
}

func (r *reader) drop() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

// Close implements [batch.Reader].
func (r *reader) Close() error {
	if !r.closed {
		r.closed = true
		r.drop()
		r.decoder.Release()
	}
	return nil
}
