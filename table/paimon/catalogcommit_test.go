package paimon_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commit/publishertest"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

// served is a table of a catalog that commits, on a storage that could not: it
// puts the snapshots where readers find them.
type served struct {
	*fixture
	publishertest.Catalog
	fs       *mem.FS
	cut      bool   // reading back does not get through
	before   func() // happens once, before the catalog is asked to commit
	called   []int64
	callback error // what the callback says
	rollback bool  // the catalog can undo compactions
}

func newServed(t *testing.T, spec schema.Spec) *served {
	s := &served{fixture: newFixture(t), fs: mem.New(mem.NoConditional), rollback: true}
	made := s.create(spec)
	for _, p := range made.Paths() {
		data, _ := made.Get(p)
		s.fs.Put(p, slices.Clone(data))
	}
	s.Changed = func(id int64, next *snapshot.Snapshot) {
		file := layout.Table{Dir: dir}.SnapshotFile(id)
		if next == nil {
			s.fs.Remove(file)
			return
		}
		s.fs.Put(file, next.Marshal())
	}
	return s
}

// CommitSnapshot implements commit.CatalogClient.
func (s *served) CommitSnapshot(ctx context.Context, c commit.CatalogCommit) (bool, error) {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.Catalog.CommitSnapshot(ctx, c)
}

// SnapshotAt implements commit.CatalogClient.
func (s *served) SnapshotAt(ctx context.Context, table, branch string, id int64) (*snapshot.Snapshot, error) {
	if s.cut {
		return nil, tarnerr.New(tarnerr.Unavailable, "asking test catalog", "no route")
	}
	return s.Catalog.SnapshotAt(ctx, table, branch, id)
}

// Name and Landed implement commit.Callback.
func (s *served) Name() string { return "note" }

func (s *served) Landed(_ context.Context, l commit.Landed) error {
	s.called = append(s.called, l.Snapshot.ID)
	return s.callback
}

// load opens the table as a process would that has just asked the catalog for it.
func (s *served) load() table.Table {
	s.Helper()
	c := s.components(s.fs)
	uuid := s.UUID()
	c.Commits = func(of table.Identifier, place layout.Table) paimon.Commits {
		if of != name || place.Dir != dir {
			s.Errorf("opened %v in %+v", of, place)
		}
		out := paimon.Commits{Publisher: commit.NewCatalogPublisher(s, true), Callbacks: []commit.Callback{s}, TableUUID: uuid}
		if s.rollback {
			out.Rollbacker = &s.Catalog
		}
		return out
	}
	t, err := paimon.Open(s.ctx, c, name, dir)
	if err != nil {
		s.Fatal(err)
	}
	return t
}

func outcomes(r *table.CommitReport) string {
	var out []string
	for _, a := range r.Attempts {
		out = append(out, a.Outcome)
	}
	return strings.Join(out, ", ")
}

