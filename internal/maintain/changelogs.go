package maintain

import (
	"context"
	"math"
	"slices"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// changelogs expires changelogs that have outlived their snapshots. stays and gone are
// of the expiry of snapshots just before, stays nil when none expired.
func (x *Expirer) changelogs(ctx context.Context, r *runState, latest int64, stays *snapshot.Snapshot, gone map[string]bool) error {
	h, err := x.history(ctx, r, stays, gone)
	if err != nil || h == nil {
		return err
	}
	retain := x.cfg.Retention
	l := Limits{
		Earliest: h.ids[0], Latest: latest, Min: retain.ChangelogMin, Max: retain.ChangelogMax,
		Most: retain.Limit, Before: x.cfg.Env.Now().Add(-retain.ChangelogTime).UnixMilli(),
	}
	holds, err := x.holds(ctx, true, false, math.MaxInt64, r.wouldGo()...)
	if err != nil {
		return err
	}
	end, _, err := Until(l, append(holds, Hold{From: h.ids[len(h.ids)-1]}), func(id int64) (int64, bool, error) {
		c, err := h.get(ctx, id)
		if err != nil || c == nil {
			return 0, false, err
		}
		return c.TimeMillis, true, nil
	})
	if err != nil {
		return err
	}
	first := h.ids[0]
	for first < end {
		p, seen, err := x.planChangelogs(ctx, *h, end)
		if err != nil || p == nil {
			return err
		}
		next, err := x.round(ctx, r, p, seen, h.gone)
		if err != nil || next == nil || next.ID < p.Stays.ID {
			return err
		}
		first = next.ID
		h.ids = slices.DeleteFunc(h.ids, func(id int64) bool { return id < first })
	}
	if r.req.DryRun {
		return nil
	}
	there, err := x.cfg.Snapshots.HasChangelogEarliestHint(ctx)
	if err != nil || there {
		return err
	}
	return x.cfg.Snapshots.WriteChangelogEarliestHint(ctx, first)
}

// history is the changelogs there are, in a dry run with those that would come.
func (x *Expirer) history(ctx context.Context, r *runState, stays *snapshot.Snapshot, gone map[string]bool) (*history, error) {
	ids, err := x.cfg.Snapshots.ChangelogIDs(ctx)
	if err != nil {
		return nil, err
	}
	h := &history{ids: ids, get: x.tryChangelog, earliest: stays, gone: gone}
	if r.req.DryRun {
		coming := r.report.Snapshots
		h.ids = slices.Compact(slices.Sorted(slices.Values(append(ids, coming...))))
		h.get = func(ctx context.Context, id int64) (*snapshot.Snapshot, error) {
			if slices.Contains(coming, id) {
				return x.cfg.Snapshots.Try(ctx, id)
			}
			return x.tryChangelog(ctx, id)
		}
	}
	if len(h.ids) == 0 {
		return nil, nil
	}
	if expired := r.report.Snapshots; len(expired) > 0 && stays != nil {
		h.after, h.upTo = expired[0], stays.ID
	}
	if h.earliest == nil {
		if h.earliest, err = x.cfg.Snapshots.Earliest(ctx); err != nil || h.earliest == nil {
			return nil, err
		}
	}
	return h, nil
}
