package paimon_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func where(t *testing.T, text string) expr.Expr {
	t.Helper()
	e, err := sqltext.ParseWhere(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// $commits has a row for each commit, whatever its end.
func TestCommitsTable(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	faulty := faultio.New(fs, nil)
	tbl := f.open(faulty)
	w := f.stream(tbl)
	f.put(w, tbl, ids("mon", "a", 1, 2))
	report, err := w.Commit(f.ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if report.Phases.Publish <= 0 || report.Ahead != 0 {
		t.Errorf("%+v", report)
	}
	faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "create-if-absent" && strings.Contains(c.Path, "/snapshot/snapshot-")
	}, faultio.Before, tarnerr.Denied))
	f.put(w, tbl, ids("mon", "b", 3))
	_, err = w.Commit(f.ctx, 2)
	wantKind(t, err, tarnerr.Denied)
	faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool { return strings.Contains(c.Path, "/snapshot/") }, faultio.Before, tarnerr.Ambiguous))
	_, err = w.Commit(f.ctx, 3)
	if err == nil {
		t.Fatal("a commit without snapshots")
	}
	faulty.SetPlan(faultio.None())

	commits, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: "commits"})
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"snapshot_id", "commit_user", "commit_identifier", "commit_kind", "status", "reason", "base_snapshot_id", "attempts", "files_added", "delta_record_count"}
	got := f.rows(commits, table.Scan{Columns: columns, Where: where(t, "commit_identifier < 3")})
	f.want(got, "(null)|job|2|APPEND|FAILED|denied|1|1|0|0", "1|job|1|APPEND|SUCCEEDED|(null)|0|1|1|2")
	got = f.rows(commits, table.Scan{Columns: []string{"error"}, Where: where(t, "status = 'FAILED' AND publish_micros >= 1000 AND end_time IS NOT NULL")})
	if len(got) != 1 || !strings.Contains(got[0], "injected fault") {
		t.Errorf("%q", got)
	}
}

// What is in doubt is listed and resolved through the table.
func TestPendingCommits(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	faulty := faultio.New(fs, nil)
	tbl := f.open(faulty)
	w := f.stream(tbl)
	f.put(w, tbl, ids("mon", "a", 1))
	if _, err := w.Commit(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.put(w, tbl, ids("mon", "b", 2))
	down := false
	faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if down {
			return faultio.Fault{When: faultio.Before}
		}
		down = c.Method == "create-if-absent" && strings.Contains(c.Path, "/snapshot/snapshot-")
		if down {
			return faultio.Fault{When: faultio.After, Kind: tarnerr.Ambiguous}
		}
		return faultio.Fault{}
	}))
	_, err := w.Commit(f.ctx, 2)
	wantKind(t, err, tarnerr.CommitStateUnknown)

	// Also where this version must not commit: for an option, or for the storage.
	option := fs.Clone()
	text, _ := option.Get(dir + "/schema/schema-0")
	option.Put(dir+"/schema/schema-0", bytes.Replace(text, []byte(`"options" : {`), []byte(`"options" : {"upsert-key" : "id"`), 1))
	storage := mem.New(mem.NoConditional)
	for _, p := range fs.Paths() {
		data, _ := fs.Get(p)
		storage.Put(p, slices.Clone(data))
	}
	for _, refusing := range []*mem.FS{option, storage} {
		locked := f.open(refusing)
		_, err = locked.NewBatchWrite(f.ctx, table.WriteOptions{})
		wantKind(t, err, tarnerr.Unsupported)
		if pending, err := locked.PendingCommits(f.ctx); err != nil || len(pending) != 1 {
			t.Errorf("%+v, %v", pending, err)
		}
		if found, err := locked.ResolveCommits(f.ctx, table.CommitFilter{}); err != nil || len(found) != 1 || found[0].Status != table.Succeeded {
			t.Errorf("%+v, %v", found, err)
		}
		if pending, err := locked.PendingCommits(f.ctx); err != nil || len(pending) != 0 {
			t.Errorf("%+v, %v", pending, err)
		}
	}
	later := f.open(fs)
	pending, err := later.PendingCommits(f.ctx)
	if err != nil || len(pending) != 1 || pending[0].User != "job" || pending[0].Identifier != 2 || pending[0].Kind != "APPEND" || pending[0].Base != 1 || len(pending[0].Files) != 1 || pending[0].Begun.IsZero() {
		t.Fatalf("%+v, %v", pending, err)
	}
	for _, which := range []table.CommitFilter{{User: "somebody"}, {}} {
		got, err := later.ResolveCommits(f.ctx, which)
		if err != nil {
			t.Fatal(err)
		}
		if which.User != "" {
			if len(got) != 0 {
				t.Errorf("%+v", got)
			}
			continue
		}
		if len(got) != 1 || got[0].Status != table.Succeeded || got[0].Snapshot != 2 || got[0].ReadFrom != 2 {
			t.Errorf("%+v", got)
		}
	}
	if pending, err = later.PendingCommits(f.ctx); err != nil || len(pending) != 0 {
		t.Errorf("%+v, %v", pending, err)
	}
	got, err := later.ResolveCommits(f.ctx, table.CommitFilter{User: "job", Identifier: 2})
	if err != nil || len(got) != 1 || got[0].Status != table.Succeeded {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = later.ResolveCommits(f.ctx, table.CommitFilter{Identifier: 2})
	wantKind(t, err, tarnerr.Invalid)
	_, err = later.ResolveCommits(f.ctx, table.CommitFilter{Grace: -1})
	wantKind(t, err, tarnerr.Invalid)
	f.want(f.rows(later, table.Scan{}), "mon|1|a", "mon|2|b")
}
