package paimon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (f *fixture) stream(t table.Table) table.StreamWrite {
	f.Helper()
	w, err := t.NewStreamWrite(f.ctx, table.WriteOptions{User: "job"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := w.Close(); err != nil {
			f.Error(err)
		}
	})
	return w
}

func (f *fixture) put(w table.StreamWrite, t table.Table, rows string) {
	f.Helper()
	rec := f.batch(t, rows)
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		f.Fatal(err)
	}
}

func TestStreamRestart(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	first := f.stream(tbl)
	if _, ok, err := first.LastCommitted(f.ctx); ok || err != nil || first.User() != "job" {
		t.Errorf("a new user has committed nothing: %v, %v", ok, err)
	}
	for n := range int64(3) {
		f.put(first, tbl, ids("mon", "a", int(n)))
		if r, err := first.Commit(f.ctx, n+1); err != nil || r.Identifier != n+1 || len(r.Snapshots) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	f.put(first, tbl, ids("mon", "lost", 7)) // and the process dies

	again := f.stream(f.open(fs))
	last, ok, err := again.LastCommitted(f.ctx)
	if err != nil || !ok || last != 3 {
		t.Fatalf("last %d, %v, %v", last, ok, err)
	}
	before := fs.Paths()
	_, err = again.Commit(f.ctx, 3)
	wantKind(t, err, tarnerr.AlreadyExists, "identifier=3", "last=3", "user=job")
	if !slices.Equal(before, fs.Paths()) {
		t.Error("a refused identifier wrote something")
	}
	f.put(again, tbl, ids("mon", "b", 0))
	if _, err := again.Commit(f.ctx, 4); err != nil {
		t.Fatal(err)
	}
	_, err = again.Commit(f.ctx, table.BatchIdentifier)
	wantKind(t, err, tarnerr.Invalid)
	f.want(f.rows(tbl, table.Scan{}), "mon|0|b", "mon|1|a", "mon|2|a")
}

// A commit that certainly failed is tried again with the rows it had.
func TestStreamCommitsAgainAfterAFailure(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	faulty := faultio.New(fs, nil)
	tbl := f.open(faulty)
	w := f.stream(tbl)
	f.put(w, tbl, ids("mon", "a", 1))
	faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "create" && strings.Contains(c.Path, "/manifest/")
	}, faultio.Before, 0))
	_, err := w.Commit(f.ctx, 1)
	wantKind(t, err, tarnerr.Unavailable)
	f.want(f.rows(f.open(fs), table.Scan{}))
	faulty.SetPlan(faultio.None())
	f.put(w, tbl, ids("mon", "a", 2))
	if _, err := w.Commit(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a", "mon|2|a")
}

// A failed commit that is given up leaves no file, and the stream goes on.
func TestStreamAbort(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	before := fs.Paths()
	faulty := faultio.New(fs, faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "create-if-absent" && strings.Contains(c.Path, "/snapshot/snapshot-")
	}, faultio.Before, tarnerr.Denied))
	tbl := f.open(faulty)
	w := f.stream(tbl)
	f.put(w, tbl, ids("mon", "a", 1))
	_, err := w.Commit(f.ctx, 1)
	wantKind(t, err, tarnerr.Denied)
	f.put(w, tbl, ids("mon", "a", 2))
	if err := w.Abort(f.ctx); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(fs.Paths(), func(p string) bool { return strings.HasSuffix(p, "/.tarn/commit/job-1-append.json") })
	if !slices.Equal(got, before) { // but for the record that it failed
		t.Errorf("left behind: %v", got)
	}
	faulty.SetPlan(faultio.None())
	f.put(w, tbl, ids("mon", "b", 3))
	if _, err := w.Commit(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|3|b")
}

// When nobody can tell, the write is over and its files stay; a new one learns
// what became of the commit, and committing the same identifier settles it.
func TestStreamInDoubt(t *testing.T) {
	for _, landed := range []bool{true, false} {
		f := newFixture(t)
		fs := f.create(appendSpec())
		when := faultio.Before
		if landed {
			when = faultio.After
		}
		faulty := faultio.New(fs, nil)
		tbl := f.open(faulty)
		w := f.stream(tbl)
		f.put(w, tbl, ids("mon", "a", 1))
		published := false
		faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
			switch {
			case published: // the storage is gone
				return faultio.Fault{When: faultio.Before}
			case c.Method == "create-if-absent" && strings.Contains(c.Path, "/snapshot/snapshot-"):
				published = true
				return faultio.Fault{When: when, Kind: tarnerr.Ambiguous}
			}
			return faultio.Fault{}
		}))
		r, err := w.Commit(f.ctx, 1)
		wantKind(t, err, tarnerr.CommitStateUnknown)
		if r == nil || r.Status != table.Unknown {
			t.Errorf("report %+v", r)
		}
		rec := f.batch(tbl, ids("mon", "b", 2))
		wantKind(t, w.Write(f.ctx, rec), tarnerr.Closed)
		rec.Release()
		_, err = w.Commit(f.ctx, 2)
		wantKind(t, err, tarnerr.Closed)
		if err := w.Close(); err != nil {
			t.Error(err)
		}

		clean := f.open(fs)
		next := f.stream(clean)
		last, ok, err := next.LastCommitted(f.ctx)
		if err != nil || ok != landed || landed && last != 1 {
			t.Errorf("landed %v: last %d, %v, %v", landed, last, ok, err)
		}
		if !landed {
			f.put(next, clean, ids("mon", "a", 1))
			if _, err := next.Commit(f.ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		f.want(f.rows(clean, table.Scan{}), "mon|1|a")
	}
}

func TestStreamPrepareShipsTheRows(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	w := f.stream(tbl)
	for n := range int64(2) {
		f.put(w, tbl, ids("mon", string(rune('a'+n)), 1))
		messages, err := w.Prepare(f.ctx)
		if err != nil || len(messages) != 1 {
			t.Fatalf("%d messages, %v", len(messages), err)
		}
		if _, err := tbl.Commit(f.ctx, table.Committable{User: w.User(), Identifier: n + 1, Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|b")
}
