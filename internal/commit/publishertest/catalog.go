package publishertest

import (
	"context"
	"sync"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// TableUUID is the id of the only table of a Catalog.
const TableUUID = "6f1c6f0e-0000-4000-8000-000000000001"

// Catalog is a server that commits to one table by comparing and swapping, with
// replies that can be lost on their way. Safe for concurrent use.
type Catalog struct {
	mu        sync.Mutex
	snapshots []*snapshot.Snapshot // by id, from 1
	fault     Fault
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
	if r.TableUUID != TableUUID {
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
	return true, nil
}

// SnapshotAt implements commit.CatalogClient.
func (c *Catalog) SnapshotAt(_ context.Context, _, _ string, id int64) (*snapshot.Snapshot, error) {
	if s := c.At(id); s != nil {
		return s, nil
	}
	return nil, tarnerr.New(tarnerr.NotFound, "reading snapshot of test catalog", "no such snapshot", "snapshot", id)
}
