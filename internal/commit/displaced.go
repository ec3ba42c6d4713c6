package commit

import (
	"bytes"
	"context"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// Displaced is a snapshot that this process had made and that is not in the
// table's history any more: another program has published over it, as Java may on
// a local directory, or the table was rolled back behind it. Its rows are gone
// with it.
type Displaced struct {
	Snapshot   int64
	User       string
	Identifier int64
	Operation  string // its commit kind
	// OtherUser is whose snapshot has the id now, "" when none has.
	OtherUser string
	Latest    int64 // newest snapshot that is there, 0 = none
}

// own is what this process has made of a table: of each it commits to, a schema and two
// snapshots at most stay in memory for as long as the Groups do.
type own struct {
	schema *schema.Schema // that was pinned: another file of its id means another table
	last   *snapshot.Snapshot
	rows   *snapshot.Snapshot // the last one that is no compaction, which may be undone
}

// remember notes a snapshot as the last one that this process has made.
func (c *Committer) remember(made *snapshot.Snapshot) {
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	if c.groups.own == nil {
		c.groups.own = map[string]own{}
	}
	o := c.groups.own[c.key]
	o.schema, o.last = c.cfg.Schema, made
	if made.CommitKind != snapshot.Compact {
		o.rows = made
	}
	c.groups.own[c.key] = o
}

// missing sees whether what this process has made last is there still, now that
// latest is the newest snapshot. Where nobody else has committed since, that takes
// no call of the storage, else one read. What has expired is not missed.
func (c *Committer) missing(ctx context.Context, report *Report, latest *snapshot.Snapshot) {
	const doing = "looking for the last snapshot of this process"
	c.groups.mu.Lock()
	o := c.groups.own[c.key]
	c.groups.mu.Unlock()
	if o.rows == nil || latest != nil && sameDelta(o.last, latest) {
		return
	}
	d := Displaced{
		Snapshot: o.rows.ID, User: o.rows.CommitUser, Identifier: o.rows.CommitIdentifier, Operation: string(o.rows.CommitKind), Latest: idOf(latest),
	}
	if there := latest; d.Latest >= d.Snapshot {
		if d.Latest > d.Snapshot {
			// Not through the store, which would look for the earliest one, and list.
			data, err := fileio.ReadFile(ctx, c.cfg.FileIO, c.cfg.Place.SnapshotFile(d.Snapshot))
			if err == nil {
				there, err = snapshot.Parse(data)
			}
			if err != nil {
				if tarnerr.KindOf(err) != tarnerr.NotFound {
					c.warn(doing, err)
				}
				return
			}
		}
		if sameDelta(o.rows, there) {
			return
		}
		d.OtherUser = there.CommitUser
	}
	c.groups.mu.Lock()
	delete(c.groups.own, c.key) // it is told once
	c.groups.mu.Unlock()
	if again, err := c.recreated(ctx, o.schema); again || err != nil {
		c.warn(doing, err)
		return
	}
	report.Displaced = append(report.Displaced, d)
	c.cfg.Listener.Emit(event.SnapshotDisplaced{
		Table: c.cfg.Table, Snapshot: d.Snapshot, User: d.User, Identifier: d.Identifier, Operation: d.Operation, OtherUser: d.OtherUser, Latest: d.Latest,
	})
}

// recreated reports that the table is another one than that of a schema which was
// pinned before: dropped, and created again under its name.
func (c *Committer) recreated(ctx context.Context, pinned *schema.Schema) (bool, error) {
	there := c.cfg.Schema // verified by this try
	if there.ID != pinned.ID {
		var err error
		if there, err = c.cfg.Schemas.Get(ctx, pinned.ID); err != nil {
			if tarnerr.KindOf(err) == tarnerr.NotFound {
				return true, nil
			}
			return false, err
		}
	}
	return there != pinned && !bytes.Equal(there.JSON(), pinned.JSON()), nil
}

// sameDelta reports that two snapshots come from the same draft, also where one is
// what is left of it after it was undone.
func sameDelta(a, b *snapshot.Snapshot) bool { return deltaOf(a) == deltaOf(b) }