// Commits go through the catalog of a table, which tells races, and its callbacks
// run, whose outcomes are in the report.
func TestCatalogCommits(t *testing.T) {
	s := newServed(t, appendSpec())
	tbl := s.load()
	r := s.mustWrite(tbl, ids("mon", "a", 1))
	if r.Status != table.Succeeded || !slices.Equal(r.Callbacks, []table.CallbackOutcome{{Name: "note", Snapshot: 1}}) {
		t.Errorf("%+v", r)
	}
	s.callback = errors.New("no")
	s.before = func() { s.mustWrite(s.load(), ids("mon", "b", 2)) }
	r = s.mustWrite(tbl, ids("mon", "c", 3))
	if outcomes(r) != "lost race, committed" || !slices.Equal(r.Snapshots, []int64{3}) ||
		!slices.Equal(r.Callbacks, []table.CallbackOutcome{{Name: "note", Snapshot: 3, Error: "no"}}) {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(s.called, []int64{1, 2, 3}) {
		t.Errorf("callbacks for snapshots %v", s.called)
	}
	s.want(s.rows(s.load(), table.Scan{}), "mon|1|a", "mon|2|b", "mon|3|c")
}

// A lost answer of the catalog is resolved by what it has, at once, by a later try
// or by a later process, and never by publishing twice.
func TestCatalogAnswersAreLost(t *testing.T) {
	for name, c := range map[string]struct {
		fault    publishertest.Fault
		cut      bool
		outcomes string
	}{
		"read back at once":        {publishertest.Lose, false, "committed"},
		"seen by the next try":     {publishertest.Lose, true, "unknown"},
		"nothing had happened":     {publishertest.Drop, false, "unknown, committed"},
		"refused, then tried anew": {publishertest.Refuse, false, "failed, committed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t, appendSpec())
			s.mustWrite(s.load(), ids("mon", "a", 1))
			s.Fail(c.fault)
			s.cut = c.cut
			r := s.mustWrite(s.load(), ids("mon", "b", 2))
			if outcomes(r) != c.outcomes || !slices.Equal(r.Snapshots, []int64{2}) || !slices.Equal(s.called, []int64{1, 2}) {
				t.Errorf("%+v, callbacks for %v", r, s.called)
			}
			s.want(s.rows(s.load(), table.Scan{}), "mon|1|a", "mon|2|b")
		})
	}
	t.Run("by a later process", func(t *testing.T) {
		s := newServed(t, with(appendSpec(), "commit.max-retries", "0"))
		tbl := s.load()
		w := s.stream(tbl)
		s.put(w, tbl, ids("mon", "a", 1))
		s.Fail(publishertest.Lose)
		s.cut = true
		land := s.Changed
		var hidden *snapshot.Snapshot // readers do not see it yet
		s.Changed = func(_ int64, next *snapshot.Snapshot) { hidden = next }
		r, err := w.Commit(s.ctx, 1)
		wantKind(t, err, tarnerr.CommitStateUnknown)
		if r.Status != table.Unknown || len(s.called) != 0 {
			t.Errorf("%+v, callbacks for %v", r, s.called)
		}
		land(1, hidden)
		found, err := s.load().ResolveCommits(s.ctx, table.CommitFilter{})
		if err != nil || len(found) != 1 || found[0].Status != table.Succeeded || found[0].Snapshot != 1 {
			t.Errorf("%+v, %v", found, err)
		}
		if len(s.called) != 0 { // who finds it out does not know what it has to tell
			t.Errorf("callbacks for %v", s.called)
		}
		s.want(s.rows(s.load(), table.Scan{}), "mon|1|a")
	})
}

