package paimon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// follow starts to follow and is closed at the end of the test.
func (f *fixture) follow(t table.Table, opts table.FollowOptions) table.Follower {
	f.Helper()
	fl, err := t.Follow(f.ctx, opts)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { fl.Close() })
	return fl
}

// next gives the changes of the next snapshot as "3: kind|a|b", sorted.
func (f *fixture) next(fl table.Follower) []string {
	f.Helper()
	c, err := fl.Next(f.ctx)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, l := range f.drain(c.Rows) {
		out = append(out, fmt.Sprintf("%d: %s", c.Snapshot.ID, l))
	}
	return out
}

// all gives all changes up to the end.
func (f *fixture) all(fl table.Follower) []string {
	f.Helper()
	var out []string
	for {
		l := f.next(fl)
		if l == nil {
			return out
		}
		out = append(out, l...)
	}
}

func TestFollow(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	f.mustWrite(tbl, ids("mon", "b", 2))
	f.mustWrite(tbl, ids("tue", "c", 3))
	one := []string{"1: 0|mon|1|a", "1: 0|mon|2|a"}
	two, three := "2: 0|mon|2|b", "3: 0|tue|3|c"
	for name, c := range map[string]struct {
		opts table.FollowOptions
		want []string
	}{
		"earliest":    {table.FollowOptions{From: table.Start{Mode: table.StartEarliest}}, append(slices.Clone(one), two, three)},
		"position":    {table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: 2}}, []string{two, three}},
		"default":     {table.FollowOptions{}, []string{"3: 0|mon|1|a", "3: 0|mon|2|b", three}},
		"full":        {table.FollowOptions{From: table.Start{Mode: table.StartFull, Snapshot: 1}}, append(slices.Clone(one), two, three)},
		"latest":      {table.FollowOptions{From: table.Start{Mode: table.StartLatest}}, nil},
		"time":        {table.FollowOptions{From: table.Start{Mode: table.StartTime, Time: time.UnixMilli(0)}}, append(slices.Clone(one), two, three)},
		"later":       {table.FollowOptions{From: table.Start{Mode: table.StartTime, Time: time.UnixMilli(1 << 50)}}, nil},
		"from option": {table.FollowOptions{Options: map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "3"}}, []string{three}},
		"to":          {table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: 1}, one},
		"where": {table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, Columns: []string{"v"},
			Where: expr.Compare{Column: "day", Op: expr.Eq, Value: "tue"}}, []string{"3: 0|c"}},
		"value": {table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, Columns: []string{"id"},
			Where: expr.Compare{Column: "v", Op: expr.Ge, Value: "b"}}, []string{"2: 0|2", "3: 0|3"}},
	} {
		if c.opts.To == 0 {
			c.opts.To = 3
		}
		got := f.all(f.follow(tbl, c.opts))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A stream that is stopped anywhere and begun again at its position gives what one
// that was not stopped gives (INV-STREAM-1).
func TestFollowRestarts(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	for i := range 6 {
		f.mustWrite(tbl, ids("mon", fmt.Sprint("v", i), i, i+1))
		if i%2 == 1 {
			if _, err := tbl.DropPartitions(f.ctx, []map[string]string{{"day": "none"}}, table.CommitOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	latest, err := tbl.Snapshot(f.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	start := table.Start{Mode: table.StartEarliest}
	want := f.all(f.follow(tbl, table.FollowOptions{From: start, To: latest.ID}))
	for per := 1; per < 4; per++ {
		var got []string
		for from := start; ; {
			fl := f.follow(tbl, table.FollowOptions{From: from, To: latest.ID})
			n := len(got)
			for range per {
				got = append(got, f.next(fl)...)
			}
			if len(got) == n {
				break
			}
			from = table.Start{Mode: table.StartAt, Snapshot: fl.Position()}
		}
		f.want(got, want...)
	}
}

// Following waits for the first snapshot and for new ones, one request a look.
func TestFollowWaits(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	writer := f.open(fs)
	looks := 0
	counted := layer.Count(faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if strings.HasSuffix(call.Path, "snapshot-2") && call.Method == "open" {
			if looks++; looks == 12 {
				f.mustWrite(writer, ids("mon", "b", 2))
			}
		}
		return faultio.Fault{}
	})))
	fl := f.follow(f.open(counted), table.FollowOptions{From: table.Start{Mode: table.StartEarliest}})
	if fl.Position() != 0 {
		t.Errorf("position %d of an empty table", fl.Position())
	}
	f.mustWrite(writer, ids("mon", "a", 1))
	f.want(f.next(fl), "1: 0|mon|1|a")
	before := counted.Total()
	f.want(f.next(fl), "2: 0|mon|2|b")
	if n := counted.Total() - before; n > 30 {
		t.Errorf("%d requests for 12 looks and a snapshot", n)
	}
	if fl.Position() != 3 {
		t.Errorf("position %d", fl.Position())
	}
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := fl.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended: %v", err)
	}
}

// What is gone is an error, and what was kept beside the snapshots is not.
func TestFollowExpired(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	place := layout.Table{Dir: dir}
	for i := range 4 {
		f.mustWrite(tbl, ids("mon", fmt.Sprint("v", i), i))
	}
	remove := func(files ...string) {
		if err := fs.Delete(f.ctx, files...); err != nil {
			t.Fatal(err)
		}
	}
	// Snapshot 2 leaves its changelog behind, snapshot 1 nothing.
	old, err := snapshot.NewStore(fs, place).Get(f.ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.Replace(f.ctx, place.ChangelogFile(2), old.Marshal()); err != nil {
		t.Fatal(err)
	}
	remove(place.SnapshotFile(1), place.SnapshotFile(2), place.EarliestHint())
	at := func(mode table.StartMode, id int64) table.FollowOptions {
		return table.FollowOptions{From: table.Start{Mode: mode, Snapshot: id}, To: 3}
	}
	f.want(f.all(f.follow(tbl, at(table.StartEarliest, 0))), "2: 0|mon|1|v1", "3: 0|mon|2|v2")
	f.want(f.all(f.follow(tbl, at(table.StartAt, 2))), "2: 0|mon|1|v1", "3: 0|mon|2|v2")
	_, err = f.follow(tbl, at(table.StartAt, 1)).Next(f.ctx)
	wantKind(t, err, tarnerr.Expired, "snapshot=1", "earliest=2", "db.t")
	// Java begins at the earliest when its own option names what is gone.
	opts := table.FollowOptions{Options: map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}, To: 2}
	f.want(f.all(f.follow(tbl, opts)), "2: 0|mon|1|v1")
	// A full read of a snapshot that is gone begins with the earliest there is.
	f.want(f.next(f.follow(tbl, at(table.StartFull, 1))), "3: 0|mon|0|v0", "3: 0|mon|1|v1", "3: 0|mon|2|v2")
	_, err = f.follow(tbl, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: 9}}).Next(f.ctx)
	wantKind(t, err, tarnerr.NotFound, "rolled back")
}

