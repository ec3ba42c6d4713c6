package commit

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// baseFiles are the live files of some partitions of a snapshot, without their
// statistics: what a change is held against.
type baseFiles struct {
	snapshot *snapshot.Snapshot
	scope    scope
	entries  []manifest.Entry
}

// scope is what of a table a change can disagree with: some partitions, and in
// them the buckets it touches and those that show another number of buckets.
type scope struct {
	partitions map[string]bool
	buckets    map[int32]bool // nil = all
	total      int32
}

func scopeOf(ch *change) scope {
	s := scope{partitions: ch.partitions(), buckets: map[int32]bool{}}
	for i, e := range ch.files {
		s.buckets[e.Bucket] = true
		if i > 0 && e.TotalBuckets != s.total {
			return scope{partitions: s.partitions}
		}
		s.total = e.TotalBuckets
	}
	if len(ch.index) > 0 {
		s.buckets = nil // vectors go with files of any bucket
	}
	return s
}

func (s scope) within(o scope) bool {
	for p := range s.partitions {
		if !o.partitions[p] {
			return false
		}
	}
	return maps.Equal(s.buckets, o.buckets) && s.total == o.total
}

func (s scope) filter() manifest.EntryFilter {
	f := manifest.EntryFilter{
		Partition:    func(p binaryrow.Row) bool { return s.partitions[string(p)] },
		WithoutStats: true,
	}
	if s.buckets != nil {
		f.Bucket = func(b, total int32) bool { return s.buckets[b] || total != s.total }
	}
	return f
}

