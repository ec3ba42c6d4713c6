package manifest

import (
	"context"

	"github.com/tarnlake/tarn/tarnerr"
)

// MergeOptions bound the merging of manifests.
type MergeOptions struct {
	TargetSize    int64 // manifest.target-file-size: manifests below it are small
	FullThreshold int64 // manifest.full-compaction-threshold-size, bytes that changed before all is rewritten
	MinCount      int   // manifest.merge-min-count, how many small manifests before the last ones are merged
	// Budget is how many bytes of manifests one merge takes in to rewrite, at most;
	// 0 = no limit. What is left over waits for the next merge.
	Budget int64
	// Turn is where a merge that cannot do all begins, so that merges one after
	// the other come around: a number that grows, such as a snapshot id.
	Turn int64
}

// DefaultMergeOptions are Paimon's defaults, without a budget.
func DefaultMergeOptions() MergeOptions {
	return MergeOptions{TargetSize: DefaultTargetSize, FullThreshold: 16 << 20, MinCount: 30}
}

// Budget is what one commit may rewrite: the full threshold, and no less than
// two manifests of the target size and a half, so that a manifest of deletions
// and one of the files it deletes always fit together.
func Budget(targetSize, fullThreshold int64) int64 {
	return max(fullThreshold, targetSize/2*5)
}

// Merge rewrites the manifests metas of a table, in their order, into fewer
// that say the same, and returns the list that takes their place. Most often it
// has nothing to do and returns what it was given. Manifests of the result that
// are not in metas are new. After an error nothing of them is left.
func Merge(ctx context.Context, s *Store, metas []FileMeta, opts MergeOptions) ([]FileMeta, error) {
	if changed, due := planFull(metas, opts); due {
		merged, done, err := s.mergeFull(ctx, metas, changed, opts)
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

// mergeGroup cancels what the manifests of a group add and delete again, and
// keeps the deletions whose files lie elsewhere.
func (s *Store) mergeGroup(ctx context.Context, metas []FileMeta) ([]FileMeta, error) {
	sources, err := s.sources(ctx, metas)
	if err != nil {
		return nil, err
	}
	gone, err := s.deletions(sources)
	if err != nil {
		return nil, err
	}
	w := s.newRoller()
	for _, src := range sources {
		if src.meta.Deleted == 0 && !gone.mayTouch(s, src.meta) {
			err = s.take(ctx, w, src)
		} else {
			err = s.pick(ctx, w, src, gone.cancel)
		}
		if err != nil {
			w.abort(ctx)
			return nil, err
		}
	}
	return w.close(ctx)
}
