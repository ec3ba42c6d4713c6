package commit

import (
	"context"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Rollbacker undoes a compaction that stands in the way of a removal of rows: it
// can be made again, the removal perhaps not (P14). After a nil error the latest
// snapshot is one without the compaction. An error of kind Ambiguous, Contention
// or Unavailable leaves open whether that has happened: both states are right, and
// the commit looks again. After any other the conflict stands.
//
// latest is a COMPACT and was the newest snapshot a moment ago, before is the
// one it followed. A catalog that commits rolls back to before on the condition
// that latest is still the newest.
type Rollbacker interface {
	Rollback(ctx context.Context, latest, before *snapshot.Snapshot) error
}

// makeRoom undoes the compaction base, when there is nothing else in the way of
// the change. It reports whether another try is worth it.
func (t *tries) makeRoom(ctx context.Context, base *snapshot.Snapshot, ch *change) (bool, error) {
	if !ch.yields || base == nil || base.CommitKind != snapshot.Compact || base.ID == 1 || base.ChangelogManifestList != nil {
		// A changelog may have been read: it cannot be taken back.
		return false, nil
	}
	before, err := t.c.snapshots.Get(ctx, base.ID-1)
	if err != nil {
		if gone(err) {
			return false, nil
		}
		return false, err
	}
	held, err := t.holdAgainst(ctx, before, ch)
	if err != nil {
		if gone(err) {
			return false, nil
		}
		return false, err
	}
	if c, err := t.conflictWith(ctx, before, held, ch); c != nil || err != nil {
		return false, err
	}
	t.read = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.c.cfg.PublishTimeout)
	defer cancel()
	if err := t.c.rollback.Rollback(ctx, base, before); err != nil {
		t.c.warn("rolling back a compaction", err)
		switch tarnerr.KindOf(err) {
		case tarnerr.Ambiguous, tarnerr.CommitStateUnknown, tarnerr.Contention, tarnerr.Unavailable:
			return true, nil // it may have happened, or may the next time
		}
		return false, nil
	}
	t.report.RolledBack = append(t.report.RolledBack, base.ID)
	return true, nil
}

// emptier rolls a compaction back on a file system: in one step its snapshot
// file becomes that of a compaction which changes nothing.
//
// The file is not deleted, as Java's catalogs do: whoever has built its snapshot
// on the compaction already will publish the next id, and would be lost as soon
// as this one were given out again. So ids stay taken. Such a commit brings the
// compaction back, as part of its own state, and no row is lost either way. The
// files that the compaction wrote, and its manifest lists, are left to the
// clean-up of orphans: that commit may need them, and so may readers.
type emptier struct{ c *Committer }

// Rollback implements Rollbacker.
func (r emptier) Rollback(ctx context.Context, latest, before *snapshot.Snapshot) error {
	const op = "emptying compaction"
	c := r.c
	kv := []any{"snapshot", latest.ID}
	followed, err := c.snapshots.Exists(ctx, latest.ID+1)
	if err != nil {
		return tarnerr.Trace(op, err, kv...)
	}
	there, err := c.snapshots.Get(ctx, latest.ID)
	if err != nil {
		return tarnerr.Trace(op, err, kv...)
	}
	if followed || !sameSnapshot(there, latest) {
		return tarnerr.New(tarnerr.Contention, op, "it is not the latest snapshot any more", kv...)
	}
	metas, err := c.builder.manifestsOf(ctx, before)
	if err != nil {
		return tarnerr.Trace(op, err, kv...)
	}
	base, baseSize, err := c.builder.manifests.WriteList(ctx, metas)
	if err != nil {
		c.forget(ctx, []string{base})
		return tarnerr.Trace(op, err, kv...)
	}
	delta, deltaSize, err := c.builder.manifests.WriteList(ctx, nil)
	if err != nil {
		c.forget(ctx, []string{base, delta})
		return tarnerr.Trace(op, err, kv...)
	}
	next := *latest
	next.BaseManifestList, next.BaseManifestListSize = base, &baseSize
	next.DeltaManifestList, next.DeltaManifestListSize = delta, &deltaSize
	next.Properties = maps.Clone(latest.Properties)
	if next.Properties == nil {
		next.Properties = map[string]string{}
	}
	next.Properties[undoneProperty] = latest.DeltaManifestList
	next.IndexManifest = before.IndexManifest
	next.TotalRecordCount, next.DeltaRecordCount = before.TotalRecordCount, 0
	err = c.cfg.FileIO.Replace(ctx, c.cfg.Place.SnapshotFile(latest.ID), next.Marshal())
	if err != nil && !inDoubt(err) {
		c.forget(ctx, []string{base, delta})
	}
	return tarnerr.Trace(op, err, kv...)
}

// forget removes metadata that no snapshot names; what cannot be removed is left
// to the clean-up of orphans.
func (c *Committer) forget(ctx context.Context, names []string) {
	c.remove(ctx, slices.DeleteFunc(names, func(n string) bool { return n == "" }))
}
