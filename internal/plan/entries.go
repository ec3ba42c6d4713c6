package plan

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// live is a data file that is part of a snapshot.
type live struct {
	manifest.Entry
	match bool // the file may hold a matching row
}

// liveEntries reads the manifests of a snapshot and returns the files that its
// entries add and none removes, in the order of the manifests, without those
// that pruning leaves out. Statistics are dropped on the way unless kept.
func liveEntries(ctx context.Context, cfg Config, p *pruning, snap *snapshot.Snapshot, keepStats bool, scanned *Scanned) ([]live, error) {
	manifests, err := manifestsOf(ctx, cfg, p, snap, scanned)
	if err != nil {
		return nil, err
	}
	gone, err := deleted(ctx, cfg, p, manifests)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	added := 0
	parts := make([][]live, len(manifests))
	err = each(ctx, cfg.Workers, len(manifests), func(ctx context.Context, i int) error {
		if manifests[i].Added == 0 {
			return nil
		}
		part, seen, err := entriesOf(ctx, cfg, p, manifests[i], manifest.Add, gone, keepStats)
		if err != nil {
			return err
		}
		parts[i] = part
		mu.Lock()
		added += seen
		mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	scanned.Files = added
	var out []live
	for _, part := range parts {
		out = append(out, part...)
	}
	return out, nil
}

// entriesOf reads the entries of one kind in a manifest, but for those that are
// gone and those that pruning leaves out. seen counts what it judged.
func entriesOf(ctx context.Context, cfg Config, p *pruning, m manifest.FileMeta, kind manifest.Kind, gone map[string]bool, keepStats bool) (out []live, seen int, err error) {
	var matches []bool
	var failed error
	entries, err := cfg.Manifests.ReadManifest(ctx, m, manifest.EntryFilter{
		Partition: p.inPartition, Bucket: p.inBucket, WithoutStats: !keepStats,
		Kind: func(k manifest.Kind) bool { return k == kind },
		Keep: func(e *manifest.Entry) bool {
			if failed != nil || len(gone) > 0 && gone[e.Identity()] {
				return false
			}
			seen++
			keep, match, err := p.file(ctx, e)
			if err != nil {
				failed = err
				return false
			}
			if keep {
				matches = append(matches, match)
			}
			return keep
		},
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, 0, err
	}
	out = make([]live, len(entries))
	for j, e := range entries {
		out[j] = live{e, matches[j]}
	}
	return out, seen, nil
}

// manifestsOf lists the manifests of a snapshot that can have entries of interest.
func manifestsOf(ctx context.Context, cfg Config, p *pruning, snap *snapshot.Snapshot, scanned *Scanned) ([]manifest.FileMeta, error) {
	var out []manifest.FileMeta
	for _, list := range []struct {
		name string
		size *int64
	}{{snap.BaseManifestList, snap.BaseManifestListSize}, {snap.DeltaManifestList, snap.DeltaManifestListSize}} {
		metas, err := cfg.Manifests.ReadList(ctx, list.name, list.size)
		if err != nil {
			return nil, err
		}
		scanned.Manifests += len(metas)
		for i := range metas {
			if p.manifest(&metas[i]) {
				out = append(out, metas[i])
			}
		}
	}
	scanned.ManifestsRead = len(out)
	return out, nil
}

// deleted collects the identities of the files that entries remove. A file is
// live when it is added and never removed, in whatever order the entries stand.
func deleted(ctx context.Context, cfg Config, p *pruning, manifests []manifest.FileMeta) (map[string]bool, error) {
	var mu sync.Mutex
	out := map[string]bool{}
	err := each(ctx, cfg.Workers, len(manifests), func(ctx context.Context, i int) error {
		if manifests[i].Deleted == 0 {
			return nil
		}
		entries, err := cfg.Manifests.ReadManifest(ctx, manifests[i], manifest.EntryFilter{
			Partition: p.inPartition, Bucket: p.inBucket, WithoutStats: true,
			Kind: func(k manifest.Kind) bool { return k == manifest.Delete },
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entries {
			out[e.Identity()] = true
		}
		return nil
	})
	return out, err
}

// each calls do for 0 to n-1, at most workers of them at a time.
func each(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(workers, 1))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// bucketFiles are the files of one bucket in the order of their entries.
type bucketFiles struct {
	partition binaryrow.Row
	number    int32
	total     int32 // bucket count of the first entry
	files     []*datafile.Meta
	match     map[*datafile.Meta]bool
}

func (b *bucketFiles) allMatch() bool {
	for _, f := range b.files {
		if !b.match[f] {
			return false
		}
	}
	return true
}

// byBucket groups entries by partition, then bucket, in the order in which they
// first appear.
func byBucket(entries []live) []*bucketFiles {
	type partition struct {
		buckets map[int32]*bucketFiles
		order   []*bucketFiles
	}
	partitions := map[string]*partition{}
	var order []*partition
	for _, e := range entries {
		p := partitions[string(e.Partition)]
		if p == nil {
			p = &partition{buckets: map[int32]*bucketFiles{}}
			partitions[string(e.Partition)] = p
			order = append(order, p)
		}
		b := p.buckets[e.Bucket]
		if b == nil {
			b = &bucketFiles{partition: e.Partition, number: e.Bucket, total: e.TotalBuckets, match: map[*datafile.Meta]bool{}}
			p.buckets[e.Bucket] = b
			p.order = append(p.order, b)
		}
		b.files = append(b.files, e.File)
		b.match[e.File] = e.match
	}
	var out []*bucketFiles
	for _, p := range order {
		out = append(out, p.order...)
	}
	return out
}
