package snapshot

import (
	"context"
	"path"
	"slices"
	"sort"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Try reads the snapshot of an id, nil when its file is not there: one request.
// Whether it is still to come or gone, Missing tells.
func (s *Store) Try(ctx context.Context, id int64) (*Snapshot, error) {
	snap, err := s.read(ctx, id)
	switch {
	case err == nil:
		if s.seen.Load() < id {
			s.seen.Store(id)
		}
		return snap, nil
	case tarnerr.KindOf(err) == tarnerr.NotFound:
		return nil, nil
	}
	return nil, err
}

// Missing says why the snapshot that is to be read next is not there: it is still
// to come (both nil), retention has removed it but its changelog is kept, or
// retention has removed it altogether (Expired). NotFound: its predecessor is not
// there either, because the table was rolled back or made anew.
func (s *Store) Missing(ctx context.Context, next int64) (*Snapshot, error) {
	const op = "finding next snapshot"
	latest, err := s.LatestID(ctx)
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if next > latest+1 {
		return nil, tarnerr.New(tarnerr.NotFound, op, "the table's history is shorter than that: it was rolled back, or made anew", "next", next, "latest", latest).
			WithHint("Begin anew, with the table's state.")
	}
	if next == latest+1 {
		return nil, nil
	}
	snap, err := s.Changelog(ctx, next)
	if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
		return snap, tarnerr.Trace(op, err)
	}
	if snap, err = s.Try(ctx, next); snap != nil || err != nil { // it has come meanwhile
		return snap, err
	}
	earliest, err := s.EarliestChange(ctx)
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	return nil, tarnerr.New(tarnerr.Expired, op, "retention has removed it", "snapshot", next, "earliest", earliest).
		WithHint("Begin anew with the table's state, or go on at %d without what lies between.", earliest)
}

// Changelog reads the changelog that a snapshot has left behind when it expired:
// the snapshot's own fields, in a file of its own. NotFound when there is none.
func (s *Store) Changelog(ctx context.Context, id int64) (*Snapshot, error) {
	file := s.table.ChangelogFile(id)
	data, err := fileio.ReadFile(ctx, s.fio, file)
	if err != nil {
		return nil, err
	}
	snap, err := Parse(data)
	if err == nil && snap.ID != id {
		err = tarnerr.New(tarnerr.Corrupt, "reading changelog", "file holds the changelog of another id", "id", snap.ID)
	}
	return snap, tarnerr.Trace("reading changelog", err, "path", file)
}

// EarliestChange is the id of the oldest snapshot or changelog, 0 when there is none.
func (s *Store) EarliestChange(ctx context.Context) (int64, error) {
	ids, err := s.changelogs(ctx)
	if err != nil {
		return 0, tarnerr.Trace("finding earliest changelog", err)
	}
	if len(ids) > 0 {
		return ids[0], nil
	}
	return s.EarliestID(ctx)
}

// changelogs lists the ids of the changelog directory, ascending.
func (s *Store) changelogs(ctx context.Context) ([]int64, error) {
	var ids []int64
	for e, err := range fileio.All(ctx, s.fio, s.table.ChangelogDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, err
		}
		if id, ok := layout.ParseVersion(layout.ChangelogPrefix, path.Base(e.Path)); ok && !e.IsDir {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// FirstSince is the id of the first snapshot or changelog that was committed at
// millis or later, one above the latest when all are older; 0 when the table has
// no snapshot.
func (s *Store) FirstSince(ctx context.Context, millis int64) (int64, error) {
	const op = "finding snapshot by time"
	latest, err := s.LatestID(ctx)
	if err != nil || latest == 0 {
		return 0, tarnerr.Trace(op, err)
	}
	first, err := s.EarliestChange(ctx)
	if err != nil {
		return 0, tarnerr.Trace(op, err)
	}
	var failed error
	n := sort.Search(int(latest-first+1), func(i int) bool {
		if failed != nil {
			return true
		}
		id := first + int64(i)
		snap, err := s.Try(ctx, id)
		if err == nil && snap == nil {
			snap, err = s.Changelog(ctx, id)
		}
		if tarnerr.KindOf(err) == tarnerr.NotFound { // expired a moment ago: one of the oldest
			return false
		}
		if err != nil {
			failed = err
			return true
		}
		return snap.TimeMillis >= millis
	})
	return first + int64(n), tarnerr.Trace(op, failed)
}