// No rows are given that lie behind the last snapshot to read.
func TestFollowToBeforeState(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1))
	f.mustWrite(tbl, ids("mon", "b", 2))
	_, err := f.follow(tbl, table.FollowOptions{To: 1}).Next(f.ctx)
	wantKind(t, err, tarnerr.Invalid, "snapshot=2", "to=1", "db.t")
	_, err = tbl.Follow(f.ctx, table.FollowOptions{From: table.Start{Mode: table.StartFull, Snapshot: 7}, To: 5})
	wantKind(t, err, tarnerr.Invalid, "snapshot=7", "to=5", "db.t")
	f.want(f.all(f.follow(tbl, table.FollowOptions{To: 2})), "2: 0|mon|1|a", "2: 0|mon|2|b")
	if l := f.all(f.follow(tbl, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: 3}, To: 2})); l != nil {
		t.Errorf("behind the end: %v", l)
	}
}

// The end by watermark is seen where following begins, too: nothing is waited for.
func TestFollowBoundedByWatermark(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	for i, mark := range []int64{10, 50, 100, 120} {
		w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Watermark: &mark})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		rec := f.batch(tbl, ids("mon", "v", i))
		defer rec.Release()
		if err := w.Write(f.ctx, rec); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(f.ctx); err != nil {
			t.Fatal(err)
		}
	}
	at := func(mode table.StartMode, id int64) table.FollowOptions {
		return table.FollowOptions{From: table.Start{Mode: mode, Snapshot: id}, Options: map[string]string{"scan.bounded.watermark": "50"}}
	}
	all := []string{"4: 0|mon|0|v", "4: 0|mon|1|v", "4: 0|mon|2|v", "4: 0|mon|3|v"}
	f.want(f.all(f.follow(tbl, at(table.StartEarliest, 0))), "1: 0|mon|0|v", "2: 0|mon|1|v")
	f.want(f.all(f.follow(tbl, at(table.StartLatestFull, 0))), all...)
	f.want(f.all(f.follow(tbl, at(table.StartFull, 2))), "2: 0|mon|0|v", "2: 0|mon|1|v")
	for _, o := range []table.FollowOptions{at(table.StartLatest, 0), at(table.StartAt, 5), at(table.StartAt, 4)} {
		if l := f.all(f.follow(tbl, o)); l != nil {
			t.Errorf("from %v: %v", o.From, l)
		}
	}
	if p := f.follow(tbl, at(table.StartLatest, 0)); p.Position() != 5 {
		t.Errorf("position %d", p.Position())
	}
}

