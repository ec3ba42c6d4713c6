package commit

import (
	"context"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Lock is a lock outside of the storage that every writer of a table takes: in a
// database, a metastore, a lock service. Safe for concurrent use.
type Lock interface {
	// Run holds the lock of a table while it calls f, once, and returns f's error.
	// f's context ends when the lock is lost. Without the lock Run does not call f. When
	// the lock was, or may have been, lost before f returned, Run returns an error
	// of its own: whatever f said, another one may have worked beside it.
	Run(ctx context.Context, database, table string, f func(ctx context.Context) error) error
}

// NewLockedPublisher publishes by looking for the snapshot file and writing it,
// both under a lock. It is for storages that cannot create a file only when it
// is absent; where they can, the lock comes on top of that.
func NewLockedPublisher(fio fileio.FileIO, place layout.Table, lock Lock, database, table string) Publisher {
	return lockedPublisher{filePublisher{fio: fio, place: place}, lock, database, table}
}

type lockedPublisher struct {
	file            filePublisher
	lock            Lock
	database, table string
}

// Publish implements Publisher. A lock that was lost in between leaves the outcome
// unknown, unless nothing was written.
func (p lockedPublisher) Publish(ctx context.Context, pub Publication) (Outcome, error) {
	const op = "publishing snapshot under a lock"
	var ran, wrote bool
	var outcome Outcome
	var pubErr error
	err := p.lock.Run(ctx, p.database, p.table, func(ctx context.Context) error {
		ran = true
		outcome, wrote, pubErr = p.locked(ctx, pub)
		return pubErr
	})
	kv := []any{"database", p.database, "table", p.table, "snapshot", pub.Next.ID}
	switch {
	case !ran && err == nil:
		return Unknown, tarnerr.New(tarnerr.Unavailable, op, "the lock was not taken", kv...)
	case !ran && inDoubt(err): // about the lock: nothing was published
		return Unknown, tarnerr.Wrap(tarnerr.Unavailable, op, err, kv...)
	case !ran:
		return Unknown, tarnerr.Trace(op, err, kv...)
	case err == nil, err == pubErr, outcome == LostRace && !wrote:
		return outcome, pubErr
	case !wrote:
		return Unknown, tarnerr.Wrap(tarnerr.Unavailable, op, err, kv...)
	}
	return Unknown, tarnerr.Wrap(tarnerr.Ambiguous, op, err, kv...)
}

// locked publishes while the lock is held. wrote says that the storage was asked to
// write.
func (p lockedPublisher) locked(ctx context.Context, pub Publication) (outcome Outcome, wrote bool, err error) {
	const op = "publishing snapshot"
	data := pub.Next.Marshal()
	outcome, err = p.file.at(ctx, pub.Next, data)
	if outcome != Unknown || tarnerr.KindOf(err) != tarnerr.NotFound {
		return outcome, false, err
	}
	if err := ctx.Err(); err != nil { // the lock is lost, or the caller has gone
		return Unknown, false, tarnerr.Wrap(tarnerr.Unavailable, op, err, "snapshot", pub.Next.ID)
	}
	if p.file.fio.Capabilities().ConditionalCreate {
		outcome, err = p.file.Publish(ctx, pub)
		return outcome, true, err
	}
	err = p.file.fio.Replace(ctx, p.file.place.SnapshotFile(pub.Next.ID), data)
	if err == nil {
		return Committed, true, nil
	}
	if tarnerr.KindOf(err) == tarnerr.Ambiguous {
		if outcome, _ := p.file.at(ctx, pub.Next, data); outcome == Committed {
			return Committed, true, nil
		}
	}
	return Unknown, true, tarnerr.Trace(op, err, "snapshot", pub.Next.ID)
}
