package commit

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// This is the one file that deletes. It takes what is resolved, and nothing else:
// of a commit that landed, the metadata only its lost tries referred to; of one
// that certainly did not land, all its metadata; of one in doubt, nothing
// (INV-COMMIT-3). Data files belong to the messages and are only removed by
// AbortMessages.

// settle tidies up after the last try, and keeps how it ended: landed is the
// snapshot made, err why there is none. What cannot be removed is left to the
// orphan job and told as a warning.
func (c *Committer) settle(ctx context.Context, t *tries, landed *snapshot.Snapshot, err error) {
	chores := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(chores, c.cfg.PublishTimeout)
	defer cancel()
	if landed == nil && tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
		c.doubtful.add(t.work.change)
		c.keep(ctx, t, nil, err)
		return
	}
	c.doubtful.remove(t.work.change)
	invariants.Check(landed != nil || !t.inDoubt(), "INV-COMMIT-3", "metadata of a commit in doubt is about to be deleted: %v", err)
	c.remove(ctx, t.unreferenced(landed))
	c.keep(ctx, t, landed, err)
	if landed != nil && landed.ID%expireEvery == 0 && !t.foreign(landed) {
		c.groups.later(func() { c.expireRecords(chores) })
	}
}

// expireRecords deletes records of commits that ended long ago.
func (c *Committer) expireRecords(ctx context.Context) {
	const doing = "expiring commit records"
	ctx, cancel := context.WithTimeout(ctx, c.cfg.PublishTimeout)
	defer cancel()
	paths, err := c.intents.log.Surplus(ctx, c.cfg.Keep, c.cfg.Env.Now().UnixMilli(), expireBatch)
	if len(paths) > 0 && err == nil {
		err = c.cfg.FileIO.Delete(ctx, paths...)
	}
	c.warn(doing, err)
}

// remove deletes manifests, lists, index manifests and statistics that nothing
// refers to.
func (c *Committer) remove(ctx context.Context, dead []string) {
	if len(dead) == 0 {
		return
	}
	paths := make([]string, len(dead))
	for i, name := range dead {
		paths[i] = c.cfg.Place.ManifestFile(name)
		if strings.HasPrefix(name, layout.StatisticsPrefix) {
			paths[i] = c.cfg.Place.StatisticsFile(name)
		}
	}
	c.warn("removing metadata of lost tries", c.cfg.FileIO.Delete(ctx, paths...))
}

// unreferenced lists the metadata files of all tries that landed, the snapshot
// made (nil when there is none), does not refer to.
func (t *tries) unreferenced(landed *snapshot.Snapshot) []string {
	var dead []string
	var mine *draft
	if landed != nil {
		mine = t.draftIn(landed)
	}
	keep := map[string]bool{}
	for _, b := range t.built {
		// Others may have built upon a compaction before it was undone.
		if mine != nil && (b.list == landed.BaseManifestList || undone(landed) && b.draft == mine) {
			keep[b.list], keep[b.index] = true, true
			for _, m := range b.merged {
				keep[m] = true
			}
		}
	}
	for _, d := range t.drafts {
		if d != mine {
			dead = append(dead, d.files...)
		}
	}
	for _, b := range t.built {
		dead = append(dead, b.list, b.index)
		dead = append(dead, b.merged...)
	}
	slices.Sort(dead)
	dead = slices.Compact(dead)
	return slices.DeleteFunc(dead, func(name string) bool { return name == "" || keep[name] })
}

// hint notes the new snapshot; readers probe forward from it, so a stale hint
// costs them a little and harms nothing.
func (c *Committer) hint(ctx context.Context, landed *snapshot.Snapshot) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.PublishTimeout)
	defer cancel()
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
	for _, f := range filesOf(ch) {
		d.files[f] = true
	}
}

// remove forgets the files of a commit that is resolved now.
func (d *doubtful) remove(ch change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.files) == 0 {
		return
	}
	for _, f := range filesOf(ch) {
		delete(d.files, f)
	}
}

func (d *doubtful) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[name]
}

