package snapshot

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

func snapshotOf(id int64) *Snapshot {
	return &Snapshot{Version: Version, ID: id, BaseManifestList: "b", DeltaManifestList: "d", CommitUser: "u", CommitIdentifier: id, CommitKind: Append}
}

type fixture struct {
	ctx   context.Context
	fio   *mem.FS
	table layout.Table
	store *Store
}

func newFixture(t *testing.T, ids ...int64) *fixture {
	t.Helper()
	f := &fixture{ctx: context.Background(), fio: mem.New(mem.Posix), table: layout.Table{Dir: "/w/db.db/t"}}
	f.store = NewStore(f.fio, f.table).WithEnv(env.Seeded(1, time.Unix(0, 0)))
	for _, id := range ids {
		f.write(t, f.table.SnapshotFile(id), string(snapshotOf(id).Marshal()))
	}
	return f
}

func (f *fixture) write(t *testing.T, path, data string) {
	t.Helper()
	if err := f.fio.Replace(f.ctx, path, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) delete(t *testing.T, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := f.fio.Delete(f.ctx, f.table.SnapshotFile(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// latest checks both ways of asking.
func (f *fixture) latest(t *testing.T, want int64) {
	t.Helper()
	id, err := f.store.LatestID(f.ctx)
	if err != nil || id != want {
		t.Errorf("latest id %d %v, want %d", id, err, want)
	}
	s, err := f.store.Latest(f.ctx)
	if err != nil || (s == nil) != (want == 0) || s != nil && s.ID != want {
		t.Errorf("latest %+v %v, want %d", s, err, want)
	}
}

func (f *fixture) earliest(t *testing.T, want int64) {
	t.Helper()
	id, err := f.store.EarliestID(f.ctx)
	if err != nil || id != want {
		t.Errorf("earliest id %d %v, want %d", id, err, want)
	}
	s, err := f.store.Earliest(f.ctx)
	if err != nil || (s == nil) != (want == 0) || s != nil && s.ID != want {
		t.Errorf("earliest %+v %v, want %d", s, err, want)
	}
}

func TestNoSnapshots(t *testing.T) {
	f := newFixture(t)
	f.latest(t, 0)
	f.earliest(t, 0)
	for s, err := range f.store.All(f.ctx) {
		t.Errorf("snapshot %v %v of an empty table", s, err)
	}
}

// However stale or wrong the hint is, the latest snapshot is found.
func TestLatestByAnyHint(t *testing.T) {
	for _, hint := range []string{"", "1", "2", "7", "13", "19", "20", "21", "100", "0", "-3", "x", "20\n", "9223372036854775807"} {
		for last := int64(14); last <= 20; last++ {
			f := newFixture(t)
			for id := int64(3); id <= last; id++ {
				f.write(t, f.table.SnapshotFile(id), string(snapshotOf(id).Marshal()))
			}
			if hint != "" {
				f.write(t, f.table.LatestHint(), hint)
			}
			f.latest(t, last)
		}
	}
}

// A right hint costs no listing, and three requests.
func TestLatestRequests(t *testing.T) {
	f := newFixture(t, 1, 2, 3)
	if err := f.store.WriteLatestHint(f.ctx, 3); err != nil {
		t.Fatal(err)
	}
	counted := layer.Count(f.fio)
	if s, err := NewStore(counted, f.table).Latest(f.ctx); err != nil || s.ID != 3 {
		t.Fatalf("latest %v %v", s, err)
	}
	if n := counted.Calls(layer.List); n != 0 {
		t.Errorf("%d listings", n)
	}
	// Open and read the hint, probe what follows it, open and read the snapshot.
	if n := counted.Total(); n > 5 {
		t.Errorf("%d requests: %v", n, counted)
	}
}

// What a process has seen already costs it no reading of the hint.
func TestLatestAgainRequests(t *testing.T) {
	f := newFixture(t, 1, 2, 3)
	counted := layer.Count(f.fio)
	store := NewStore(counted, f.table)
	if err := store.WriteLatestHint(f.ctx, 3); err != nil {
		t.Fatal(err)
	}
	counted.Reset()
	if s, err := store.Latest(f.ctx); err != nil || s.ID != 3 {
		t.Fatalf("latest %v %v", s, err)
	}
	if o, s := counted.Calls(layer.Open), counted.Calls(layer.Stat); o != 1 || s != 1 || counted.Calls(layer.List) != 0 {
		t.Errorf("want one probe and one reading: %v", counted)
	}
}

// Whatever others do in between, publish, expire, roll back, write the hint or fail
// to, a store that has looked before finds the latest snapshot.
func TestLatestWhileOthersWork(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		first, last := int64(1), int64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"publish": func(rt *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(rt, "snapshots") {
					last++
					f.write(t, f.table.SnapshotFile(last), string(snapshotOf(last).Marshal()))
				}
			},
			"expire": func(rt *rapid.T) {
				for to := rapid.Int64Range(first, max(first, last)).Draw(rt, "earliest"); first < to; first++ {
					f.delete(t, first)
				}
			},
			"roll back": func(rt *rapid.T) {
				for to := rapid.Int64Range(first, max(first, last)).Draw(rt, "to"); last > to; last-- {
					f.delete(t, last)
				}
				f.write(t, f.table.LatestHint(), strconv.FormatInt(last, 10))
			},
			"hint": func(rt *rapid.T) {
				f.write(t, f.table.LatestHint(), strconv.FormatInt(rapid.Int64Range(0, last+2).Draw(rt, "hint"), 10))
			},
			"commit": func(rt *rapid.T) {
				last++
				f.write(t, f.table.SnapshotFile(last), string(snapshotOf(last).Marshal()))
				if err := f.store.WriteLatestHint(f.ctx, last); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				if s, err := f.store.Latest(f.ctx); err != nil || (s == nil) != (last == 0) || s != nil && s.ID != last {
					rt.Fatalf("latest %+v %v, want %d", s, err, last)
				}
				if id, err := f.store.LatestID(f.ctx); err != nil || id != last {
					rt.Fatalf("latest id %d %v, want %d", id, err, last)
				}
			},
		})
	})
}

