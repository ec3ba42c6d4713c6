package commit

import (
	"context"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// This is the one file that deletes. It takes what is resolved, and nothing else:
// of a commit that landed, the metadata only its lost tries referred to; of one
// that certainly did not land, all its metadata; of one in doubt, nothing
// (INV-COMMIT-3). Data files belong to the messages and are only removed by
// AbortMessages.

// settle tidies up after the last try: landed is the snapshot made, err why
// there is none. What cannot be removed is left to the orphan job and told as
// a warning.
func (c *Committer) settle(ctx context.Context, t *tries, landed *snapshot.Snapshot, err error) {
	ctx = context.WithoutCancel(ctx)
	if landed == nil && tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
		c.doubtful.add(t.change)
		return
	}
	c.doubtful.remove(t.change)
	invariants.Check(landed != nil || !t.inDoubt(), "INV-COMMIT-3", "metadata of a commit in doubt is about to be deleted: %v", err)
	if landed != nil {
		c.hint(ctx, landed)
	}
	if dead := t.unreferenced(landed); len(dead) > 0 {
		paths := make([]string, len(dead))
		for i, name := range dead {
			paths[i] = c.cfg.Place.ManifestFile(name)
		}
		c.warn("removing metadata of lost tries", c.cfg.FileIO.Delete(ctx, paths...))
	}
	if t.intended {
		c.warn("removing commit intent", c.cfg.FileIO.Delete(ctx, t.intent().path(c.cfg.Place)))
	}
}

// unreferenced lists the metadata files of all tries that landed, the snapshot
// made (nil when there is none), does not refer to.
func (t *tries) unreferenced(landed *snapshot.Snapshot) []string {
	var dead []string
	keep := map[string]bool{}
	ours := landed != nil && t.draft != nil && !t.foreign(landed)
	for _, b := range t.built {
		if ours && b.list == landed.BaseManifestList {
			keep[b.list] = true
			for _, m := range b.merged {
				keep[m] = true
			}
		}
	}
	if t.draft != nil && !ours {
		dead = append(dead, t.draft.files...)
	}
	for _, b := range t.built {
		if b.list != "" {
			dead = append(dead, b.list)
		}
		dead = append(dead, b.merged...)
	}
	slices.Sort(dead)
	dead = slices.Compact(dead)
	return slices.DeleteFunc(dead, func(name string) bool { return keep[name] })
}

// hint notes the new snapshot; readers probe forward from it, so a stale hint
// costs them a little and harms nothing.
func (c *Committer) hint(ctx context.Context, landed *snapshot.Snapshot) {
	c.warn("writing LATEST hint", c.snapshots.WriteLatestHint(ctx, landed.ID))
	if landed.ID == 1 {
		c.warn("writing EARLIEST hint", c.snapshots.WriteEarliestHint(ctx, landed.ID))
	}
}

// doubtful remembers the data files of commits in doubt, so that this process
// cannot abort them by mistake.
type doubtful struct {
	mu    sync.Mutex
	files map[string]bool
}

func (d *doubtful) add(ch change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files = map[string]bool{}
	}
	for _, e := range ch.files {
		d.files[e.File.FileName] = true
	}
}

// remove forgets the files of a commit that is resolved now.
func (d *doubtful) remove(ch change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.files) == 0 {
		return
	}
	for _, e := range ch.files {
		delete(d.files, e.File.FileName)
	}
}

func (d *doubtful) has(f *datafile.Meta) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[f.FileName]
}

// AbortMessages deletes the data files of messages that were never handed to
// Commit or whose commit failed for certain. It refuses, deleting nothing, when
// a commit of one of them ended in doubt.
func (c *Committer) AbortMessages(ctx context.Context, messages []*commitmsg.Message) error {
	const op = "aborting messages"
	names := layout.NewPartitioner(c.cfg.Schema.Select(c.cfg.Schema.PartitionKeys), c.cfg.Options.PartitionDefault, c.cfg.Options.PartitionLegacyName)
	var paths []string
	for _, m := range messages {
		partition, err := names.Path(m.Partition)
		if err != nil {
			return tarnerr.Trace(op, err, "table", c.cfg.Table)
		}
		for _, f := range slices.Concat(m.NewFiles, m.ChangelogFiles, m.CompactAfter, m.CompactChangelog) {
			if upgraded(m, f) {
				continue
			}
			if c.doubtful.has(f) {
				return tarnerr.New(tarnerr.CommitStateUnknown, op, "the commit of these files is not resolved", "table", c.cfg.Table, "file", f.FileName).
					WithHint("Resolve the commit first: commit the same messages again.")
			}
			if f.ExternalPath != nil {
				return tarnerr.New(tarnerr.Unsupported, op, "removing files outside the table", "path", *f.ExternalPath)
			}
			for _, name := range append([]string{f.FileName}, f.ExtraFiles...) {
				paths = append(paths, c.cfg.Place.DataFile(partition, m.Bucket, name))
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return tarnerr.Trace(op, c.cfg.FileIO.Delete(ctx, paths...), "table", c.cfg.Table)
}

// upgraded reports a file that a compaction only moved to another level: the
// table still has it.
func upgraded(m *commitmsg.Message, f *datafile.Meta) bool {
	return slices.ContainsFunc(m.CompactBefore, func(b *datafile.Meta) bool { return b.FileName == f.FileName })
}
