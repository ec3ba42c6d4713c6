package cli

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/table"
)

// importWriter hides whether an import is one batch commit or a stream of them.
type importWriter interface {
	Write(ctx context.Context, rows arrow.RecordBatch) error
	commit(ctx context.Context) (*table.CommitReport, error)
	// first reports that nothing was committed yet.
	first() bool
	Close() error
}

func newImportWriter(ctx context.Context, t table.Table, fl importFlags) (importWriter, error) {
	if fl.user == "" && fl.commitEvery == 0 {
		w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
		return &batchImport{BatchWrite: w}, err
	}
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: fl.user})
	if err != nil {
		return nil, err
	}
	s := &streamImport{StreamWrite: w, next: max(fl.identifier, 1)}
	s.done, s.any, err = w.LastCommitted(ctx)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return s, nil
}

type batchImport struct {
	table.BatchWrite
	committed bool
}

func (w *batchImport) first() bool { return !w.committed }

func (w *batchImport) commit(ctx context.Context) (*table.CommitReport, error) {
	w.committed = true
	return w.Commit(ctx)
}

// streamImport commits under next, next+1, …; those up to done were committed by
// an earlier run, so their rows are dropped instead of being written twice.
type streamImport struct {
	table.StreamWrite
	next, done int64
	any        bool
	committed  bool
}

func (w *streamImport) first() bool { return !w.committed }

func (w *streamImport) already() bool { return w.any && w.next <= w.done }

func (w *streamImport) Write(ctx context.Context, rows arrow.RecordBatch) error {
	if w.already() {
		return nil
	}
	return w.StreamWrite.Write(ctx, rows)
}

func (w *streamImport) commit(ctx context.Context) (*table.CommitReport, error) {
	id := w.next
	w.next++
	w.committed = true
	if w.any && id <= w.done {
		return &table.CommitReport{Status: table.Succeeded, User: w.User(), Identifier: id, Already: true}, nil
	}
	return w.Commit(ctx, id)
}
