package paimon

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// streamWrite writes a sequence of commits.
type streamWrite struct {
	writing
	// pending are files of a commit that failed for certain and can be tried again.
	pending []*commitmsg.Message
	last    int64 // highest identifier committed by the user
	hasLast bool
	asked   bool // last was looked up
	resumed bool // what earlier streams of the user left to compactions was looked for
	// prepared counts what was prepared without being told its identifier.
	prepared int64
}

// NewStreamWrite implements table.Table.
func (t *Table) NewStreamWrite(ctx context.Context, opts table.WriteOptions) (table.StreamWrite, error) {
	const op = "starting stream write"
	if opts.Overwrite != nil {
		return nil, tarnerr.New(tarnerr.Invalid, op, "a stream adds rows, it does not overwrite", "table", t.name).
			WithHint("Overwrite with a batch write.")
	}
	w, err := t.newWriting(ctx, op, opts)
	if err != nil {
		return nil, err
	}
	// A changelog that is looked up comes with the rows it tells of.
	w.writer.WaitForCompaction(t.options.Changelog.Lookup && t.options.Changelog.LookupWait)
	return &streamWrite{writing: *w}, nil
}

// User implements table.StreamWrite.
func (w *streamWrite) User() string { return w.user }

// LastCommitted implements table.StreamWrite.
func (w *streamWrite) LastCommitted(ctx context.Context) (int64, bool, error) {
	if err := w.ask(ctx); err != nil {
		return 0, false, err
	}
	return w.last, w.hasLast, nil
}

// ask looks the user's last commit up once; its own commits follow from there.
func (w *streamWrite) ask(ctx context.Context) error {
	if w.asked {
		return nil
	}
	last, ok, err := w.committer.LastCommitted(ctx, w.user)
	if err != nil {
		return trace("finding last commit", err, w.table.name, "user", w.user)
	}
	w.last, w.hasLast, w.asked = last, ok, true
	return nil
}

// Prepare implements table.StreamWrite. Its messages belong to the caller.
func (w *streamWrite) Prepare(ctx context.Context) ([]table.Message, error) {
	w.prepared++
	w.compactFully(w.prepared)
	messages, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	messages = append(w.pending, messages...)
	w.pending = nil
	return wrap(messages), nil
}

// WaitForCompaction implements table.StreamWrite.
func (w *streamWrite) WaitForCompaction(wait bool) { w.writer.WaitForCompaction(wait) }

// compactFully asks for a full compaction where full-compaction.delta-commits has
// one with this commit.
func (w *streamWrite) compactFully(identifier int64) {
	if n := int64(w.table.options.Compaction.FullDelta); n > 0 && identifier%n == 0 {
		w.writer.CompactFully()
	}
}

// resume finds the buckets whose rows an earlier stream of the user left to compactions
// that are yet to tell or show them: they may never be written to again. Java keeps their
// names in the state of its job; here the table is all there is to know of them. A stream
// that only prepares may be one of several under one user, of which none can take what
// is left for its own.
func (w *streamWrite) resume(ctx context.Context) error {
	t := w.table
	settled := t.settledLevel()
	if t.options.Changelog.Lookup {
		settled = max(settled, 1)
	}
	if w.resumed || !w.hasLast || settled == 0 || !t.compactsBeside() {
		w.resumed = true
		return nil
	}
	snap, err := t.snapshots.Latest(ctx)
	if err != nil {
		return err
	}
	manifests, err := t.reading()
	if err != nil {
		return err
	}
	holdings, err := compact.Inventory(ctx, manifests, snap, nil, func(b int32) bool { return b >= 0 })
	if err != nil {
		return err
	}
	holdings = slices.DeleteFunc(holdings, func(h compact.Holding) bool {
		return !slices.ContainsFunc(h.Files, func(f *datafile.Meta) bool { return f.Level < settled })
	})
	if err := w.writer.Owe(ctx, holdings); err != nil {
		return err
	}
	w.resumed = true
	return nil
}

// Commit implements table.StreamWrite. After a failure that leaves the table as
// it was and can pass (Contention, Unavailable), the same Commit may be called
// again: the rows are kept. After CommitStateUnknown the write is over: a new one
// learns from LastCommitted what became of it.
func (w *streamWrite) Commit(ctx context.Context, identifier int64) (*table.CommitReport, error) {
	const op = "committing"
	if w.over != nil {
		return nil, trace(op, w.over, w.table.name)
	}
	if err := w.ask(ctx); err != nil {
		return nil, err
	}
	if w.hasLast && identifier <= w.last {
		return nil, tarnerr.New(tarnerr.AlreadyExists, op, "the user has committed this identifier already", "table", w.table.name,
			"user", w.user, "identifier", identifier, "last", w.last).
			WithHint("Go on above LastCommitted, with the rows that follow it.")
	}
	if identifier == table.BatchIdentifier {
		return nil, tarnerr.New(tarnerr.Invalid, op, "the identifier of batch commits in a stream", "table", w.table.name, "identifier", identifier).
			WithHint("Number the commits of a stream from 1.")
	}
	if err := w.resume(ctx); err != nil {
		return nil, trace(op, err, w.table.name)
	}
	w.compactFully(identifier)
	messages, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	w.pending = append(w.pending, messages...)
	report, err := w.commit(ctx, identifier, w.pending, false)
	switch {
	case err == nil:
		w.last, w.hasLast, w.pending = identifier, true, nil
		if report.Compaction == "" {
			w.writer.Committed()
		} else { // the rows are in; who compacted before has changed the buckets
			w.table.warn("giving up compactions", w.writer.Forget(context.WithoutCancel(ctx)))
		}
	case tarnerr.KindOf(err) == tarnerr.CommitStateUnknown:
		w.pending = nil // nobody may delete them now
		w.end("it is not known whether its last commit landed")
	}
	return report, err
}

// Abort implements table.StreamWrite: what is not committed is given up. The
// write can go on.
func (w *streamWrite) Abort(ctx context.Context) error {
	err := w.discard(ctx, w.pending)
	w.pending = nil
	if abortErr := w.writer.Abort(ctx); err == nil {
		err = abortErr
	}
	return err
}

// Close implements table.StreamWrite.
func (w *streamWrite) Close() error {
	if len(w.pending) > 0 {
		w.table.warn("removing files of a failed commit", w.discard(context.Background(), w.pending))
		w.pending = nil
	}
	w.end("it is closed")
	return w.writer.Close()
}
