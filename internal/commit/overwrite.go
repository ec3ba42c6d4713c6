package commit

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Overwrite makes a commit replace what partitions hold, instead of adding to it.
type Overwrite struct {
	// Dynamic replaces the partitions that files are written to, and nothing when
	// none is. Tables without partitions are always replaced whole.
	Dynamic bool
	// Partitions are the partitions to replace: those that have, for one of the
	// maps, its value in each column it names. None, or one without columns,
	// replaces the whole table. Files outside of them are refused. With Dynamic
	// they only refuse.
	Partitions []map[string]string
}

// work is one snapshot to be made: a change, and for overwrites which partitions
// it replaces. What it removes there is found out anew on each try (P4).
type work struct {
	change   change
	replaces *selector // nil: nothing
}

// overwrite turns what was written into an overwrite; nil when there is nothing
// to replace.
func (c *Committer) overwrite(o *Overwrite, written change, compacted bool) (*work, error) {
	const op = "overwriting"
	if n := len(written.changelog); n > 0 {
		c.warn("overwriting", tarnerr.New(tarnerr.Unsupported, op, "changelog of an overwrite: it is left out", "files", n).
			WithHint("Do not overwrite what a stream reads, or read it again from the new snapshot."))
		written.changelog = nil
	}
	given, err := c.builder.selectSpecs(o.Partitions)
	if err != nil {
		return nil, err
	}
	if len(o.Partitions) == 0 {
		given.all = true
	}
	for _, e := range written.files {
		if given.has(e.Partition) {
			continue
		}
		return nil, tarnerr.New(tarnerr.Invalid, op, "rows were written to a partition that is not among those to overwrite",
			"partition", c.builder.partitionName(e.Partition), "overwrite", o.Partitions).
			WithHint("Write only rows of the partitions that are overwritten, or name none of them and overwrite dynamically.")
	}
	w := &work{change: written, replaces: given}
	w.change.kind, w.change.checked, w.change.yields = snapshot.Overwrite, true, false
	if fields := c.builder.partitions.Fields(); o.Dynamic && len(fields) > 0 {
		if len(written.files) == 0 {
			return nil, nil
		}
		w.replaces = selectRows(fields, written.files)
	}
	if !compacted && c.cfg.Options.OverwriteUpgrade {
		w.change.files = lifted(written.files, c.builder.keys, int32(c.cfg.Options.NumLevels-1))
	}
	return w, nil
}

// on is the change to make on base, and the files of base that it replaces.
func (w *work) on(ctx context.Context, b *builder, base *snapshot.Snapshot) (out change, live []manifest.Entry, err error) {
	out = w.change
	if w.replaces == nil || base == nil {
		return out, nil, nil
	}
	filter := manifest.EntryFilter{Partition: w.replaces.has}
	if b.cfg.Options.Bucket != layout.PostponeBucket {
		filter.Bucket = func(bucket, _ int32) bool { return bucket >= 0 }
	}
	live, err = b.live(ctx, base, filter, func(m manifest.FileMeta) bool { return w.replaces.mayHold(b.manifests, m) })
	if err != nil {
		return out, nil, tarnerr.Trace("reading files to overwrite", err, "snapshot", base.ID)
	}
	out.files = make([]manifest.Entry, 0, len(live)+len(w.change.files))
	for _, e := range live {
		e.Kind = manifest.Delete
		if b.cfg.Options.DropDeletedStats {
			e.File = e.File.WithoutValueStats()
		}
		out.files = append(out.files, e)
	}
	out.files = append(out.files, w.change.files...)
	previous, err := b.indexOf(ctx, base)
	if err != nil {
		return out, nil, tarnerr.Trace("reading index files to overwrite", err, "snapshot", base.ID)
	}
	out.index = nil
	for _, e := range previous {
		if w.replaces.has(e.Partition) {
			e.Kind = manifest.Delete
			out.index = append(out.index, e)
		}
	}
	out.index = append(out.index, w.change.index...)
	return out, live, nil
}

// lifted moves new level-0 files of a key table to the highest level, bucket by
// bucket, where their key ranges do not meet: nothing lies below them after an
// overwrite, so that they need no compaction.
func lifted(files []manifest.Entry, keys keyOrder, top int32) []manifest.Entry {
	if keys == nil || top < 1 || slices.ContainsFunc(files, func(e manifest.Entry) bool {
		return e.Kind != manifest.Add || e.File.Level > 0 || e.Bucket < 0
	}) {
		return files
	}
	type bucket struct {
		partition string
		number    int32
	}
	buckets := map[bucket][]int{}
	for i, e := range files {
		at := bucket{string(e.Partition), e.Bucket}
		buckets[at] = append(buckets[at], i)
	}
	out := slices.Clone(files)
	for _, members := range buckets {
		slices.SortFunc(members, func(a, b int) int { return keys.compare(files[a].File.MinKey, files[b].File.MinKey) })
		apart := true
		for k := 1; k < len(members); k++ {
			apart = apart && keys.compare(files[members[k-1]].File.MaxKey, files[members[k]].File.MinKey) < 0
		}
		for _, i := range members {
			if apart {
				out[i].File = files[i].File.Upgrade(top)
			}
		}
	}
	return out
}

// partitionName is the partition as k=v/k=v, for people.
func (b *builder) partitionName(p binaryrow.Row) string {
	name, err := b.partitions.Path(p)
	if err != nil {
		return err.Error()
	}
	return name
}
