package paimon

import (
	"context"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// batchWrite writes one commit.
type batchWrite struct{ writing }

// NewBatchWrite implements table.Table.
func (t *Table) NewBatchWrite(ctx context.Context, opts table.WriteOptions) (table.BatchWrite, error) {
	w, err := t.newWriting(ctx, "starting batch write", opts)
	if err != nil {
		return nil, err
	}
	// It has no later commit that could take what is compacted meanwhile.
	w.writer.WaitForCompaction(true)
	if t.options.Compaction.FullDelta > 0 {
		w.writer.CompactFully()
	}
	return &batchWrite{*w}, nil
}

// Prepare implements table.BatchWrite. The write is over then: its messages
// belong to the caller.
func (w *batchWrite) Prepare(ctx context.Context) ([]table.Message, error) {
	messages, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	w.end("it was prepared")
	return wrap(messages), nil
}

// Commit implements table.BatchWrite. When it fails for certain, the files
// written are removed; when nobody can tell, they are kept.
func (w *batchWrite) Commit(ctx context.Context) (*table.CommitReport, error) {
	messages, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	w.end("it was committed")
	report, err := w.commit(ctx, table.BatchIdentifier, messages, true)
	if err != nil && tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
		w.table.warn("removing files of a failed commit", w.discard(ctx, messages))
	}
	return report, err
}

// Abort implements table.BatchWrite.
func (w *batchWrite) Abort(ctx context.Context) error {
	w.end("it was aborted")
	return w.writer.Abort(ctx)
}

// Close implements table.BatchWrite.
func (w *batchWrite) Close() error {
	w.end("it is closed")
	return w.writer.Close()
}
