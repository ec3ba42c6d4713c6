package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// CatalogClient is a catalog that commits, as a publisher sees it. Safe for
// concurrent use.
type CatalogClient interface {
	// CommitSnapshot asks the catalog, once, to make a snapshot the latest one of its
	// table. true: it is. false: the catalog has refused it, for what the table
	// had then. An error of kind Ambiguous, CommitStateUnknown or Internal leaves open
	// whether it is; after any other kind it is not.
	CommitSnapshot(ctx context.Context, c CatalogCommit) (bool, error)
	// SnapshotAt returns the snapshot that the catalog has under an id. NotFound when
	// it has none, or not any more.
	SnapshotAt(ctx context.Context, table, branch string, id int64) (*snapshot.Snapshot, error)
}

// CatalogCommit is what the catalog compares and what it sets. It refuses the
// commit when the table is another one, and when BaseUUID is not that of its latest
// snapshot, or, with an empty BaseUUID, when the snapshot's id is not the next one.
type CatalogCommit struct {
	Table, TableUUID, Branch string
	BaseUUID                 string
	Snapshot                 *snapshot.Snapshot
	Partitions               []PartitionStats
}

// NewCatalogPublisher publishes through a catalog, by compare-and-swap: on the
// base's uuid, where that has one and the catalog compares them, else on the id
// and the uuid of the table (P13). Snapshots made for a catalog that compares uuids
// have one.
func NewCatalogPublisher(client CatalogClient, comparesUUIDs bool) Publisher {
	return catalogPublisher{client, comparesUUIDs}
}

type catalogPublisher struct {
	client        CatalogClient
	comparesUUIDs bool
}

// comparesBase implements comparer.
func (p catalogPublisher) comparesBase() bool { return p.comparesUUIDs }

// Publish implements Publisher. A refusal is no proof: a proxy that asks again
// when a reply is lost is refused by its own success. So what the catalog has under
// the id decides.
func (p catalogPublisher) Publish(ctx context.Context, pub Publication) (Outcome, error) {
	const op = "publishing snapshot through the catalog"
	if err := ctx.Err(); err != nil {
		return Unknown, tarnerr.Wrap(tarnerr.Unavailable, op, err, "snapshot", pub.Next.ID)
	}
	c := CatalogCommit{Table: pub.Table, TableUUID: pub.TableUUID, Branch: pub.Branch, Snapshot: pub.Next, Partitions: pub.Partitions}
	if p.comparesUUIDs && pub.Base != nil && pub.Base.UUID != nil {
		c.BaseUUID = *pub.Base.UUID
	}
	ok, err := p.client.CommitSnapshot(ctx, c)
	switch {
	case err == nil && ok:
		return Committed, nil
	case err != nil && !inDoubt(err):
		return Unknown, tarnerr.Trace(op, err, "snapshot", pub.Next.ID)
	case err == nil:
		err = tarnerr.New(tarnerr.Ambiguous, op, "the catalog has refused the snapshot and has none under its id")
	}
	there, readErr := p.client.SnapshotAt(ctx, pub.Table, pub.Branch, pub.Next.ID)
	switch {
	case readErr != nil && tarnerr.KindOf(readErr) != tarnerr.NotFound:
		return Unknown, tarnerr.Wrap(tarnerr.Ambiguous, op, err, "snapshot", pub.Next.ID, "reading back", readErr)
	case readErr != nil || there == nil:
		return Unknown, tarnerr.Wrap(tarnerr.Ambiguous, op, err, "snapshot", pub.Next.ID)
	case !identity{pub.Next.CommitUser, pub.Next.CommitIdentifier, pub.Next.CommitKind, []string{pub.Next.DeltaManifestList}}.matches(there):
		return LostRace, nil
	case there.BaseManifestList == pub.Next.BaseManifestList && there.DeltaManifestList == pub.Next.DeltaManifestList:
		return Committed, nil
	}
	return Unknown, tarnerr.New(tarnerr.Ambiguous, op, "an earlier try of this commit holds the id", "snapshot", pub.Next.ID)
}

// leftToCatalog undoes no compaction: its snapshot is the catalog's, and the
// catalog offers no way.
type leftToCatalog struct{}

// Rollback implements Rollbacker.
func (leftToCatalog) Rollback(_ context.Context, latest, _ *snapshot.Snapshot) error {
	return tarnerr.New(tarnerr.Unsupported, "rolling back a compaction", "a rollback by the catalog", "snapshot", latest.ID).
		WithHint("Do the work again on the new snapshot.")
}
