package maintain

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// reach says how much of a root counts.
type reach uint8

const (
	// reachNames: lists, manifests, index files and statistics. Enough for the oldest
	// snapshot that stays: what was removed up to it is not in it.
	reachNames reach = iota
	// reachState: with its data files.
	reachState
	// reachChanges: with the files that it adds and its changelog.
	reachChanges
)

// root is something that stays and may need what is drafted.
type root struct {
	*snapshot.Snapshot
	file  string // that makes it stay
	reach reach
	loose bool // some of its files may be gone: expiry takes them before it
}

func (r root) id() string {
	return r.file + "\x00" + r.DeltaManifestList + "\x00" + string('0'+r.reach)
}

// sparing takes out of a draft what roots need. Each manifest is read once, however
// many roots it is in, and only what the draft has is kept of it.
type sparing struct {
	*Expirer
	d          *draft
	partitions []binaryrow.Row // of the draft, nil = of many
	hits       map[string][]hit
	seen       map[string]bool // roots, kept from plan to deletion
}

type hit struct {
	key
	kind manifest.Kind
}

func (x *Expirer) sparing(d *draft, seen map[string]bool) *sparing {
	return &sparing{Expirer: x, d: d, partitions: d.partitionsOf(), hits: map[string][]hit{}, seen: seen}
}

// spare takes out what a root needs. One that is gone meanwhile needs nothing.
func (s *sparing) spare(ctx context.Context, r root) (gone bool, err error) {
	if s.d.empty() || s.seen[r.id()] {
		return false, nil
	}
	err = s.from(ctx, r)
	if err == nil {
		s.seen[r.id()] = true
		return false, nil
	}
	if tarnerr.KindOf(err) == tarnerr.NotFound {
		there, statErr := fileio.Exists(ctx, s.cfg.FileIO, r.file)
		if statErr != nil || !there {
			return !there, statErr
		}
	}
	return false, tarnerr.Trace("finding what is still needed", err, "by", path.Base(r.file))
}

func (s *sparing) from(ctx context.Context, r root) error {
	d := s.d
	base, delta, err := s.lists(ctx, r)
	if err != nil {
		return err
	}
	both := append(base[:len(base):len(base)], delta...)
	for _, m := range both {
		delete(d.manifests, m.FileName)
	}
	if err := s.sides(ctx, r); err != nil {
		return err
	}
	switch r.reach {
	case reachState:
		return s.state(ctx, both)
	case reachChanges:
		if r.ChangelogManifestList != nil {
			delete(d.lists, *r.ChangelogManifestList)
			changelog, err := s.list(ctx, r, *r.ChangelogManifestList, r.ChangelogManifestListSize)
			if err != nil {
				return err
			}
			for _, m := range changelog {
				delete(d.manifests, m.FileName)
			}
			delta = append(delta[:len(delta):len(delta)], changelog...)
		}
		return s.changes(ctx, r, delta)
	}
	return nil
}

// lists reads the lists of a root, if manifests or data files are drafted at all.
func (s *sparing) lists(ctx context.Context, r root) (base, delta []manifest.FileMeta, err error) {
	delete(s.d.lists, r.BaseManifestList)
	delete(s.d.lists, r.DeltaManifestList)
	if len(s.d.manifests) == 0 && len(s.d.data) == 0 {
		return nil, nil, nil
	}
	if base, err = s.list(ctx, r, r.BaseManifestList, r.BaseManifestListSize); err != nil {
		return nil, nil, err
	}
	delta, err = s.list(ctx, r, r.DeltaManifestList, r.DeltaManifestListSize)
	return base, delta, err
}

func (s *sparing) list(ctx context.Context, r root, name string, size *int64) ([]manifest.FileMeta, error) {
	if name == "" {
		return nil, nil
	}
	metas, err := s.cfg.Manifests.ReadList(ctx, name, size)
	if r.loose && tarnerr.KindOf(err) == tarnerr.NotFound && err != nil {
		return nil, nil
	}
	return metas, err
}

// sides spares index files, index manifest and statistics.
func (s *sparing) sides(ctx context.Context, r root) error {
	if r.Statistics != nil {
		delete(s.d.statistics, *r.Statistics)
	}
	if r.IndexManifest == nil {
		return nil
	}
	delete(s.d.manifests, *r.IndexManifest)
	if len(s.d.index) == 0 {
		return nil
	}
	entries, err := s.cfg.Manifests.ReadIndex(ctx, *r.IndexManifest)
	if err != nil {
		if r.loose && tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil
		}
		return err
	}
	for _, e := range entries {
		delete(s.d.index, e.FileName)
	}
	return nil
}

// state spares the data files that are there when all manifests are merged.
func (s *sparing) state(ctx context.Context, metas []manifest.FileMeta) error {
	if len(s.d.data) == 0 {
		return nil
	}
	if err := s.read(ctx, metas); err != nil {
		return err
	}
	there := map[key]int{}
	for _, m := range metas {
		for _, h := range s.hits[m.FileName] {
			if h.kind == manifest.Add {
				there[h.key]++
			} else {
				there[h.key]--
			}
		}
	}
	for k, n := range there {
		if n > 0 {
			delete(s.d.data, k)
		}
	}
	return nil
}

