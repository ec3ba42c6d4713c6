package maintain

import (
	"context"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// consumers removes those that nobody has written for long.
func (x *Expirer) consumers(ctx context.Context, r *runState) error {
	if x.cfg.Consumers == 0 {
		return nil
	}
	before := x.cfg.Env.Now().Add(-x.cfg.Consumers).UnixMilli()
	old, err := x.cfg.Snapshots.Consumers().OlderThan(ctx, before)
	if err != nil {
		return err
	}
	for _, c := range old {
		if !r.req.DryRun {
			if gone, err := x.removeConsumer(ctx, c, before); err != nil || !gone {
				if err != nil {
					return err
				}
				continue
			}
		}
		r.report.Consumers = append(r.report.Consumers, c)
		r.audit.Consumers = append(r.audit.Consumers, c)
	}
	return nil
}

// holds are what keeps snapshots or changelogs from an id on, of those below end:
// consumers, and commits of which nobody knows whether they landed.
func (x *Expirer) holds(ctx context.Context, changelogs, free bool, end int64, without ...string) ([]Hold, error) {
	var out []Hold
	if changelogs || !free {
		found, err := x.cfg.Snapshots.Consumers().All(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if c.Next < end && !slices.Contains(without, c.ID) {
				out = append(out, Hold{By: ByConsumer, Name: c.ID, From: c.Next})
			}
		}
	}
	if changelogs {
		return out, nil
	}
	for f, err := range x.cfg.Commits.All(ctx) {
		switch {
		case err != nil && (f.Path == "" || tarnerr.KindOf(err) != tarnerr.Corrupt && tarnerr.KindOf(err) != tarnerr.Unsupported):
			return nil, err
		case err != nil: // nobody knows upon what
			out = append(out, Hold{By: ByCommit, Name: path.Base(f.Path)})
		case f.Pending():
			if from := f.SearchFrom(math.MaxInt64) + 1; from < end {
				out = append(out, Hold{By: ByCommit, Name: commitName(&f.Record), From: from})
			}
		}
	}
	return out, nil
}

func commitName(r *commitlog.Record) string {
	if r.Identifier == snapshot.BatchIdentifier {
		return r.User
	}
	return r.User + " " + strconv.FormatInt(r.Identifier, 10)
}

// wouldGo are the consumers that a dry run has not removed.
func (r *runState) wouldGo() []string {
	if r.req.DryRun {
		return r.report.Consumers
	}
	return nil
}
