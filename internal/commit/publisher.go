package commit

import (
	"bytes"
	"context"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// NewFilePublisher publishes by creating the snapshot file when there is none,
// in one atomic step of the storage.
func NewFilePublisher(fio fileio.FileIO, place layout.Table) (Publisher, error) {
	if !fio.Capabilities().ConditionalCreate {
		return nil, tarnerr.New(tarnerr.Unsupported, "opening commit", "the storage cannot create a file only when it is absent, so two writers could overwrite each other's snapshot",
			"table", fio.URI(place.Dir)).
			WithHint("Use a storage with conditional create (local disk, S3 with conditional writes), or a catalog that commits, such as a REST catalog.")
	}
	return filePublisher{fio, place}, nil
}

type filePublisher struct {
	fio   fileio.FileIO
	place layout.Table
}

// Publish implements Publisher. When the id is taken or the effect in doubt, it
// reads back what lies there: exactly our bytes are our snapshot, another
// commit's snapshot is a lost race. An earlier try of the same commit is
// neither, the caller has to look at it.
func (p filePublisher) Publish(ctx context.Context, pub Publication) (Outcome, error) {
	const op = "publishing snapshot"
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
	there, readErr := fileio.ReadFile(ctx, p.fio, file)
	switch {
	case readErr == nil && bytes.Equal(there, data):
		return Committed, nil
	case readErr == nil && !sameCommit(there, pub.Next):
		return LostRace, nil
	case readErr == nil:
		return Unknown, tarnerr.New(tarnerr.Ambiguous, op, "an earlier try of this commit holds the id", "snapshot", pub.Next.ID)
	case kind == tarnerr.Ambiguous:
		return Unknown, tarnerr.Trace(op, err, "snapshot", pub.Next.ID)
	}
	return Unknown, tarnerr.Wrap(tarnerr.Ambiguous, op, readErr, "snapshot", pub.Next.ID)
}
