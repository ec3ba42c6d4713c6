package plan

import (
	"context"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
)

// ChangeMode says where the changes of a snapshot are taken from.
type ChangeMode uint8

const (
	// FromDelta takes the files that APPEND snapshots add, of a key table those of
	// level 0: the rows as they were written, merged within a flush.
	FromDelta ChangeMode = iota
	// FromChangelog takes the changelog files of snapshots that have any.
	FromChangelog
)

// ModeOf is the mode in which a table with a changelog producer is followed.
func ModeOf(producer string) ChangeMode {
	if producer == "none" {
		return FromDelta
	}
	return FromChangelog
}

// Follow plans what a snapshot changed, as streaming reads of Java do: by the
// mode of the table's changelog producer, and with the option
// streaming-read-overwrite (streaming-read-append-overwrite in append tables) what
// an OVERWRITE replaced. No splits when the snapshot shows no change.
func Follow(ctx context.Context, cfg Config, req Request, snap *snapshot.Snapshot) (*Result, error) {
	o, keyed := cfg.Options, cfg.Schema.HasPrimaryKey()
	var r *Result
	var err error
	switch {
	case snap.CommitKind == snapshot.Overwrite && keyed && o.Stream.Overwrite:
		r, err = replaced(ctx, cfg, req, snap)
	case snap.CommitKind == snapshot.Overwrite && !keyed && o.Stream.AppendOverwrite:
		r, err = changes(ctx, cfg, req, snap.DeltaManifestList, snap.DeltaManifestListSize, snap)
	case ModeOf(o.ChangelogProducer) == FromChangelog:
		r, err = changelog(ctx, cfg, req, snap)
	case snap.CommitKind == snapshot.Append:
		r, err = changes(ctx, cfg, req, snap.DeltaManifestList, snap.DeltaManifestListSize, snap)
	default:
		r = &Result{Snapshot: snap}
	}
	return r, tarnerr.Trace("planning changes", err, "snapshot", snap.ID)
}

func changelog(ctx context.Context, cfg Config, req Request, snap *snapshot.Snapshot) (*Result, error) {
	if snap.ChangelogManifestList == nil {
		return &Result{Snapshot: snap}, nil
	}
	return changes(ctx, cfg, req, *snap.ChangelogManifestList, snap.ChangelogManifestListSize, snap)
}

// changes makes splits of the files that a manifest list adds, rows to be read
// as they are. Each row stands for itself, so that all of the predicate prunes.
func changes(ctx context.Context, cfg Config, req Request, list string, size *int64, snap *snapshot.Snapshot) (*Result, error) {
	r := &Result{Snapshot: snap}
	p := newPruning(cfg, req)
	entries, err := listed(ctx, cfg, p, list, size, manifest.Add, &r.Scanned)
	if err != nil {
		return nil, err
	}
	if err := r.addStreaming(cfg, p, matching(entries), snap.ID); err != nil {
		return nil, err
	}
	return r, nil
}

// addStreaming makes the splits of changes: one of a bucket, so that its rows
// come in order; tables without buckets have no order to keep.
func (r *Result) addStreaming(cfg Config, p *pruning, entries []live, id int64) error {
	packing := packing{target: cfg.Options.SplitTargetSize, openCost: cfg.Options.SplitOpenFileCost}
	for _, b := range byBucket(entries) {
		groups := []group{{b.files, true}}
		if !cfg.Schema.HasPrimaryKey() && cfg.Options.Bucket == -1 {
			groups = packing.appendGroups(b.files)
		}
		for _, g := range groups {
			s, err := newSplit(cfg, p, b, g, id)
			if err != nil {
				return err
			}
			s.Streaming = true
			r.Splits = append(r.Splits, s)
			r.FilesLeft += len(s.Files)
		}
	}
	return nil
}

// replaced makes splits of what an overwrite took away and what it put there.
// Rows depend on each other on either side: only what a predicate says of
// partitions, buckets and keys prunes.
func replaced(ctx context.Context, cfg Config, req Request, snap *snapshot.Snapshot) (*Result, error) {
	r := &Result{Snapshot: snap}
	p := newPruning(cfg, req)
	before, err := listed(ctx, cfg, p, snap.DeltaManifestList, snap.DeltaManifestListSize, manifest.Delete, &r.Scanned)
	if err != nil {
		return nil, err
	}
	after, err := listed(ctx, cfg, p, snap.DeltaManifestList, snap.DeltaManifestListSize, manifest.Add, &r.Scanned)
	if err != nil {
		return nil, err
	}
	return r, r.addPairs(cfg, p, before, after, snap.ID, true)
}

// addPairs makes a split per bucket of its files before and after a change.
func (r *Result) addPairs(cfg Config, p *pruning, before, after []live, id int64, streaming bool) error {
	all := make([]live, 0, len(before)+len(after))
	for i, entries := range [][]live{before, after} {
		for _, e := range entries {
			e.match = i == 0 // tells the sides apart below
			all = append(all, e)
		}
	}
	for _, b := range byBucket(all) {
		s, err := newSplit(cfg, p, b, group{}, id)
		if err != nil {
			return err
		}
		s.Streaming, s.Change = streaming, &split.Change{}
		for _, f := range b.files {
			if b.match[f] {
				s.Change.Before = append(s.Change.Before, f)
			} else {
				s.Files = append(s.Files, f)
			}
		}
		r.Splits = append(r.Splits, s)
		r.FilesLeft += len(b.files)
	}
	return nil
}

// listed are the entries of one kind in the manifests of a list.
func listed(ctx context.Context, cfg Config, p *pruning, list string, size *int64, kind manifest.Kind, scanned *Scanned) ([]live, error) {
	metas, err := cfg.Manifests.ReadList(ctx, list, size)
	if err != nil {
		return nil, err
	}
	scanned.Manifests += len(metas)
	parts := make([][]live, len(metas))
	err = each(ctx, cfg.Workers, len(metas), func(ctx context.Context, i int) (err error) {
		if p.manifest(&metas[i]) {
			parts[i], _, err = entriesOf(ctx, cfg, p, metas[i], kind, nil, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []live
	for i, part := range parts {
		if p.manifest(&metas[i]) {
			scanned.ManifestsRead++
		}
		out = append(out, part...)
	}
	scanned.Files += len(out)
	return out, nil
}

// matching are the entries of files that may hold a matching row.
func matching(entries []live) []live {
	var out []live
	for _, e := range entries {
		if e.match {
			out = append(out, e)
		}
	}
	return out
}