func TestForeignNames(t *testing.T) {
	f := newFixture(t, 4, 5)
	for _, name := range []string{".snapshot-6.0a1b.tmp", "snapshot-7d3e4f.tmp", "snapshot-", "snapshot-x", "snapshot-08", "snapshot--1", "snapshot-99/part"} {
		f.write(t, f.table.SnapshotDir()+"/"+name, "x")
	}
	f.latest(t, 5)
	f.earliest(t, 4)
	ids, err := f.store.IDs(f.ctx)
	if err != nil || fmt.Sprint(ids) != "[4 5]" {
		t.Errorf("ids %v %v", ids, err)
	}
}

func TestExpiredAndNotFound(t *testing.T) {
	f := newFixture(t, 1, 2, 3, 4, 5)
	f.delete(t, 1, 2)
	if err := f.store.WriteEarliestHint(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.earliest(t, 3)
	if err := f.store.WriteEarliestHint(f.ctx, 3); err != nil {
		t.Fatal(err)
	}
	f.earliest(t, 3)
	for id, want := range map[int64]tarnerr.Kind{0: tarnerr.NotFound, -1: tarnerr.NotFound, 1: tarnerr.Expired, 2: tarnerr.Expired, 6: tarnerr.NotFound} {
		if s, err := f.store.Get(f.ctx, id); err == nil || tarnerr.KindOf(err) != want {
			t.Errorf("snapshot %d: %v %v, want %v", id, s, err, want)
		}
	}
	if s, err := f.store.Get(f.ctx, 3); err != nil || s.ID != 3 {
		t.Errorf("snapshot 3: %v %v", s, err)
	}
	var got []int64
	for s, err := range f.store.All(f.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if s.ID == 3 {
			f.delete(t, 4) // expires while the iteration runs
		}
		got = append(got, s.ID)
	}
	if fmt.Sprint(got) != "[3 5]" {
		t.Errorf("all: %v", got)
	}
}

// finishing replaces a half written file when the reader waits for it.
type finishing struct {
	env.Env
	finish func()
	waits  int
}

func (f *finishing) Sleep(ctx context.Context, d time.Duration) error {
	if f.waits++; f.waits == 3 {
		f.finish()
	}
	return f.Env.Sleep(ctx, d)
}

func TestHalfWrittenSnapshot(t *testing.T) {
	f := newFixture(t, 1)
	whole := string(snapshotOf(2).Marshal())
	f.write(t, f.table.SnapshotFile(2), whole[:len(whole)/2])
	e := &finishing{Env: env.Seeded(1, time.Unix(0, 0)), finish: func() { f.write(t, f.table.SnapshotFile(2), whole) }}
	if s, err := f.store.WithEnv(e).Get(f.ctx, 2); err != nil || s.ID != 2 {
		t.Errorf("snapshot finished while read: %v %v", s, err)
	}
	f.write(t, f.table.SnapshotFile(2), whole[:len(whole)/2])
	e = &finishing{Env: env.Seeded(1, time.Unix(0, 0)), finish: func() {}}
	_, err := f.store.WithEnv(e).Get(f.ctx, 2)
	if err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), f.table.SnapshotFile(2)) {
		t.Errorf("snapshot never finished: %v, want Corrupt with its path", err)
	}
	if e.waits != parseAttempts-1 {
		t.Errorf("%d waits", e.waits)
	}
	f.write(t, f.table.SnapshotFile(2), string(snapshotOf(3).Marshal()))
	if _, err := f.store.Get(f.ctx, 2); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Errorf("another snapshot's file: %v, want Corrupt", err)
	}
}