// filesOf names the data, changelog and index files that a change came with.
func filesOf(ch change) []string {
	var out []string
	for _, e := range slices.Concat(ch.files, ch.changelog) {
		out = append(out, e.File.FileName)
	}
	for _, e := range ch.index {
		if e.Kind == manifest.Add {
			out = append(out, e.FileName)
		}
	}
	return out
}

// AbortMessages deletes the data, changelog and index files of messages that were
// never handed to Commit or whose commit failed for certain. Files that they only
// removed, or moved to another level, are the table's and stay. It refuses,
// deleting nothing, when a commit of one of them is at work or ended in doubt, in
// this process or another. It lists the records of commits.
func (c *Committer) AbortMessages(ctx context.Context, messages []*commitmsg.Message) error {
	const op = "aborting messages"
	var paths []string
	for _, m := range messages {
		partition, err := c.builder.partitions.Path(m.Partition)
		if err != nil {
			return tarnerr.Trace(op, err, "table", c.cfg.Table)
		}
		for _, f := range slices.Concat(m.NewFiles, m.ChangelogFiles, m.CompactAfter, m.CompactChangelog) {
			if moved(m, f) {
				continue
			}
			if err := c.abortable(f.FileName, f.ExternalPath); err != nil {
				return err
			}
			for _, name := range append([]string{f.FileName}, f.ExtraFiles...) {
				paths = append(paths, c.cfg.Place.DataFile(partition, m.Bucket, name))
			}
		}
		for _, e := range slices.Concat(m.NewIndex, m.CompactNewIndex) {
			if err := c.abortable(e.FileName, e.ExternalPath); err != nil {
				return err
			}
			paths = append(paths, c.cfg.Place.IndexFile(e.FileName))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	// Before the table is looked at: what lands in between is seen there.
	if err := c.refusePending(ctx, paths); err != nil {
		return tarnerr.Trace(op, err, "table", c.cfg.Table)
	}
	live, err := c.live(ctx, messages)
	if err != nil {
		return tarnerr.Trace(op, err, "table", c.cfg.Table)
	}
	if live != "" {
		return tarnerr.New(tarnerr.Invalid, op, "they were committed, the table has a file of theirs", "table", c.cfg.Table, "file", live).
			WithHint("Ask with FilterCommitted what is committed before committing again, and abort nothing that is.")
	}
	return tarnerr.Trace(op, c.cfg.FileIO.Delete(ctx, paths...), "table", c.cfg.Table)
}

// refusePending refuses files of a commit whose outcome is not recorded.
func (c *Committer) refusePending(ctx context.Context, paths []string) error {
	names := make(map[string]bool, len(paths))
	for _, p := range paths {
		names[path.Base(p)] = true
	}
	for r, err := range c.intents.log.All(ctx) {
		if err != nil {
			return err
		}
		if !r.Pending() {
			continue
		}
		if i := slices.IndexFunc(r.Files, func(f string) bool { return names[f] }); i >= 0 {
			return tarnerr.New(tarnerr.CommitStateUnknown, "aborting messages", "a commit of these files is at work or was left in doubt",
				"file", r.Files[i], "user", r.User, "identifier", r.Identifier, "intent", r.Path).
				WithHint("Commit the same messages again under the same user and identifier, or resolve the commit (tarn commit resolve).")
		}
	}
	return nil
}

// abortable refuses a file that may be the table's by now, or lies elsewhere.
func (c *Committer) abortable(name string, external *string) error {
	const op = "aborting messages"
	if c.doubtful.has(name) {
		return tarnerr.New(tarnerr.CommitStateUnknown, op, "the commit of these files is not resolved", "table", c.cfg.Table, "file", name).
			WithHint("Resolve the commit first: commit the same messages again.")
	}
	if external != nil {
		return tarnerr.New(tarnerr.Unsupported, op, "removing files outside the table", "path", *external)
	}
	return nil
}

// moved reports a file of the table that a compaction only moved to another level:
// the table still has it.
func moved(m *commitmsg.Message, f *datafile.Meta) bool {
	same := func(o *datafile.Meta) bool { return o.FileName == f.FileName }
	return slices.ContainsFunc(m.CompactBefore, same) && !slices.ContainsFunc(m.NewFiles, same)
}
