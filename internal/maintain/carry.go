package maintain

import (
	"context"
	"math"
	"slices"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// carry carries out a plan that is on disk, its own or that of a run that died, from
// the beginning: what is done already is found done. seen are the tags and branches
// that the plan was held against a moment ago, nil when it is not of this run.
func (x *Expirer) carry(ctx context.Context, p *Plan, seen map[string]bool) (*outcome, error) {
	resumed := seen == nil
	if resumed {
		seen = map[string]bool{}
	}
	out := &outcome{plan: p}
	there, stays, err := x.stillSo(ctx, p)
	if err != nil {
		return nil, err
	}
	if there == nil {
		out.abandoned = "the history was rewritten"
		return out, nil
	}
	bound, err := x.heldNow(ctx, p)
	if err != nil {
		return nil, err
	}
	var kept []*snapshot.Snapshot
	for i, s := range p.Going {
		if s.ID >= bound && there[i] {
			kept = append(kept, s)
			continue
		}
		out.going = append(out.going, s)
		if p.Decouple && there[i] {
			if err := x.cfg.Snapshots.WriteChangelog(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	if err := x.expel(ctx, p, out.going, append(kept, stays...)); err != nil {
		return nil, err
	}
	d := draftOf(&p.Files)
	s := x.sparing(d, seen)
	for _, k := range kept {
		for _, r := range keptRoots(p, k) {
			if err := s.from(ctx, r); err != nil {
				return nil, tarnerr.Trace("finding what is still needed", err, "snapshot", k.ID)
			}
		}
	}
	if err := s.others(ctx, p.Going[0].ID, p.Stays.ID); err != nil {
		return nil, err
	}
	if err := s.orphaned(ctx, p); err != nil {
		return nil, err
	}
	if err := x.present(ctx, p, s, resumed); err != nil {
		return nil, tarnerr.Trace("finding what the table needs now", err)
	}
	files := d.files()
	out.Files, out.Bytes = p.Files.count(), p.Files.bytes()
	out.Held = out.Files - files.count()
	x.expect(int64(files.count()))
	del := deleting{Expirer: x}
	if err := del.files(ctx, &files); err != nil {
		return nil, err
	}
	if p.CleanDirs {
		del.directories(ctx, &files)
	}
	slices.Sort(del.failed)
	out.Deleted, out.Failed, out.failed = int(del.done), len(del.failed), del.failed
	return out, nil
}

// present spares what the table needs now where that may be more than what it needed
// when the plan was made. Time has passed since that of another run: the table may have
// been rolled back, and what is of the old history in the new one has no other sign
// once the new one has been expired past the plan. And the snapshot that stays may have
// been replaced a moment ago, as a compaction is that gives way.
func (x *Expirer) present(ctx context.Context, p *Plan, s *sparing, resumed bool) error {
	if !resumed {
		get := x.cfg.Snapshots.Try
		if p.Changelogs {
			get = x.tryChangelog
		}
		if now, err := get(ctx, p.Stays.ID); err != nil || now != nil && same(now, p.Stays) {
			return err
		}
	}
	return s.snapshots(ctx, x.cfg.Snapshots)
}

// outcome is what became of a plan.
type outcome struct {
	Counts
	plan      *Plan
	going     []*snapshot.Snapshot
	failed    []string
	abandoned string
}

// stillSo tells which of the plan's snapshots are there as they were when it was made,
// and the first one that stays, none when that has gone in its turn. After a rollback
// their ids may be those of others: then nothing of the plan counts, and there is nil.
func (x *Expirer) stillSo(ctx context.Context, p *Plan) (there []bool, stays []*snapshot.Snapshot, err error) {
	get := x.cfg.Snapshots.Try
	if p.Changelogs {
		get = x.tryChangelog
	}
	now, err := get(ctx, p.Stays.ID)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case now == nil:
		first, err := x.firstOf(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		if first < p.Stays.ID {
			return nil, nil, nil
		}
	case !same(now, p.Stays):
		return nil, nil, nil
	default:
		stays = append(stays, now)
	}
	there = make([]bool, 0, len(p.Going))
	for now, err := range ahead(ctx, x.cfg.Workers, len(p.Going), func(ctx context.Context, i int) (*snapshot.Snapshot, error) {
		return get(ctx, p.Going[i].ID)
	}) {
		if err != nil {
			return nil, nil, err
		}
		if now != nil && !same(now, p.Going[len(there)]) {
			return nil, nil, nil
		}
		there = append(there, now != nil)
	}
	return there, stays, nil
}

func same(a, b *snapshot.Snapshot) bool {
	return a.DeltaManifestList == b.DeltaManifestList && a.BaseManifestList == b.BaseManifestList && a.CommitUser == b.CommitUser
}

// firstOf is the oldest snapshot or changelog, 0 when there is none.
func (x *Expirer) firstOf(ctx context.Context, p *Plan) (int64, error) {
	if !p.Changelogs {
		return x.cfg.Snapshots.EarliestID(ctx)
	}
	ids, err := x.cfg.Snapshots.ChangelogIDs(ctx)
	if err != nil || len(ids) == 0 {
		return math.MaxInt64, err // all may have gone, nothing of theirs can come back
	}
	return ids[0], nil
}

func (x *Expirer) tryChangelog(ctx context.Context, id int64) (*snapshot.Snapshot, error) {
	c, err := x.cfg.Snapshots.Changelog(ctx, id)
	if err != nil && tarnerr.KindOf(err) == tarnerr.NotFound {
		return nil, nil
	}
	return c, err
}

// heldNow is the first id that must not go, by the consumers and commits of now.
func (x *Expirer) heldNow(ctx context.Context, p *Plan) (int64, error) {
	holds, err := x.holds(ctx, p.Changelogs, p.Free, p.Stays.ID)
	bound := int64(math.MaxInt64)
	for _, h := range holds {
		bound = min(bound, h.From)
	}
	return bound, err
}

// expel removes the files of snapshots or changelogs, after which nobody finds them,
// and notes the first one that is left.
func (x *Expirer) expel(ctx context.Context, p *Plan, going, left []*snapshot.Snapshot) error {
	if p.Decouple && len(going) > 0 {
		if err := x.hintLatestChangelog(ctx, going[len(going)-1].ID); err != nil {
			return err
		}
	}
	if err := x.removeGoing(ctx, p, going); err != nil {
		return err
	}
	if len(left) == 0 {
		return nil
	}
	if p.Changelogs {
		return x.cfg.Snapshots.WriteChangelogEarliestHint(ctx, left[0].ID)
	}
	return x.cfg.Snapshots.WriteEarliestHint(ctx, left[0].ID)
}

// hintLatestChangelog notes the newest changelog, unless a newer one is there: the
// plan may be an old one.
func (x *Expirer) hintLatestChangelog(ctx context.Context, id int64) error {
	ids, err := x.cfg.Snapshots.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) > 0 && ids[len(ids)-1] != id {
		id = ids[len(ids)-1]
	}
	return x.cfg.Snapshots.WriteChangelogLatestHint(ctx, id)
}

// keptRoots are what a planned snapshot or changelog needs that stays after all.
func keptRoots(p *Plan, s *snapshot.Snapshot) []root {
	changes := root{Snapshot: s, reach: reachChanges, loose: p.Changelogs}
	if p.Changelogs {
		return []root{changes}
	}
	return []root{{Snapshot: s, reach: reachState}, changes}
}
