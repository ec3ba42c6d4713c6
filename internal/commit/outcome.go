package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// Outcome is what became of a publish.
type Outcome uint8

const (
	// Unknown: the snapshot may have landed or not. The zero value, because it
	// is the safe one: no file may be deleted and nothing repeated.
	Unknown Outcome = iota
	// Committed: the id holds our snapshot, durably.
	Committed
	// LostRace: proven that the id holds someone else's snapshot.
	LostRace
)

// String is the outcome as reports and events show it.
func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case LostRace:
		return "lost race"
	default:
		return "unknown"
	}
}

// Publication is one snapshot to be published, with what a catalog or a branch
// need to know beside it.
type Publication struct {
	Table string // full name, for messages
	// TableUUID is the catalog's id of the table, "" where it has none.
	TableUUID string
	Branch    string // "" = main
	Base      *snapshot.Snapshot
	Next      *snapshot.Snapshot
	// Partitions sums up what the snapshot changes, per partition.
	Partitions []PartitionStats
}

// PartitionStats is the change a snapshot makes to one partition.
type PartitionStats struct {
	Spec    string // k=v/k=v, "" without partition keys
	Records int64
	Bytes   int64
	Files   int64
}

// Publisher is the atomic step. Publish returns Committed or LostRace only when
// that is proven; otherwise Unknown with the reason. LostRace comes with a nil
// error, and so does Committed.
//
// An error with an outcome of Unknown whose kind is not Ambiguous means that
// the step failed before it had any effect: nothing was published.
type Publisher interface {
	Publish(ctx context.Context, p Publication) (Outcome, error)
}

// comparer is a Publisher that may compare the base by its uuid: then each snapshot
// is to have one, so that the next can be told from another of the same id.
type comparer interface{ comparesBase() bool }
