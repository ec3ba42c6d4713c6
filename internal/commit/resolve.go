package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// history is where snapshots are looked up.
type history interface {
	Latest(ctx context.Context) (*snapshot.Snapshot, error)
	Get(ctx context.Context, id int64) (*snapshot.Snapshot, error)
}

// search looks for a snapshot of the commit id among those after base up to
// latest. It returns nil only when it has read each of them: a snapshot that is
// gone leaves the commit in doubt, with an error of kind CommitStateUnknown.
func search(ctx context.Context, h history, id identity, base int64, latest *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if latest == nil {
		return nil, nil
	}
	for n := latest.ID; n > base; n-- {
		s := latest
		if n != latest.ID {
			var err error
			if s, err = h.Get(ctx, n); err != nil {
				return nil, tarnerr.Wrap(tarnerr.CommitStateUnknown, "resolving commit", err,
					"user", id.user, "identifier", id.identifier, "kind", id.kind, "base", base, "latest", latest.ID, "snapshot", n)
			}
		}
		if id.matches(s) {
			return s, nil
		}
	}
	return nil, nil
}

// latestOf finds the newest live snapshot of user that want accepts, walking
// back from latest to above floor; nil when there is none.
func (c *Committer) latestOf(ctx context.Context, user string, latest *snapshot.Snapshot, floor int64, want func(*snapshot.Snapshot) bool) (*snapshot.Snapshot, error) {
	for s := latest; s != nil && s.ID > floor; {
		if s.CommitUser == user && want(s) {
			return s, nil
		}
		if s.ID == 1 {
			return nil, nil
		}
		prev, err := c.snapshots.Get(ctx, s.ID-1)
		switch {
		case err == nil:
			s = prev
		case tarnerr.KindOf(err) == tarnerr.NotFound || tarnerr.KindOf(err) == tarnerr.Expired:
			return nil, nil
		default:
			return nil, err
		}
	}
	return nil, nil
}

// LastCommitted is the highest identifier user has committed, among the
// snapshots that are live; ok is false when there is none (P15). In strict mode
// it looks no further back than the last safe snapshot.
func (c *Committer) LastCommitted(ctx context.Context, user string) (identifier int64, ok bool, err error) {
	const op = "finding last commit of user"
	latest, err := c.snapshots.Latest(ctx)
	if err != nil {
		return 0, false, tarnerr.Trace(op, err, "table", c.cfg.Table, "user", user)
	}
	floor := int64(0)
	if safe := c.cfg.Options.LastSafeSnapshot; safe != nil {
		floor = *safe
	}
	s, err := c.latestOf(ctx, user, latest, floor, func(*snapshot.Snapshot) bool { return true })
	if err != nil || s == nil {
		return 0, false, tarnerr.Trace(op, err, "table", c.cfg.Table, "user", user)
	}
	return s.CommitIdentifier, true, nil
}

// FilterCommitted drops the identifiers that user has committed: those up to
// that of its latest snapshot. They must be ascending.
func (c *Committer) FilterCommitted(ctx context.Context, user string, identifiers []int64) ([]int64, error) {
	for i := 1; i < len(identifiers); i++ {
		if identifiers[i] <= identifiers[i-1] {
			return nil, tarnerr.New(tarnerr.Invalid, "filtering committed identifiers", "identifiers must ascend", "identifier", identifiers[i], "before", identifiers[i-1])
		}
	}
	if len(identifiers) == 0 {
		return identifiers, nil
	}
	last, ok, err := c.LastCommitted(ctx, user)
	if err != nil {
		return nil, err
	}
	if !ok {
		return identifiers, nil
	}
	for i, id := range identifiers {
		if id > last {
			return identifiers[i:], nil
		}
	}
	return nil, nil
}
