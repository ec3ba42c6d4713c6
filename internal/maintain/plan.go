package maintain

import (
	"context"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

func (x *Expirer) drafting(gone map[string]bool) *drafting {
	return &drafting{Expirer: x, d: newDraft(), gone: gone, dirs: map[string]string{}, lists: map[string][]manifest.FileMeta{}}
}

// planSnapshots plans the snapshots of [first, end), or fewer when they have so many
// files that a plan of all would be too large. nil when there are none. Source:
// ExpireSnapshotsImpl, SnapshotDeletion of Java; which files stay for whom is its own.
func (x *Expirer) planSnapshots(ctx context.Context, get getter, first, end, latest int64) (*Plan, map[string]bool, error) {
	const op = "planning expiry of snapshots"
	g := x.drafting(nil)
	p := &Plan{Version: recordVersion, Decouple: x.cfg.Retention.Decoupled(), CleanDirs: x.cfg.Retention.CleanDirectories, Free: x.cfg.Retention.ChangelogOnly}
	// Without a changelog producer the changes are the files of level 0: they stay with
	// the changelogs, and so do the lists that name them.
	changesInData := p.Decouple && !x.cfg.Produces
	var spare func(*datafile.Meta) bool
	if changesInData {
		spare = ofAppend
	}
	// take looks at the next snapshot: it goes, or is the first one that stays.
	take := func(next loaded) error {
		snap := next.Snapshot
		if len(p.Going) > 0 {
			if err := g.removed(ctx, next.delta, spare); err != nil {
				return err
			}
		}
		if snap.ID >= end || len(p.Going) > 0 && len(g.d.data) >= x.mostFiles {
			p.Stays = snap
			return nil
		}
		if next.ok && !changesInData {
			g.lists[snap.DeltaManifestList] = next.delta
		}
		p.Going = append(p.Going, snap)
		if !p.Decouple && snap.ChangelogManifestList != nil {
			return g.added(ctx, *snap.ChangelogManifestList, snap.ChangelogManifestListSize)
		}
		return nil
	}
	// Those behind end are needed when it is missing.
	for from, n := 0, int(end-first)+1; p.Stays == nil && first+int64(from) <= latest; from, n = from+n, 1 {
		for next, err := range ahead(ctx, x.cfg.Workers, n, func(ctx context.Context, i int) (loaded, error) {
			return g.load(ctx, get, first+int64(from+i))
		}) {
			if err == nil && next.Snapshot != nil {
				err = take(next)
			}
			if err != nil {
				return nil, nil, tarnerr.Trace(op, err)
			}
			if p.Stays != nil {
				break
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
	if !changesInData {
		if err := g.dataLists(ctx, p.Going); err != nil {
			return nil, nil, tarnerr.Trace(op, err)
		}
	}
	for _, s := range p.Going {
		if err := g.sides(ctx, s, indexes); err != nil {
			return nil, nil, tarnerr.Trace(op, err, "snapshot", s.ID)
		}
		if !p.Decouple && s.ChangelogManifestList != nil {
			if err := g.list(ctx, *s.ChangelogManifestList, s.ChangelogManifestListSize); err != nil {
				return nil, nil, tarnerr.Trace(op, err, "snapshot", s.ID)
			}
		}
	}
	stays := root{Snapshot: p.Stays, file: x.cfg.Place.SnapshotFile(p.Stays.ID), reach: reachNames}
	seen, err := x.spareAll(ctx, g.d, p, stays)
	return p, seen, tarnerr.Trace(op, err)
}

// loaded is a snapshot, nil when it is not there: expired by others, or lost. With it
// comes the list of its changes, of which ok says whether it could be read.
type loaded struct {
	*snapshot.Snapshot
	delta []manifest.FileMeta
	ok    bool
}

func (g *drafting) load(ctx context.Context, get getter, id int64) (l loaded, err error) {
	if l.Snapshot, err = get(ctx, id); err != nil || l.Snapshot == nil {
		return l, err
	}
	l.delta, l.ok, err = g.fetch(ctx, l.DeltaManifestList, l.DeltaManifestListSize)
	return l, err
}

// getter reads a snapshot or changelog, nil when it is not there.
type getter func(ctx context.Context, id int64) (*snapshot.Snapshot, error)

// dataLists drafts base and delta lists, with their manifests.
func (g *drafting) dataLists(ctx context.Context, of []*snapshot.Snapshot) error {
	type base struct {
		metas []manifest.FileMeta
		ok    bool
	}
	i := 0
	for b, err := range ahead(ctx, g.cfg.Workers, len(of), func(ctx context.Context, i int) (b base, err error) {
		b.metas, b.ok, err = g.fetch(ctx, of[i].BaseManifestList, of[i].BaseManifestListSize)
		return b, err
	}) {
		if err == nil {
			err = g.listed(ctx, of[i].BaseManifestList, b.metas, b.ok)
		}
		if err == nil {
			err = g.list(ctx, of[i].DeltaManifestList, of[i].DeltaManifestListSize)
		}
		if err != nil {
			return err
		}
		i++
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
	if err := s.orphaned(ctx, p); err != nil {
		return nil, err
	}
	p.Files = d.files()
	return s.seen, nil
}

// history is the changelogs there are, or will be once planned snapshots have gone.
type history struct {
	ids []int64
	get getter
	// earliest is the oldest snapshot that stays, gone what is planned to go with those
	// before it; both of the plan when nothing has been done yet.
	earliest *snapshot.Snapshot
	gone     map[string]bool
	// The data files that these have removed, up to and with the second, have gone with
	// the snapshots just before; without a producer the compacted ones alone.
	after, upTo int64
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
		if err := g.changelog(ctx, c, id > h.after && id <= h.upTo); err != nil {
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
// a producer the data files that it removed, and its lists. just says that its snapshot
// has just expired.
func (g *drafting) changelog(ctx context.Context, c *snapshot.Snapshot, just bool) error {
	if c.ChangelogManifestList != nil {
		if err := g.added(ctx, *c.ChangelogManifestList, c.ChangelogManifestListSize); err != nil {
			return err
		}
		return g.list(ctx, *c.ChangelogManifestList, c.ChangelogManifestListSize)
	}
	var spare func(*datafile.Meta) bool
	if just {
		spare = func(m *datafile.Meta) bool { return g.cfg.Produces || !ofAppend(m) }
	}
	delta, _, err := g.readList(ctx, c.DeltaManifestList, c.DeltaManifestListSize)
	if err != nil {
		return err
	}
	if err := g.removed(ctx, delta, spare); err != nil {
		return err
	}
	return g.dataLists(ctx, []*snapshot.Snapshot{c})
}

// ofAppend tells files that a writer wrote; who does not say so may have.
func ofAppend(m *datafile.Meta) bool { return m.FileSource == nil || *m.FileSource == datafile.Append }