// changes spares the data files that manifests of a root add. Of a changelog some may
// be gone: Java's expiry takes those of a table without a producer.
func (s *sparing) changes(ctx context.Context, r root, metas []manifest.FileMeta) error {
	if len(s.d.data) == 0 {
		return nil
	}
	if !r.loose {
		if err := s.read(ctx, metas); err != nil {
			return err
		}
	} else {
		for i := range metas {
			if err := s.read(ctx, metas[i:i+1]); err != nil && tarnerr.KindOf(err) != tarnerr.NotFound {
				return err
			}
		}
	}
	for _, m := range metas {
		for _, h := range s.hits[m.FileName] {
			if h.kind == manifest.Add {
				delete(s.d.data, h.key)
			}
		}
	}
	return nil
}

// read reads the manifests that were not read before and may name a drafted file.
func (s *sparing) read(ctx context.Context, metas []manifest.FileMeta) error {
	var fresh []manifest.FileMeta
	for _, m := range metas {
		if _, read := s.hits[m.FileName]; read {
			continue
		}
		s.hits[m.FileName] = nil
		if s.partitions == nil || slices.ContainsFunc(s.partitions, func(p binaryrow.Row) bool { return s.cfg.Manifests.MayHold(m, p) }) {
			fresh = append(fresh, m)
		}
	}
	filter := manifest.EntryFilter{WithoutStats: true, Keep: func(e *manifest.Entry) bool {
		if !s.d.names[e.File.FileName] {
			return false
		}
		_, drafted := s.d.data[keyOf(e)]
		return drafted
	}}
	i := 0
	for entries, err := range s.cfg.Manifests.ReadManifests(ctx, fresh, filter) {
		if err != nil {
			for _, m := range fresh[i:] {
				delete(s.hits, m.FileName)
			}
			return err
		}
		var hits []hit
		for j := range entries {
			hits = append(hits, hit{keyOf(&entries[j]), entries[j].Kind})
		}
		s.hits[fresh[i].FileName] = hits
		i++
	}
	return nil
}

// orphaned spares what changelogs need that are left of a time when the table kept
// them longer than its snapshots. Without a producer they name data files.
func (s *sparing) orphaned(ctx context.Context, p *Plan) error {
	if p.Changelogs || p.Decouple || s.cfg.Produces {
		return nil
	}
	return tarnerr.Trace("finding what changelogs need", s.changelogs(ctx, s.cfg.Snapshots))
}

// others spares what tags and branches need. Of the tags those count that were made
// of a snapshot in [first, last), and the one before: a file that an older one has,
// and that was there up to first, this one has too.
func (s *sparing) others(ctx context.Context, first, last int64) error {
	tags, err := s.cfg.Snapshots.Tags().All(ctx)
	if err != nil {
		return err
	}
	before := -1
	for i, t := range tags {
		if t.ID < first {
			before = i
		}
	}
	for i, t := range tags {
		if t.ID >= last || i < before && t.ID != tags[before].ID {
			continue
		}
		if _, err := s.spare(ctx, root{Snapshot: t.Snapshot, file: s.cfg.Place.TagFile(t.Name), reach: reachState}); err != nil {
			return tarnerr.Trace("reading tag", err, "tag", t.Name)
		}
	}
	return s.branches(ctx)
}

// branches spares what other branches need: their tags, the state of their oldest
// snapshots and the changes of all later ones. Files come to a branch with the
// snapshot it was made of, and go back with a fast-forward.
func (s *sparing) branches(ctx context.Context) error {
	for e, err := range fileio.All(ctx, s.cfg.FileIO, s.cfg.Place.BranchesDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return tarnerr.Trace("listing branches", err)
		}
		name, ok := strings.CutPrefix(path.Base(e.Path), layout.BranchPrefix)
		if !ok || name == "" || !e.IsDir || s.d.empty() {
			continue
		}
		if err := s.branch(ctx, s.cfg.Snapshots.OfBranch(name)); err != nil {
			return tarnerr.Trace("reading branch", err, "branch", name)
		}
	}
	return nil
}

func (s *sparing) branch(ctx context.Context, store *snapshot.Store) error {
	place := store.Layout()
	tags, err := store.Tags().All(ctx)
	if err != nil {
		return err
	}
	for _, t := range tags {
		if _, err := s.spare(ctx, root{Snapshot: t.Snapshot, file: place.TagFile(t.Name), reach: reachState}); err != nil {
			return err
		}
	}
	if err := s.snapshots(ctx, store); err != nil {
		return err
	}
	return s.changelogs(ctx, store)
}

// snapshots spares what the snapshots of now need: the state of the oldest and the
// changes of all later ones.
func (s *sparing) snapshots(ctx context.Context, store *snapshot.Store) error {
	place, oldest := store.Layout(), true
	for snap, err := range store.All(ctx) {
		if err != nil {
			return err
		}
		if s.d.empty() {
			return nil
		}
		if oldest {
			if oldest, err = s.spare(ctx, root{Snapshot: snap, file: place.SnapshotFile(snap.ID), reach: reachState}); err != nil {
				return err
			}
		}
		if _, err := s.spare(ctx, root{Snapshot: snap, file: place.SnapshotFile(snap.ID), reach: reachChanges}); err != nil {
			return err
		}
	}
	return nil
}

// changelogs spares what decoupled changelogs add.
func (s *sparing) changelogs(ctx context.Context, store *snapshot.Store) error {
	ids, err := store.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		snap, err := store.Changelog(ctx, id)
		if err != nil {
			if tarnerr.KindOf(err) == tarnerr.NotFound {
				continue
			}
			return err
		}
		if _, err := s.spare(ctx, root{Snapshot: snap, file: store.Layout().ChangelogFile(id), reach: reachChanges, loose: true}); err != nil {
			return err
		}
	}
	return nil
}
