package cli

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// importWriter hides whether an import is one batch commit or a stream of them.
type importWriter interface {
	Write(ctx context.Context, rows arrow.RecordBatch) error
	commit(ctx context.Context) (*table.CommitReport, error)
	Close() error
}

func newImportWriter(ctx context.Context, t table.Table, fl importFlags) (importWriter, error) {
	if fl.user == "" && fl.commitEvery == 0 {
		w, err := t.NewBatchWrite(ctx, table.WriteOptions{Overwrite: fl.replaced})
		if err != nil {
			return nil, err
		}
		return batchImport{w}, nil
	}
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: fl.user})
	if err != nil {
		return nil, err
	}
	s := &streamImport{StreamWrite: w, next: max(fl.identifier, 1)}
	if fl.user != "" {
		err = s.lookBack(ctx, t)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return s, nil
}

type batchImport struct{ table.BatchWrite }

func (w batchImport) commit(ctx context.Context) (*table.CommitReport, error) { return w.Commit(ctx) }

// streamImport commits under next, next+1, …. Those that an earlier run committed
// already are passed over, rows and all, instead of being written twice.
type streamImport struct {
	table.StreamWrite
	next      int64
	committed map[int64]bool // by this user, where that is not below next
	last      int64          // highest of them
}

// lookBack finds what the user has committed. An identifier below the user's
// last one that is not among the live snapshots may be a mistake, or committed
// and expired: it is refused, since its rows must neither be lost nor doubled.
func (w *streamImport) lookBack(ctx context.Context, t table.Table) error {
	last, ok, err := w.LastCommitted(ctx)
	if err != nil || !ok || last < w.next {
		return err
	}
	w.last, w.committed = last, map[int64]bool{}
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return err
		}
		if s.CommitUser == w.User() {
			w.committed[s.CommitIdentifier] = true
		}
	}
	if !w.committed[w.next] {
		return tarnerr.New(tarnerr.Invalid, "importing", "commit identifiers of a user must grow", "user", w.User(), "identifier", w.next, "last", last).
			WithHint("Go on with --commit-id %d, or name another --commit-user.", last+1)
	}
	return nil
}

func (w *streamImport) already() bool { return w.committed[w.next] }

func (w *streamImport) Write(ctx context.Context, rows arrow.RecordBatch) error {
	if w.already() {
		return nil
	}
	return w.StreamWrite.Write(ctx, rows)
}

func (w *streamImport) commit(ctx context.Context) (*table.CommitReport, error) {
	id := w.next
	if id >= table.BatchIdentifier {
		return nil, tarnerr.New(tarnerr.Invalid, "importing", "commit identifiers are used up", "user", w.User(), "identifier", id)
	}
	already := w.already()
	w.next++
	if already {
		return &table.CommitReport{Status: table.Succeeded, User: w.User(), Identifier: id, Already: true}, nil
	}
	return w.Commit(ctx, id)
}
