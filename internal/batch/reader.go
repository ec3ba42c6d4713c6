package batch

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Reader yields record batches of one schema. Not safe for concurrent use.
type Reader interface {
	// Schema is the schema of every batch.
	Schema() *arrow.Schema
	// Next returns the next batch, valid until the next Next or Close (whoever
	// keeps it retains it), or io.EOF after the last. A batch is never empty.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close frees the reader and its last batch. Calling it again does nothing.
	Close() error
}
