package commit

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// strict is commit.strict-mode.last-safe-snapshot: a commit is refused when,
// since the last snapshot known to be safe, another user has compacted or
// overwritten, or, if the commit itself overwrites, has added files to buckets.
// What a committer has seen and found harmless is safe.
type strict struct {
	on   bool
	safe int64
}

// look finds what strict mode refuses among the snapshots up to base.
func (s *strict) look(ctx context.Context, c *Committer, user string, kind snapshot.CommitKind, base *snapshot.Snapshot) (*conflict, error) {
	if !s.on {
		return nil, nil
	}
	for id := s.safe + 1; id <= idOf(base); id++ {
		other := base
		if id < base.ID {
			var err error
			if other, err = c.snapshots.Get(ctx, id); err != nil {
				return nil, tarnerr.Trace("looking for commits of others", err, "last safe snapshot", s.safe)
			}
		}
		if other.CommitUser == user {
			continue
		}
		found := &conflict{check: LastSafeSnapshot, bucket: -1, level: -1, id: id}
		switch {
		case other.CommitKind == snapshot.Compact || other.CommitKind == snapshot.Overwrite:
			found.what = fmt.Sprintf("another user's %s lies behind the last safe snapshot %d", other.CommitKind, s.safe)
			return found, nil
		case other.CommitKind == snapshot.Append && kind == snapshot.Overwrite:
			entries, err := c.builder.delta(ctx, other, manifest.EntryFilter{
				Bucket: func(bucket, _ int32) bool { return bucket >= 0 }, WithoutStats: true,
			})
			if err != nil {
				return nil, err
			}
			if len(entries) > 0 {
				found.what = fmt.Sprintf("another user has added files to buckets behind the last safe snapshot %d", s.safe)
				return found, nil
			}
		}
	}
	s.seen(idOf(base))
	return nil, nil
}

// seen notes that all up to a snapshot is safe.
func (s *strict) seen(id int64) { s.safe = max(s.safe, id) }
