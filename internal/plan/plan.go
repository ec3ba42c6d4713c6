package plan

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Config is the table to plan for.
type Config struct {
	FileIO    fileio.FileIO
	Layout    layout.Table
	Schema    *schema.Schema // rows are read under it
	Options   option.Options // of the schema, with the options of this scan laid over them
	Schemas   *schema.Store  // for files of older schemas
	Snapshots *snapshot.Store
	Manifests *manifest.Store
	Workers   int // manifests read side by side; 0 and 1 read them in order
}

// Request says what to plan.
type Request struct {
	Where *expr.Bound // bound to the schema's fields; nil = all
	// Snapshot is the snapshot to read; nil is that of SnapshotID, or the latest
	// one when that is 0.
	Snapshot   *snapshot.Snapshot
	SnapshotID int64
	// Limit is how many rows are wanted at most; 0 = all. Splits beyond it are left
	// out only where it is certain that the rest holds enough.
	Limit int64
	// Level leaves files of other levels out; nil = those that a batch read does not
	// see, which are those of level 0 where the merge engine is first-row. The levels
	// left must hold a state of their own: all versions of a key that the rows asked
	// for need.
	Level func(level int32) bool
	// Partition and Bucket leave out what they refuse, besides what Where says; nil =
	// nothing.
	Partition func(partition binaryrow.Row) bool
	Bucket    func(number int32) bool
	// KeepStats leaves the value statistics in the file metadata.
	KeepStats bool
}

// Result is a plan.
type Result struct {
	Snapshot *snapshot.Snapshot // nil when the table has none
	// Splits in the order of the manifests: by the first appearance of their
	// partition, then of their bucket, then by key or age of their files.
	Splits []*split.Split
	Scanned
}

// Scanned counts what planning looked at.
type Scanned struct {
	Manifests, ManifestsRead int // in the snapshot, and those not left out by their statistics
	Files, FilesLeft         int // files the entries read add, and those in the splits
}

// Plan pins a snapshot and returns the splits that can hold matching rows.
func Plan(ctx context.Context, cfg Config, req Request) (*Result, error) {
	snap, err := pin(ctx, cfg, req)
	if err != nil || snap == nil {
		return &Result{}, err
	}
	r, err := plan(ctx, cfg, req, snap)
	if err != nil {
		return nil, tarnerr.Trace("planning scan", err, "snapshot", snap.ID)
	}
	return r, nil
}

func pin(ctx context.Context, cfg Config, req Request) (*snapshot.Snapshot, error) {
	switch {
	case req.Snapshot != nil:
		return req.Snapshot, nil
	case req.SnapshotID != 0:
		return cfg.Snapshots.Get(ctx, req.SnapshotID)
	}
	return cfg.Snapshots.Latest(ctx)
}

func plan(ctx context.Context, cfg Config, req Request, snap *snapshot.Snapshot) (*Result, error) {
	p := newPruning(cfg, settled(cfg, req))
	r := &Result{Snapshot: snap}
	entries, err := liveEntries(ctx, cfg, p, snap, req.KeepStats, &r.Scanned)
	if err != nil {
		return nil, err
	}
	keys := keyTypes(cfg.Schema)
	packing := packing{
		target: cfg.Options.SplitTargetSize, openCost: cfg.Options.SplitOpenFileCost, keys: keys, unique: firstRow(cfg),
	}
	for _, b := range byBucket(entries) {
		files := b.files
		if len(keys) > 0 {
			if files, err = pruneSections(cfg, b, keys); err != nil {
				return nil, err
			}
		}
		if len(files) == 0 {
			continue
		}
		groups, err := packing.groups(files)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			s, err := newSplit(cfg, p, b, g, snap.ID)
			if err != nil {
				return nil, err
			}
			r.Splits = append(r.Splits, s)
		}
	}
	if req.Limit > 0 && p.exactByPartition {
		r.Splits = enough(r.Splits, req.Limit)
	}
	for _, s := range r.Splits {
		r.FilesLeft += len(s.Files)
	}
	return r, nil
}

// firstRow says that rows are read once compaction has dropped those that came
// later: above level 0 each key is there once.
func firstRow(cfg Config) bool {
	return cfg.Schema.HasPrimaryKey() && cfg.Options.MergeEngine == "first-row"
}

// settled leaves level 0 out where only what lies above it is read.
func settled(cfg Config, req Request) Request {
	if req.Level == nil && firstRow(cfg) {
		req.Level = func(level int32) bool { return level > 0 }
	}
	return req
}

// composes says that a row may be made of values of several versions, so that it
// may match where none of them does.
func composes(cfg Config) bool {
	return cfg.Options.MergeEngine == "partial-update" || cfg.Options.MergeEngine == "aggregation"
}

// newSplit makes a split of a group of a bucket's files.
func newSplit(cfg Config, p *pruning, b *bucketFiles, g group, snapshot int64) (*split.Split, error) {
	path, err := p.partitions.Path(b.partition)
	if err != nil {
		return nil, err
	}
	total := b.total
	return &split.Split{
		SnapshotID: snapshot, Partition: b.partition, Bucket: b.number, TotalBuckets: &total,
		BucketPath: cfg.FileIO.URI(cfg.Layout.BucketDir(path, b.number)),
		Files:      g.files, RawConvertible: g.raw,
	}, nil
}

// enough cuts splits down to some that surely hold limit rows.
func enough(splits []*split.Split, limit int64) []*split.Split {
	var out []*split.Split
	var rows int64
	for _, s := range splits {
		n, known := s.LiveRows()
		if !known {
			continue
		}
		out = append(out, s)
		if rows += n; rows >= limit {
			return out
		}
	}
	return splits
}

// pruneSections leaves files out by what the predicate says of values. Where
// runs overlap, a file without a match may still hold the newer version of a row
// that matches elsewhere: a section stays whole or goes whole (INV-PLAN-1). It
// stays where a row is composed of several; where keys are unique each file is
// judged for itself.
func pruneSections(cfg Config, b *bucketFiles, keys []types.Type) ([]*datafile.Meta, error) {
	if b.allMatch() {
		return b.files, nil
	}
	if firstRow(cfg) && !slices.ContainsFunc(b.files, func(f *datafile.Meta) bool { return f.Level == 0 }) {
		return slices.DeleteFunc(slices.Clone(b.files), func(f *datafile.Meta) bool { return !b.match[f] }), nil
	}
	sections, err := lsm.Sections(b.files, keys)
	if err != nil {
		return nil, err
	}
	keep := map[*datafile.Meta]bool{}
	for _, s := range sections {
		any := composes(cfg)
		for _, f := range s.Files() {
			keep[f] = b.match[f]
			any = any || b.match[f]
		}
		if any && len(s) > 1 {
			for _, f := range s.Files() {
				keep[f] = true
			}
		}
	}
	var out []*datafile.Meta
	for _, f := range b.files {
		if keep[f] {
			out = append(out, f)
		}
	}
	return out, nil
}

func keyTypes(s *schema.Schema) []types.Type {
	var out []types.Type
	for _, f := range s.Select(s.TrimmedPrimaryKeys()) {
		out = append(out, f.Type)
	}
	return out
}
