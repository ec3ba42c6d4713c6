package publishertest

import (
	"context"
	"sync"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// TableUUID is the id of the only table of a Catalog, until it is made anew.
const TableUUID = "6f1c6f0e-0000-4000-8000-000000000001"

// Catalog is a server that commits to one table by comparing and swapping, with
// replies that can be lost on their way. Safe for concurrent use.
type Catalog struct {
	mu        sync.Mutex
	snapshots []*snapshot.Snapshot // by id, from 1
	fault     Fault
	recreated string // its id since it was made anew
	// Changed, when set, is told what an id holds now, nil = nothing any more. It is
	// called while nobody else commits.
	Changed func(id int64, s *snapshot.Snapshot)
	// Impatient: a proxy before the catalog asks again when a reply is lost.
	Impatient bool
}

// Fail makes the next commit go wrong.
func (c *Catalog) Fail(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// At is the snapshot of an id, nil when there is none.
func (c *Catalog) At(id int64) *snapshot.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(id)
}

func (c *Catalog) at(id int64) *snapshot.Snapshot {
	if id < 1 || id > int64(len(c.snapshots)) {
		return nil
	}
	return c.snapshots[id-1]
}

// CommitSnapshot implements commit.CatalogClient.
func (c *Catalog) CommitSnapshot(_ context.Context, r commit.CatalogCommit) (bool, error) {
	const op = "committing through test catalog"
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := c.fault
	c.fault = None
	switch fault {
	case Refuse:
		return false, tarnerr.New(tarnerr.Unavailable, op, "connection refused")
	case Drop:
		return false, tarnerr.New(tarnerr.Ambiguous, op, "no answer")
	}
	ok, err := c.swap(r)
	if fault == Lose {
		if c.Impatient {
			return c.swap(r)
		}
		return false, tarnerr.New(tarnerr.Ambiguous, op, "no answer")
	}
	return ok, err
}

func (c *Catalog) swap(r commit.CatalogCommit) (bool, error) {
	if r.TableUUID != c.uuid() {
		return false, tarnerr.New(tarnerr.Conflict, "committing through test catalog", "the table was dropped and created again", "uuid", r.TableUUID)
	}
	latest := c.at(int64(len(c.snapshots)))
	if r.BaseUUID != "" {
		if latest == nil || latest.UUID == nil || *latest.UUID != r.BaseUUID {
			return false, nil
		}
	} else if r.Snapshot.ID != int64(len(c.snapshots))+1 {
		return false, nil
	}
	c.snapshots = append(c.snapshots, r.Snapshot)
	c.changed(r.Snapshot.ID)
	return true, nil
}

func (c *Catalog) changed(id int64) {
	if c.Changed != nil {
		c.Changed(id, c.at(id))
	}
}

func (c *Catalog) uuid() string {
	if c.recreated != "" {
		return c.recreated
	}
	return TableUUID
}

// UUID is the id of the table there is now.
func (c *Catalog) UUID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uuid()
}

// Recreate drops the table and makes one of the same name, elsewhere: the files of
// the old one stay.
func (c *Catalog) Recreate(uuid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recreated, c.snapshots = uuid, nil
}

// Rollback implements commit.Rollbacker. Like that of Java's catalogs it removes
// the snapshot, whose id is given out again.
func (c *Catalog) Rollback(_ context.Context, latest, before *snapshot.Snapshot) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newest := c.at(int64(len(c.snapshots))); newest == nil || newest.ID != latest.ID || newest.DeltaManifestList != latest.DeltaManifestList {
		return tarnerr.New(tarnerr.Contention, "rolling back in test catalog", "it is not the latest snapshot any more", "snapshot", latest.ID)
	}
	c.snapshots = c.snapshots[:before.ID]
	c.changed(latest.ID)
	return nil
}

// SnapshotAt implements commit.CatalogClient.
func (c *Catalog) SnapshotAt(_ context.Context, _, _ string, id int64) (*snapshot.Snapshot, error) {
	if s := c.At(id); s != nil {
		return s, nil
	}
	return nil, tarnerr.New(tarnerr.NotFound, "reading snapshot of test catalog", "no such snapshot", "snapshot", id)
}
