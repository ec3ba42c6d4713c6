package manifest

import (
	"context"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// MergeOptions bound the merging of manifests.
type MergeOptions struct {
	TargetSize    int64 // manifest.target-file-size: manifests below it are small
	FullThreshold int64 // manifest.full-compaction-threshold-size, bytes that changed before all is rewritten
	MinCount      int   // manifest.merge-min-count, how many small manifests before the last ones are merged
}

// DefaultMergeOptions are Paimon's defaults.
func DefaultMergeOptions() MergeOptions {
	return MergeOptions{TargetSize: DefaultTargetSize, FullThreshold: 16 << 20, MinCount: 30}
}

// Merge rewrites the manifests metas of a table, in their order, into fewer
// that say the same, and returns the list that takes their place. Most often it
// has nothing to do and returns what it was given. Manifests of the result that
// are not in metas are new. After an error nothing of them is left.
func Merge(ctx context.Context, s *Store, metas []FileMeta, opts MergeOptions) ([]FileMeta, error) {
	if changed, due := planFull(metas, opts); due {
		merged, done, err := s.mergeFull(ctx, metas, changed)
		if err != nil || done {
			return merged, tarnerr.Trace("merging all manifests", err)
		}
	}
	var out, written []FileMeta
	for _, g := range planMinor(metas, opts) {
		if !g.merge {
			out = append(out, g.metas...)
			continue
		}
		merged, err := s.mergeGroup(ctx, g.metas)
		if err != nil {
			s.forget(ctx, written)
			return nil, tarnerr.Trace("merging manifests", err)
		}
		out, written = append(out, merged...), append(written, merged...)
	}
	return out, nil
}

// planFull decides whether to rewrite all manifests: when those that are small
// or hold deletions have enough bytes. changed marks them.
func planFull(metas []FileMeta, opts MergeOptions) (changed []bool, due bool) {
	changed = make([]bool, len(metas))
	var size int64
	for i, m := range metas {
		if changed[i] = m.Deleted > 0 || m.FileSize < opts.TargetSize; changed[i] {
			size += m.FileSize
		}
	}
	return changed, size >= opts.FullThreshold
}

// group is a run of manifests to merge into one, or to keep as they are.
type group struct {
	metas []FileMeta
	merge bool
}

// planMinor groups manifests, in order, into runs that reach the target size;
// what is left at the end is merged only if it is many.
func planMinor(metas []FileMeta, opts MergeOptions) []group {
	var out []group
	var size int64
	from := 0
	for i, m := range metas {
		if size += m.FileSize; size >= opts.TargetSize {
			out = append(out, group{metas[from : i+1], i > from})
			from, size = i+1, 0
		}
	}
	if rest := metas[from:]; len(rest) > 0 {
		out = append(out, group{rest, len(rest) >= opts.MinCount && len(rest) > 1})
	}
	return out
}

// mergeGroup cancels what the manifests of a group add and delete again, and
// keeps the deletions whose files lie elsewhere.
func (s *Store) mergeGroup(ctx context.Context, metas []FileMeta) ([]FileMeta, error) {
	var m Merger
	for entries, err := range s.ReadManifests(ctx, metas, EntryFilter{}) {
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := m.Add(e); err != nil {
				return nil, err
			}
		}
	}
	return s.WriteManifests(ctx, m.Entries())
}

// mergeFull rewrites the manifests that changed and those that have files the
// others delete, without any deletion. done is false when there is nothing to win.
func (s *Store) mergeFull(ctx context.Context, metas []FileMeta, changed []bool) (out []FileMeta, done bool, err error) {
	deleted, partitions, err := s.deletedFiles(ctx, metas)
	if err != nil {
		return nil, false, err
	}
	var todo []FileMeta
	var must []bool
	for i, m := range metas {
		if !changed[i] && !s.mayHoldAny(m, partitions) {
			out = append(out, m)
			continue
		}
		todo, must = append(todo, m), append(must, changed[i])
	}
	if len(todo) <= 1 {
		return nil, false, nil
	}
	w := s.newRoller()
	var ids identities
	i := 0
	for entries, err := range s.ReadManifests(ctx, todo, EntryFilter{}) {
		if err != nil {
			w.abort(ctx)
			return nil, false, err
		}
		kept := entries[:0]
		rewrite := must[i]
		for _, e := range entries {
			if e.Kind == Delete {
				continue
			}
			if deleted[ids.of(&e)] {
				rewrite = true
				continue
			}
			kept = append(kept, e)
		}
		if rewrite {
			for k := range kept {
				if err := w.write(ctx, &kept[k]); err != nil {
					w.abort(ctx)
					return nil, false, err
				}
			}
		} else {
			out = append(out, todo[i])
		}
		i++
	}
	written, err := w.close(ctx)
	if err != nil {
		return nil, false, err
	}
	return append(out, written...), true, nil
}

// deletedFiles collects the files that manifests delete, and their partitions.
func (s *Store) deletedFiles(ctx context.Context, metas []FileMeta) (map[identity]bool, []binaryrow.Row, error) {
	var holders []FileMeta
	for _, m := range metas {
		if m.Deleted > 0 {
			holders = append(holders, m)
		}
	}
	onlyDeletes := EntryFilter{Kind: func(k Kind) bool { return k == Delete }, WithoutStats: true}
	files, seen := map[identity]bool{}, map[string]bool{}
	var partitions []binaryrow.Row
	var ids identities
	for entries, err := range s.ReadManifests(ctx, holders, onlyDeletes) {
		if err != nil {
			return nil, nil, err
		}
		for i := range entries {
			id := ids.of(&entries[i])
			files[id] = true
			if !seen[id.partition] {
				seen[id.partition] = true
				partitions = append(partitions, entries[i].Partition)
			}
		}
	}
	return files, partitions, nil
}

// mayHoldAny tells whether a manifest's partition statistics leave room for one
// of the partitions.
func (s *Store) mayHoldAny(m FileMeta, partitions []binaryrow.Row) bool {
	for _, p := range partitions {
		if s.MayHold(m, p) {
			return true
		}
	}
	return false
}

// MayHold tells whether a manifest may have entries of a partition, by its
// statistics. What they do not tell is taken for possible.
func (s *Store) MayHold(m FileMeta, partition binaryrow.Row) bool {
	for i, f := range s.cfg.Partition {
		v, err := partition.Value(i, f.Type)
		if err != nil {
			return true
		}
		if v == nil {
			if i < len(m.PartitionStats.NullCounts) {
				if n := m.PartitionStats.NullCounts[i]; n != nil && *n == 0 {
					return false
				}
			}
			continue
		}
		lo, errLo := m.PartitionStats.Min.Value(i, f.Type)
		hi, errHi := m.PartitionStats.Max.Value(i, f.Type)
		if errLo != nil || errHi != nil || lo == nil || hi == nil {
			if errLo == nil && errHi == nil && s.allNull(m, i) {
				return false
			}
			continue
		}
		if types.Compare(f.Type, v, lo) < 0 || types.Compare(f.Type, v, hi) > 0 {
			return false
		}
	}
	return true
}

// allNull tells whether a manifest has only nulls in a partition column.
func (s *Store) allNull(m FileMeta, i int) bool {
	if i >= len(m.PartitionStats.NullCounts) {
		return false
	}
	n := m.PartitionStats.NullCounts[i]
	return n != nil && *n == m.Added+m.Deleted
}