func TestBranchSnapshots(t *testing.T) {
	f := newFixture(t, 1)
	branch := f.table.WithBranch("b")
	f.write(t, branch.SnapshotFile(7), string(snapshotOf(7).Marshal()))
	if s, err := NewStore(f.fio, branch).Latest(f.ctx); err != nil || s.ID != 7 {
		t.Errorf("latest of the branch: %v %v", s, err)
	}
	f.latest(t, 1)
}

func TestParseRefuses(t *testing.T) {
	whole := string(snapshotOf(2).Marshal())
	for name, c := range map[string]struct {
		text string
		want tarnerr.Kind
	}{
		"nothing":       {"", tarnerr.Corrupt},
		"no object":     {"[]", tarnerr.Corrupt},
		"null":          {"null", tarnerr.Corrupt},
		"no id":         {strings.Replace(whole, `"id"`, `"ID"`, 1), tarnerr.Corrupt},
		"null kind":     {strings.Replace(whole, `"APPEND"`, `null`, 1), tarnerr.Corrupt},
		"wrong type":    {strings.Replace(whole, `"schemaId" : 0`, `"schemaId" : "0"`, 1), tarnerr.Corrupt},
		"too large":     {strings.Replace(whole, `"id" : 2`, `"id" : 99999999999999999999`, 1), tarnerr.Corrupt},
		"version 4":     {strings.Replace(whole, `"version" : 3`, `"version" : 4`, 1), tarnerr.Unsupported},
		"unknown kind":  {strings.Replace(whole, `"APPEND"`, `"REWRITE"`, 1), tarnerr.Unsupported},
		"more after it": {whole + "x", tarnerr.Corrupt},
	} {
		if s, err := Parse([]byte(c.text)); err == nil || tarnerr.KindOf(err) != c.want {
			t.Errorf("%s: %v %v, want %v", name, s, err, c.want)
		}
	}
	if _, err := Parse([]byte(strings.Replace(whole, "{", `{ "unknown" : [1],`, 1))); err != nil {
		t.Errorf("unknown field: %v", err)
	}
	if s, err := Parse([]byte(strings.Replace(whole, `"version" : 3,`, "", 1))); err != nil || s.Version != 1 {
		t.Errorf("without version: %v %v", s, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(snapshotOf(1).Marshal())
	f.Add([]byte(`{"id":1,"schemaId":0,"commitKind":"COMPACT","properties":{"a":"\u0000ü"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse(s.Marshal())
		if err != nil {
			t.Fatalf("our own text: %v\n%s", err, s.Marshal())
		}
		if string(again.Marshal()) != string(s.Marshal()) {
			t.Fatalf("%s\nagain\n%s", s.Marshal(), again.Marshal())
		}
	})
}
