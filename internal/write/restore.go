package write

import (
	"context"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// NewRestorer looks buckets up in the latest snapshot, reading only manifests
// that may have entries of their partitions.
func NewRestorer(snapshots *snapshot.Store, manifests *manifest.Store) Restorer {
	return restorer{snapshots, manifests, false}
}

// NewFileRestorer is NewRestorer for writers that compact: it gives the files too.
func NewFileRestorer(snapshots *snapshot.Store, manifests *manifest.Store) Restorer {
	return restorer{snapshots, manifests, true}
}

type restorer struct {
	snapshots *snapshot.Store
	manifests *manifest.Store
	files     bool
}

// Restore implements Restorer.
func (r restorer) Restore(ctx context.Context, total int32, buckets []Bucket) ([]Held, error) {
	latest, err := r.snapshots.Latest(ctx)
	if err != nil {
		return nil, err
	}
	at := newLookup(buckets)
	if latest == nil {
		return at.held, nil
	}
	base, err := r.manifests.ReadList(ctx, latest.BaseManifestList, latest.BaseManifestListSize)
	if err != nil {
		return nil, err
	}
	delta, err := r.manifests.ReadList(ctx, latest.DeltaManifestList, latest.DeltaManifestListSize)
	if err != nil {
		return nil, err
	}
	var todo []manifest.FileMeta
	for _, m := range append(base, delta...) {
		for p := range at.partitions {
			if r.manifests.MayHold(m, binaryrow.Row(p)) {
				todo = append(todo, m)
				break
			}
		}
	}
	filter := manifest.EntryFilter{
		Partition: func(p binaryrow.Row) bool { _, ok := at.partitions[string(p)]; return ok },
		// Of other buckets only a different number of them matters.
		Bucket: func(b, n int32) bool { return at.buckets[b] || n != total },
		// Those of files that are compacted go on: into the message, or one level up.
		WithoutStats: !r.files,
	}
	var live manifest.Merger
	for entries, err := range r.manifests.ReadManifests(ctx, todo, filter) {
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := live.Add(e); err != nil {
				return nil, tarnerr.Trace("reading manifests", err, "snapshot", latest.ID)
			}
		}
	}
	for _, e := range live.Entries() {
		if e.Kind == manifest.Add {
			at.add(e, total, r.files)
		}
	}
	return at.held, nil
}

// lookup gathers what live files say about the buckets asked for.
type lookup struct {
	held       []Held
	partitions map[string]map[int32]int // partition → bucket → place in held
	buckets    map[int32]bool
}

func newLookup(buckets []Bucket) *lookup {
	l := &lookup{held: make([]Held, len(buckets)), partitions: map[string]map[int32]int{}, buckets: map[int32]bool{}}
	for i, b := range buckets {
		l.held[i].MaxSequence = -1
		p := l.partitions[string(b.Partition)]
		if p == nil {
			p = map[int32]int{}
			l.partitions[string(b.Partition)] = p
		}
		p[b.Bucket] = i
		l.buckets[b.Bucket] = true
	}
	return l
}

// add takes a live file into account: its number of buckets for all buckets of
// its partition, its sequence numbers for its own.
func (l *lookup) add(e manifest.Entry, total int32, files bool) {
	p := l.partitions[string(e.Partition)]
	for _, i := range p {
		if n := l.held[i].TotalBuckets; n == 0 || n == total {
			l.held[i].TotalBuckets = e.TotalBuckets
		}
	}
	if i, ok := p[e.Bucket]; ok {
		l.held[i].MaxSequence = max(l.held[i].MaxSequence, e.File.MaxSequence)
		if files {
			l.held[i].Files = append(l.held[i].Files, e.File)
		}
	}
}
