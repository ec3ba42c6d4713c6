package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Callback runs after a snapshot has landed: tags, partitions of a metastore,
// the Iceberg face. Its failure never turns a landed commit into an error; it
// is in the report, and the callback must repair it when it is called next.
type Callback interface {
	Name() string
	Landed(ctx context.Context, l Landed) error
}

// Landed is what a callback is told.
type Landed struct {
	Table    string
	Base     *snapshot.Snapshot // nil for the first snapshot
	Snapshot *snapshot.Snapshot
	Files    []manifest.Entry // the delta of Snapshot
}

// CallbackOutcome is how a callback ended that ran after a snapshot had landed.
type CallbackOutcome struct {
	Name     string
	Snapshot int64
	Err      error // nil = it succeeded
}
