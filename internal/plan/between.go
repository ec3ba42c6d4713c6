package plan

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Between plans what the snapshots behind start and up to end changed, as Java's
// incremental reads do: in FromDelta those that are an APPEND, in FromChangelog
// those that are no OVERWRITE. Rows of one bucket come in the order of the snapshots.
func Between(ctx context.Context, cfg Config, req Request, start, end int64, mode ChangeMode) (*Result, error) {
	r := &Result{}
	p := newPruning(cfg, settled(cfg, req))
	var all []live
	for id := start + 1; id <= end; id++ {
		snap, err := cfg.Snapshots.Get(ctx, id)
		if err != nil {
			return nil, tarnerr.Trace("planning incremental scan", err)
		}
		r.Snapshot = snap
		list, size := snap.DeltaManifestList, snap.DeltaManifestListSize
		switch {
		case mode == FromDelta && snap.CommitKind != snapshot.Append,
			mode == FromChangelog && (snap.CommitKind == snapshot.Overwrite || snap.ChangelogManifestList == nil):
			continue
		case mode == FromChangelog:
			list, size = *snap.ChangelogManifestList, snap.ChangelogManifestListSize
		}
		entries, err := listed(ctx, cfg, p, list, size, manifest.Add, &r.Scanned)
		if err != nil {
			return nil, tarnerr.Trace("planning incremental scan", err, "snapshot", id)
		}
		all = append(all, matching(entries)...)
	}
	return r, r.addStreaming(cfg, p, all, end)
}

// Diff plans the comparison of two states of a key table; start nil is that of an
// empty one. Files that are part of both are not read unless others overlap them.
func Diff(ctx context.Context, cfg Config, req Request, start, end *snapshot.Snapshot) (*Result, error) {
	const op = "planning comparison of snapshots"
	r := &Result{Snapshot: end}
	if !cfg.Schema.HasPrimaryKey() {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "the difference of two states of a table without primary key").
			WithHint("Read what was added between them: incremental-between-scan-mode=delta.")
	}
	p := newPruning(cfg, settled(cfg, req))
	var before []live
	if start != nil {
		var err error
		if before, err = liveEntries(ctx, cfg, p, start, false, &r.Scanned); err != nil {
			return nil, tarnerr.Trace(op, err, "snapshot", start.ID)
		}
	}
	after, err := liveEntries(ctx, cfg, p, end, false, &r.Scanned)
	if err != nil {
		return nil, tarnerr.Trace(op, err, "snapshot", end.ID)
	}
	before, after, err = differing(before, after, keyTypes(cfg.Schema))
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	return r, r.addPairs(cfg, p, before, after, end.ID, false)
}

// differing leaves out of both sides the files of sections that are the same on
// both: whatever keys they hold have not changed.
func differing(before, after []live, keys []types.Type) (b, a []live, err error) {
	buckets := map[string]*sides{}
	for i, entries := range [][]live{before, after} {
		for _, e := range entries {
			s := buckets[bucketID(e)]
			if s == nil {
				s = &sides{on: map[string]int{}, total: e.TotalBuckets}
				buckets[bucketID(e)] = s
			}
			if s.total != e.TotalBuckets {
				return nil, nil, tarnerr.New(tarnerr.Unsupported, "comparing files", "states with different numbers of buckets", "buckets", e.TotalBuckets, "others", s.total)
			}
			if s.on[e.Identity()] == 0 {
				s.files = append(s.files, e.File)
				s.ids = append(s.ids, e.Identity())
			}
			s.on[e.Identity()] |= 1 << i
		}
	}
	for _, s := range buckets {
		if err := s.leaveOut(keys); err != nil {
			return nil, nil, err
		}
	}
	same := func(e live) bool { return buckets[bucketID(e)].on[e.Identity()] == 0 }
	return slices.DeleteFunc(before, same), slices.DeleteFunc(after, same), nil
}

// sides are the files of a bucket in either of two states.
type sides struct {
	files []*datafile.Meta
	ids   []string
	total int32
	on    map[string]int // by identity: bit 0 before, bit 1 after, 0 to be left out
}

func (s *sides) leaveOut(keys []types.Type) error {
	sections, err := lsm.Sections(s.files, keys)
	if err != nil {
		return err
	}
	id := make(map[*datafile.Meta]string, len(s.files))
	for i, f := range s.files {
		id[f] = s.ids[i]
	}
	for _, section := range sections {
		files := section.Files()
		if !slices.ContainsFunc(files, func(f *datafile.Meta) bool { return s.on[id[f]] != 3 }) {
			for _, f := range files {
				s.on[id[f]] = 0
			}
		}
	}
	return nil
}

func bucketID(e live) string {
	n := uint32(e.Bucket)
	return string(e.Partition) + string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