// holdAgainst reads what a change is checked against. A retry takes what the try
// before has read and the deltas since then, where the table has only grown from
// there; after an OVERWRITE, or when that snapshot is not in the table's history
// any more, it reads all again (P8).
func (t *tries) holdAgainst(ctx context.Context, base *snapshot.Snapshot, ch *change) (*baseFiles, error) {
	sc := scopeOf(ch)
	if t.read != nil && sc.within(t.read.scope) {
		if ok, err := t.catchUp(ctx, base); ok || err != nil {
			return t.read, err
		}
	}
	t.read = nil
	entries, err := t.c.builder.live(ctx, base, sc.filter(), func(m manifest.FileMeta) bool {
		for p := range sc.partitions {
			if t.c.builder.manifests.MayHold(m, binaryrow.Row(p)) {
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, tarnerr.Trace("reading files to check against", err, "snapshot", base.ID)
	}
	t.read = &baseFiles{base, sc, entries}
	return t.read, nil
}

// catchUp brings what was read up to base. It answers false when that has to be
// read anew.
func (t *tries) catchUp(ctx context.Context, base *snapshot.Snapshot) (bool, error) {
	from := t.read.snapshot
	if from.ID > base.ID {
		return false, nil
	}
	if from.ID == base.ID {
		return sameSnapshot(from, base), nil
	}
	// What follows a compaction that was undone may have been built upon it before.
	if undone(from) {
		return false, nil
	}
	there, err := t.c.snapshots.Get(ctx, from.ID)
	if err != nil {
		if gone(err) {
			return false, nil
		}
		return false, err
	}
	if !sameSnapshot(there, from) {
		return false, nil
	}
	files := pairedWith(t.read.entries, nil)
	filter := t.read.scope.filter()
	for id := from.ID + 1; id <= base.ID; id++ {
		s := base
		if id < base.ID {
			if s, err = t.c.snapshots.Get(ctx, id); err != nil {
				if gone(err) {
					return false, nil
				}
				return false, err
			}
		}
		if s.CommitKind == snapshot.Overwrite || undone(s) {
			return false, nil
		}
		delta, err := t.c.builder.delta(ctx, s, filter)
		if err != nil {
			if gone(err) {
				return false, nil
			}
			return false, err
		}
		files = append(files, pairedWith(delta, nil)...)
	}
	left, twice := mergePaired(files)
	if twice != nil || slices.ContainsFunc(left, func(e paired) bool { return e.Kind == manifest.Delete }) {
		return false, nil // not what we took it for: read it anew
	}
	t.read = &baseFiles{base, t.read.scope, unpaired(left)}
	return true, nil
}

// gone reports an error for a snapshot, or a file of one, that is not there.
func gone(err error) bool {
	kind := tarnerr.KindOf(err)
	return kind == tarnerr.NotFound || kind == tarnerr.Expired
}

// sameSnapshot reports that two snapshots of one id are the same: an id is given
// out again after a rollback.
func sameSnapshot(a, b *snapshot.Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || a.ID == b.ID && bytes.Equal(a.Marshal(), b.Marshal())
}

// live reads the files of s that its entries add and none removes, in the order
// of the manifests, from manifests that may hold some.
func (b *builder) live(ctx context.Context, s *snapshot.Snapshot, filter manifest.EntryFilter, may func(manifest.FileMeta) bool) ([]manifest.Entry, error) {
	all, err := b.manifestsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	var todo []manifest.FileMeta
	for _, m := range all {
		if may(m) {
			todo = append(todo, m)
		}
	}
	entries, err := b.manifests.ReadAll(ctx, todo, filter)
	if err != nil {
		return nil, err
	}
	var ids manifest.Identities
	removed := map[manifest.Identity]bool{}
	for i := range entries {
		if entries[i].Kind == manifest.Delete {
			removed[ids.Of(&entries[i])] = true
		}
	}
	out := entries[:0]
	for i := range entries {
		if e := entries[i]; e.Kind == manifest.Add && (len(removed) == 0 || !removed[ids.Of(&e)]) {
			out = append(out, e)
		}
	}
	return out, nil
}

// delta reads the entries that s itself added.
func (b *builder) delta(ctx context.Context, s *snapshot.Snapshot, filter manifest.EntryFilter) ([]manifest.Entry, error) {
	metas, err := b.manifests.ReadList(ctx, s.DeltaManifestList, s.DeltaManifestListSize)
	if err != nil {
		return nil, err
	}
	return b.manifests.ReadAll(ctx, metas, filter)
}

// indexOf reads the index files of s; none when it has no index manifest.
func (b *builder) indexOf(ctx context.Context, s *snapshot.Snapshot) ([]manifest.IndexEntry, error) {
	if s == nil || s.IndexManifest == nil {
		return nil, nil
	}
	entries, err := b.manifests.ReadIndex(ctx, *s.IndexManifest)
	if err != nil {
		return nil, err
	}
	return entries, checkIndexManifest(*s.IndexManifest, entries)
}

// live names a file that messages made and the latest snapshot has, "" when it
// has none of them: then they were never committed, or not for long.
func (c *Committer) live(ctx context.Context, messages []*commitmsg.Message) (string, error) {
	latest, err := c.snapshots.Latest(ctx)
	if err != nil || latest == nil {
		return "", err
	}
	made := map[string]bool{}
	var ch change
	for _, m := range messages {
		for _, f := range slices.Concat(m.NewFiles, m.CompactAfter) {
			if !moved(m, f) {
				made[f.FileName] = true
				ch.files = append(ch.files, manifest.Entry{Partition: m.Partition, Bucket: m.Bucket, File: f})
			}
		}
	}
	if len(made) == 0 {
		return "", nil
	}
	partitions := ch.partitions()
	filter := manifest.EntryFilter{Partition: func(p binaryrow.Row) bool { return partitions[string(p)] }, WithoutStats: true}
	entries, err := c.builder.live(ctx, latest, filter, func(m manifest.FileMeta) bool {
		for p := range partitions {
			if c.builder.manifests.MayHold(m, binaryrow.Row(p)) {
				return true
			}
		}
		return false
	})
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if made[e.File.FileName] {
			return e.File.FileName, nil
		}
	}
	return "", nil
}