func TestFollowRefuses(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	for what, c := range map[string]struct {
		opts table.FollowOptions
		kind tarnerr.Kind
	}{
		"column":   {table.FollowOptions{Columns: []string{"none"}}, tarnerr.Invalid},
		"filter":   {table.FollowOptions{Where: expr.IsNull{Column: "none"}}, tarnerr.Invalid},
		"start":    {table.FollowOptions{From: table.Start{Mode: table.StartAt}}, tarnerr.Invalid},
		"mode":     {table.FollowOptions{From: table.Start{Mode: 50}}, tarnerr.Invalid},
		"end":      {table.FollowOptions{To: -1}, tarnerr.Invalid},
		"consumer": {table.FollowOptions{Consumer: "a/b"}, tarnerr.Invalid},
		"option":   {table.FollowOptions{Options: map[string]string{"consumer-id": "a/b"}}, tarnerr.Invalid},
		"monitor":  {table.FollowOptions{Options: map[string]string{"stream-scan-mode": "file-monitor"}}, tarnerr.Unsupported},
		"range":    {table.FollowOptions{Options: map[string]string{"incremental-between": "1,2"}}, tarnerr.Unsupported},
	} {
		if _, err := tbl.Follow(f.ctx, c.opts); err == nil || tarnerr.KindOf(err) != c.kind || !strings.Contains(err.Error(), "db.t") {
			t.Errorf("%s: %v", what, err)
		}
	}
	fl := f.follow(tbl, table.FollowOptions{})
	fl.Close()
	_, err := fl.Next(f.ctx)
	wantKind(t, err, tarnerr.Closed)
}