// prepared are the messages of rows that are not committed yet.
func (s *served) prepared(tbl table.Table, rows string) []table.Message {
	s.Helper()
	rec := s.batch(tbl, rows)
	defer rec.Release()
	w, err := tbl.NewBatchWrite(s.ctx, table.WriteOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(s.ctx, rec); err != nil {
		s.Fatal(err)
	}
	m, err := w.Prepare(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// A compaction that is in the way of a removal of rows is undone by the catalog, on
// the condition that it is the latest; a catalog that cannot leaves the conflict.
func TestCatalogRollsBack(t *testing.T) {
	for _, can := range []bool{true, false} {
		s := newServed(t, with(appendSpec(), "compaction.min.file-num", "2"))
		s.rollback = can
		tbl := s.load()
		first := s.prepared(tbl, ids("mon", "a", 1, 2))
		if _, err := tbl.Commit(s.ctx, table.Committable{User: "job", Identifier: 1, Messages: first}); err != nil {
			t.Fatal(err)
		}
		s.mustWrite(tbl, ids("mon", "b", 3))
		// Row 1 goes from its file, which a compaction has taken by then.
		removal := s.prepared(tbl, ids("mon", "a", 2))
		table.UnwrapMessage(removal[0]).DeletedFiles = table.UnwrapMessage(first[0]).NewFiles
		s.compact(s.load(), table.CompactOptions{})
		if got := s.kinds(tbl); got != "APPEND APPEND COMPACT" {
			t.Fatal(got)
		}
		r, err := tbl.Commit(s.ctx, table.Committable{User: "job", Identifier: 2, Messages: removal})
		if !can {
			wantKind(t, err, tarnerr.Conflict)
			if r.Status != table.Failed || len(r.RolledBack) != 0 || s.kinds(tbl) != "APPEND APPEND COMPACT" {
				t.Errorf("%+v, snapshots %s", r, s.kinds(tbl))
			}
			s.want(s.rows(s.load(), table.Scan{}), "mon|1|a", "mon|2|a", "mon|3|b")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.RolledBack, []int64{3}) || !slices.Equal(r.Snapshots, []int64{3}) || s.kinds(tbl) != "APPEND APPEND OVERWRITE" {
			t.Errorf("%+v, snapshots %s", r, s.kinds(tbl))
		}
		s.want(s.rows(s.load(), table.Scan{}), "mon|2|a", "mon|3|b")
	}
}

// A writer has built its snapshot upon a compaction that the catalog then undoes for a
// removal of rows, whose snapshot gets the id. By ids alone the writer's would follow
// it, and bring the removed row back; by uuids it is refused, and made anew.
func TestCatalogGivesAnIDOutAgain(t *testing.T) {
	s := newServed(t, with(appendSpec(), "compaction.min.file-num", "2"))
	tbl := s.load()
	first := s.prepared(tbl, ids("mon", "a", 1, 2))
	if _, err := tbl.Commit(s.ctx, table.Committable{User: "job", Identifier: 1, Messages: first}); err != nil {
		t.Fatal(err)
	}
	s.mustWrite(tbl, ids("mon", "b", 3))
	removal := s.prepared(tbl, ids("mon", "a", 2))
	table.UnwrapMessage(removal[0]).DeletedFiles = table.UnwrapMessage(first[0]).NewFiles
	s.compact(s.load(), table.CompactOptions{})
	s.before = func() {
		r, err := s.load().Commit(s.ctx, table.Committable{User: "job", Identifier: 2, Messages: removal})
		if err != nil || !slices.Equal(r.RolledBack, []int64{3}) || !slices.Equal(r.Snapshots, []int64{3}) {
			t.Errorf("the removal: %+v, %v", r, err)
		}
	}
	r := s.mustWrite(s.load(), ids("mon", "c", 4))
	if outcomes(r) != "unknown, committed" || !slices.Equal(r.Snapshots, []int64{4}) || s.kinds(tbl) != "APPEND APPEND OVERWRITE APPEND" {
		t.Errorf("%+v, snapshots %s", r, s.kinds(tbl))
	}
	s.want(s.rows(s.load(), table.Scan{}), "mon|2|a", "mon|3|b", "mon|4|c")
}

// The catalog refuses rows for a table that was dropped and created again since it
// was opened, also where the files of the old one are still there.
func TestCatalogTableIsAnother(t *testing.T) {
	s := newServed(t, appendSpec())
	tbl := s.load()
	s.mustWrite(tbl, ids("mon", "a", 1))
	s.before = func() { s.Recreate("6f1c6f0e-0000-4000-8000-000000000002") }
	r, err := s.write(tbl, ids("mon", "b", 2))
	wantKind(t, err, tarnerr.Conflict, "dropped and created again")
	if r.Status != table.Failed || outcomes(r) != "failed" || len(r.Snapshots) != 0 || !slices.Equal(s.called, []int64{1}) || s.At(1) != nil {
		t.Errorf("%+v, callbacks for %v", r, s.called)
	}
	// Its files went with it, the new one has other rows.
	for _, p := range s.fs.Paths() {
		if strings.Contains(p, "/snapshot/") || strings.Contains(p, "/.tarn/") {
			s.fs.Remove(p)
		}
	}
	s.mustWrite(s.load(), ids("mon", "c", 3))
	s.want(s.rows(s.load(), table.Scan{}), "mon|3|c")
}
