package maintain

import (
	"context"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

func (x *Expirer) drafting(gone map[string]bool) *drafting {
	return &drafting{Expirer: x, d: newDraft(), gone: gone, dirs: map[string]string{}}
}

// planSnapshots plans the snapshots of [first, end), or fewer when they have so many
// files that a plan of all would be too large. nil when there are none. Source:
// ExpireSnapshotsImpl, SnapshotDeletion of Java; which files stay for whom is its own.
func (x *Expirer) planSnapshots(ctx context.Context, first, end, latest int64) (*Plan, map[string]bool, error) {
	const op = "planning expiry of snapshots"
	g := x.drafting(nil)
	p := &Plan{Version: recordVersion, Decouple: x.cfg.Retention.Decoupled(), CleanDirs: x.cfg.Retention.CleanDirectories, Free: x.cfg.Retention.ChangelogOnly}
	// Without a changelog producer the changes are the files of level 0: they stay with
	// the changelogs, and so do the lists that name them.
	changesInData := p.Decouple && !x.cfg.Produces
	var spare func(*datafile.Meta) bool
	if changesInData {
		spare = func(m *datafile.Meta) bool { return m.FileSource == nil || *m.FileSource == datafile.Append }
	}
	for id := first; id <= latest && p.Stays == nil; id++ {
		snap, err := x.cfg.Snapshots.Try(ctx, id)
		if err != nil {
			return nil, nil, tarnerr.Trace(op, err)
		}
		if snap == nil {
			continue // expired by others, or lost
		}
		if len(p.Going) > 0 {
			if err := g.removed(ctx, snap.DeltaManifestList, snap.DeltaManifestListSize, spare); err != nil {
				return nil, nil, tarnerr.Trace(op, err, "snapshot", id)
			}
		}
		if id >= end || len(p.Going) > 0 && len(g.d.data) >= x.mostFiles {
			p.Stays = snap
			continue
		}
		p.Going = append(p.Going, snap)
		if !p.Decouple && snap.ChangelogManifestList != nil {
			if err := g.added(ctx, *snap.ChangelogManifestList, snap.ChangelogManifestListSize); err != nil {
				return nil, nil, tarnerr.Trace(op, err, "snapshot", id)
			}
		}
	}
	switch {
	case p.Stays == nil:
		return nil, nil, tarnerr.New(tarnerr.Contention, op, "snapshots went meanwhile", "latest", latest).
			WithHint("Try again.")
	case len(p.Going) == 0:
		return nil, nil, nil
	}
	indexes := map[string]bool{}
	for _, s := range p.Going {
		if err := g.snapshotLists(ctx, s, !changesInData, !p.Decouple); err != nil {
			return nil, nil, tarnerr.Trace(op, err, "snapshot", s.ID)
		}
		if err := g.sides(ctx, s, indexes); err != nil {
			return nil, nil, tarnerr.Trace(op, err, "snapshot", s.ID)
		}
	}
	stays := root{Snapshot: p.Stays, file: x.cfg.Place.SnapshotFile(p.Stays.ID), reach: reachNames}
	seen, err := x.spareAll(ctx, g.d, p, stays)
	return p, seen, tarnerr.Trace(op, err)
}

func (g *drafting) snapshotLists(ctx context.Context, s *snapshot.Snapshot, data, changelog bool) error {
	if data {
		if err := g.list(ctx, s.BaseManifestList, s.BaseManifestListSize); err != nil {
			return err
		}
		if err := g.list(ctx, s.DeltaManifestList, s.DeltaManifestListSize); err != nil {
			return err
		}
	}
	if changelog && s.ChangelogManifestList != nil {
		return g.list(ctx, *s.ChangelogManifestList, s.ChangelogManifestListSize)
	}
	return nil
}

// spareAll takes out of the draft what stays, tags and branches need, and gives the
// plan its files. It returns those that were asked.
func (x *Expirer) spareAll(ctx context.Context, d *draft, p *Plan, stays ...root) (map[string]bool, error) {
	s := x.sparing(d, map[string]bool{})
	for _, r := range stays {
		// One that goes meanwhile is no reason to let go what its successor may need.
		if err := s.from(ctx, r); err != nil {
			return nil, tarnerr.Trace("finding what the oldest snapshot needs", err, "snapshot", r.ID)
		}
	}
	if err := s.others(ctx, p.Going[0].ID, p.Stays.ID); err != nil {
		return nil, err
	}
	p.Files = d.files()
	return s.seen, nil
}

// history is the changelogs there are, or will be once planned snapshots have gone.
type history struct {
	ids []int64
	get func(ctx context.Context, id int64) (*snapshot.Snapshot, error) // nil when gone
	// earliest is the oldest snapshot that stays, gone what is planned to go with those
	// before it; both of the plan when nothing has been done yet.
	earliest *snapshot.Snapshot
	gone     map[string]bool
}

// planChangelogs plans the changelogs below end. nil when there are none. Source:
// ExpireChangelogImpl, ChangelogDeletion of Java.
func (x *Expirer) planChangelogs(ctx context.Context, h history, end int64) (*Plan, map[string]bool, error) {
	const op = "planning expiry of changelogs"
	g := x.drafting(h.gone)
	p := &Plan{Version: recordVersion, Changelogs: true, CleanDirs: x.cfg.Retention.CleanDirectories}
	for _, id := range h.ids {
		c, err := h.get(ctx, id)
		if err != nil {
			return nil, nil, tarnerr.Trace(op, err)
		}
		if c == nil {
			continue
		}
		if id >= end || len(p.Going) > 0 && len(g.d.data) >= x.mostFiles {
			p.Stays = c
			break
		}
		p.Going = append(p.Going, c)
		if err := g.changelog(ctx, c); err != nil {
			return nil, nil, tarnerr.Trace(op, err, "changelog", id)
		}
	}
	if p.Stays == nil || len(p.Going) == 0 {
		return nil, nil, nil
	}
	var stays []root
	for _, s := range []*snapshot.Snapshot{p.Stays, h.earliest} {
		stays = append(stays, root{Snapshot: s, reach: reachNames, loose: true})
	}
	seen, err := x.spareAll(ctx, g.d, p, stays...)
	return p, seen, tarnerr.Trace(op, err)
}

// changelog drafts what a changelog alone still names: its changelog files, or without
// a producer the data files that it removed, and its lists.
func (g *drafting) changelog(ctx context.Context, c *snapshot.Snapshot) error {
	if c.ChangelogManifestList != nil {
		if err := g.added(ctx, *c.ChangelogManifestList, c.ChangelogManifestListSize); err != nil {
			return err
		}
		return g.list(ctx, *c.ChangelogManifestList, c.ChangelogManifestListSize)
	}
	if err := g.removed(ctx, c.DeltaManifestList, c.DeltaManifestListSize, nil); err != nil {
		return err
	}
	return g.snapshotLists(ctx, c, true, false)
}