func TestIncrementalReads(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1, 2, 3))
	f.mustWrite(tbl, ids("mon", "b", 2))
	f.mustWrite(tbl, ids("mon", "b", 2, 4))
	w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Overwrite: &table.Overwrite{Mode: table.OverwriteStatic}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := f.batch(tbl, ids("mon", "b", 2, 5))
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	tag(f, fs, "old", 1)
	tag(f, fs, "new", 4)
	scan := func(kv ...string) table.Scan {
		s := table.Scan{Kind: true, Options: map[string]string{}}
		for i := 0; i < len(kv); i += 2 {
			s.Options[kv[i]] = kv[i+1]
		}
		return s
	}
	f.want(f.rows(tbl, scan("incremental-between", "1,3")), "0|mon|2|b", "0|mon|2|b", "0|mon|4|b")
	f.want(f.rows(tbl, scan("incremental-between", "0,4")), "0|mon|1|a", "0|mon|2|a", "0|mon|2|b", "0|mon|2|b", "0|mon|3|a", "0|mon|4|b")
	f.want(f.rows(tbl, scan("incremental-between", "2,2")))
	diff := []string{"0|mon|2|b", "0|mon|5|b", "3|mon|1|a", "3|mon|3|a"}
	f.want(f.rows(tbl, scan("incremental-between", "1,4", "incremental-between-scan-mode", "diff")), diff...)
	f.want(f.rows(tbl, scan("incremental-between", "old,new")), diff...)
	f.want(f.rows(tbl, table.Scan{Options: scan("incremental-between", "old,new").Options}), "mon|2|b", "mon|5|b")
	f.want(f.rows(tbl, scan("incremental-between", "2,3", "incremental-between-scan-mode", "diff")), "0|mon|4|b")
	f.want(f.rows(tbl, scan("incremental-between", "0,2", "incremental-between-scan-mode", "diff")), "0|mon|1|a", "0|mon|2|b", "0|mon|3|a")
	f.want(f.rows(tbl, scan("incremental-between", "old,new", "incremental-between-tag-to-snapshot", "true")), "0|mon|2|b", "0|mon|2|b", "0|mon|4|b")
	s := scan("incremental-between", "old,new")
	s.Columns, s.Where = []string{"v"}, expr.Compare{Column: "id", Op: expr.Ge, Value: 3}
	f.want(f.rows(tbl, s), "0|b", "3|a")
	times := make([]int64, 5)
	for id := int64(1); id < 5; id++ {
		snap, err := tbl.Snapshot(f.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		times[id] = snap.TimeMillis
	}
	if times[2] > times[1] && times[3] > times[2] {
		f.want(f.rows(tbl, scan("incremental-between-timestamp", fmt.Sprintf("%d,%d", times[1], times[2]))), "0|mon|2|b")
	}
	f.want(f.rows(tbl, scan("incremental-between-timestamp", fmt.Sprintf("0,%d", times[1]), "incremental-between-scan-mode", "diff")), "0|mon|1|a", "0|mon|2|a", "0|mon|3|a")
	for _, bad := range []string{"3,1", "1", "1,2,3", "x,y", "new,old"} {
		_, err := tbl.Scan(f.ctx, scan("incremental-between", bad))
		wantKind(t, err, tarnerr.Invalid, "db.t")
	}
	_, err = tbl.Scan(f.ctx, scan("incremental-between", "1,9"))
	wantKind(t, err, tarnerr.NotFound)
}

// What no compaction has looked at is no part of a first-row table, nor of what
// has changed between its states.
func TestIncrementalReadsOfFirstRows(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(with(keySpec(), "merge-engine", "first-row", "write-only", "true")))
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	f.compact(tbl, table.CompactOptions{})
	f.mustWrite(tbl, ids("mon", "b", 2, 3))
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a", "mon|2|a")
	for _, mode := range []string{"diff", "delta"} {
		f.want(f.rows(tbl, table.Scan{Options: map[string]string{"incremental-between": "2,3", "incremental-between-scan-mode": mode}}))
	}
}

// tag keeps a snapshot under a name.
func tag(f *fixture, fs *mem.FS, name string, id int64) {
	f.Helper()
	place := layout.Table{Dir: dir}
	s, err := snapshot.NewStore(fs, place).Get(f.ctx, id)
	if err != nil {
		f.Fatal(err)
	}
	if err := fs.Replace(f.ctx, place.TagFile(name), s.Marshal()); err != nil {
		f.Fatal(err)
	}
}

// What an overwrite replaced shows where the options ask for it.
func TestFollowOverwrites(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Overwrite: &table.Overwrite{Mode: table.OverwriteStatic}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := f.batch(tbl, ids("mon", "b", 1))
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	opts := table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: 2}, To: 2}
	f.want(f.all(f.follow(tbl, opts)))
	opts.Options = map[string]string{"streaming-read-overwrite": "true"}
	f.want(f.all(f.follow(tbl, opts)), "2: 0|mon|1|b", "2: 3|mon|1|a", "2: 3|mon|2|a")
	opts.Where, opts.Columns = expr.Compare{Column: "v", Op: expr.Eq, Value: "a"}, []string{"id"}
	f.want(f.all(f.follow(tbl, opts)), "2: 3|1", "2: 3|2")
}
