package commit

import (
	"bytes"
	"context"
	"path"
	"sync/atomic"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// NewFilePublisher publishes by creating the snapshot file when there is none,
// in one atomic step of the storage.
func NewFilePublisher(fio fileio.FileIO, place layout.Table) (Publisher, error) {
	return newFilePublisher(fio, place, &atomic.Bool{})
}

// newFilePublisher shares with others of the table what the storage was seen to keep.
func newFilePublisher(fio fileio.FileIO, place layout.Table, proven *atomic.Bool) (Publisher, error) {
	if !fio.Capabilities().ConditionalCreate {
		return nil, tarnerr.New(tarnerr.Unsupported, "opening commit", "the storage cannot create a file only when it is absent, so two writers could overwrite each other's snapshot",
			"table", fio.URI(place.Dir)).
			WithHint("Use a storage with conditional create (local disk, S3 with conditional writes), give the engine a lock that all writers take (Components.Lock), or use a catalog that commits, such as a REST catalog.")
	}
	return filePublisher{fio, place, proven}, nil
}

// prover is a publisher whose storage may have to be tried out.
type prover interface {
	prove(ctx context.Context, name func() string) error
}

// Prove tries out, once, a storage that promises conditional create and may not keep
// it, so that who is about to write rows learns it before and not at the commit. On
// other storages, and under a lock or a catalog, it does nothing.
func (c *Committer) Prove(ctx context.Context) error {
	p, ok := c.publisher.(prover)
	if !ok {
		return nil
	}
	return p.prove(ctx, c.cfg.Env.UUID)
}

type filePublisher struct {
	fio    fileio.FileIO
	place  layout.Table
	proven *atomic.Bool // creating when absent was seen to work; nil = nothing depends on it
}

// prove tries out, once, whether the storage keeps the promise that all depends on,
// with a file whose name nobody else has.
func (p filePublisher) prove(ctx context.Context, name func() string) error {
	if p.proven == nil || !p.fio.Capabilities().Unproven || p.proven.Load() {
		return nil
	}
	file := path.Join(p.place.BranchDir(), ".tarn", "probe-"+name())
	if err := fileio.ProbeCreateIfAbsent(ctx, p.fio, file); err != nil {
		return tarnerr.Trace("probing storage", err, "table", p.fio.URI(p.place.Dir))
	}
	p.proven.Store(true)
	return nil
}

// Publish implements Publisher. When the id is taken or the effect in doubt, it
// reads back what lies there: exactly our bytes are our snapshot, another
// commit's snapshot is a lost race. An earlier try of the same commit is
// neither, the caller has to look at it.
func (p filePublisher) Publish(ctx context.Context, pub Publication) (Outcome, error) {
	const op = "publishing snapshot"
	// The name of a manifest list is nobody else's.
	if err := p.prove(ctx, func() string { return pub.Next.DeltaManifestList }); err != nil {
		return Unknown, err
	}
	file := p.place.SnapshotFile(pub.Next.ID)
	data := pub.Next.Marshal()
	err := p.fio.CreateIfAbsent(ctx, file, data)
	if err == nil {
		return Committed, nil
	}
	kind := tarnerr.KindOf(err)
	if kind != tarnerr.AlreadyExists && kind != tarnerr.Ambiguous {
		return Unknown, tarnerr.Trace(op, err, "snapshot", pub.Next.ID)
	}
	outcome, readErr := p.at(ctx, pub.Next, data)
	switch {
	case outcome != Unknown || tarnerr.KindOf(readErr) == tarnerr.Ambiguous:
		return outcome, readErr
	case kind == tarnerr.Ambiguous:
		return Unknown, tarnerr.Trace(op, err, "snapshot", pub.Next.ID)
	}
	return Unknown, tarnerr.Wrap(tarnerr.Ambiguous, op, readErr, "snapshot", pub.Next.ID)
}

// at reads what lies at the id of next, whose bytes are data. NotFound when nothing
// does; Ambiguous when an earlier try of the same commit does.
func (p filePublisher) at(ctx context.Context, next *snapshot.Snapshot, data []byte) (Outcome, error) {
	const op = "reading back snapshot"
	there, err := fileio.ReadFile(ctx, p.fio, p.place.SnapshotFile(next.ID))
	switch {
	case err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous: // reading leaves nothing in doubt
		return Unknown, tarnerr.Wrap(tarnerr.Unavailable, op, err, "snapshot", next.ID)
	case err != nil:
		return Unknown, tarnerr.Trace(op, err, "snapshot", next.ID)
	case bytes.Equal(there, data):
		return Committed, nil
	case !sameCommit(there, next):
		return LostRace, nil
	}
	return Unknown, tarnerr.New(tarnerr.Ambiguous, op, "an earlier try of this commit holds the id", "snapshot", next.ID)
}
