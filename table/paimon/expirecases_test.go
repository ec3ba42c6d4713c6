package paimon_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/maintain"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// With nothing to expire, an expiry asks for little, however long the history of
// snapshots, tags and commits.
func TestExpiryOfNothingIsCheap(t *testing.T) {
	for kind, c := range map[string]struct {
		options []string
		most    int
	}{
		"plain":     {nil, 10},
		"decoupled": {[]string{"changelog.num-retained.max", "3", "changelog.num-retained.min", "3"}, 18},
	} {
		f := newFixture(t)
		fs := f.scene(c.options...)
		f.mustExpire(fs, expireAll())
		before := fs.Paths()
		faulty := faultio.New(fs, nil)
		tbl := f.open(faulty)
		opened := faulty.Count()
		if r, err := tbl.Expire(f.ctx, expireAll()); err != nil || r.Record != "" || len(r.Snapshots) != 0 || len(r.Changelogs) != 0 {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		if n := faulty.Count() - opened; n > c.most {
			t.Errorf("%s: %d calls, want at most %d", kind, n, c.most)
		}
		if !slices.Equal(before, fs.Paths()) {
			t.Errorf("%s: something changed", kind)
		}
	}
}

// A consumer holds what it has yet to read until its file is old enough to go.
func TestExpireConsumers(t *testing.T) {
	f := newFixture(t)
	now := time.UnixMilli(1_700_000_000_000).Add(-3 * time.Hour)
	fs := mem.New(mem.Posix, mem.WithClock(func() time.Time { return now }))
	old := f.history()
	for _, p := range old.Paths() {
		data, _ := old.Get(p)
		fs.Put(p, data)
	}
	consumers := snapshot.NewStore(fs, expirePlace).Consumers()
	set := func(id string, next int64) {
		if err := consumers.Set(f.ctx, id, next); err != nil {
			t.Fatal(err)
		}
	}
	set("asleep", 2)
	now = now.Add(2 * time.Hour)
	set("awake", 4)

	r := f.mustExpire(fs, expireAll())
	if !slices.Equal(r.Snapshots, []int64{1}) || len(r.Held) != 2 || r.Held[0].By != table.HeldByConsumer || r.Held[0].Name != "asleep" || r.Held[0].Snapshot != 2 || !strings.Contains(r.Held[0].Hint, "consumer list db.t") {
		t.Errorf("both hold: %+v", r)
	}
	opts := expireAll("consumer.expiration-time", "2 h")
	opts.DryRun = true
	planned := f.mustExpire(fs, opts)
	if found, _ := consumers.All(f.ctx); len(found) != 2 {
		t.Error("a dry run has removed a consumer")
	}
	opts.DryRun = false
	for _, r := range []*table.ExpireReport{planned, f.mustExpire(fs, opts)} {
		if !slices.Equal(r.Consumers, []string{"asleep"}) || !slices.Equal(r.Snapshots, []int64{2, 3}) || len(r.Held) != 1 || r.Held[0].Name != "awake" || r.Held[0].Snapshot != 4 {
			t.Errorf("one is asleep: %+v", r)
		}
	}
	// Consumers alone are on record as well.
	set("third", 100)
	now = now.Add(-2 * time.Hour)
	set("third", 100)
	if r := f.mustExpire(fs, opts); !slices.Equal(r.Consumers, []string{"third"}) || len(r.Snapshots) != 0 || r.Record == "" {
		t.Errorf("the third alone: %+v", r)
	}
	// With changelogs of their own, consumers hold those alone.
	r = f.mustExpire(fs, expireAll("consumer.changelog-only", "true", "changelog.num-retained.max", "2"))
	if !slices.Equal(r.Snapshots, []int64{4, 5, 6, 7}) || len(r.Held) != 0 || len(r.Changelogs) != 0 {
		t.Errorf("changelogs only: %+v", r)
	}
}

// A commit of which nobody knows whether it landed keeps the snapshots after its base,
// and one whose record cannot be read keeps all.
func TestExpireHeldByCommits(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	log := commitlog.NewStore(fs, expirePlace, 1)
	r := commitlog.Record{User: "u", Identifier: 3, Kind: snapshot.Append, Base: 5, Delta: "m"}
	if err := log.Put(f.ctx, r); err != nil {
		t.Fatal(err)
	}
	broken := commitlog.Dir(expirePlace) + "/zzz.json"
	fs.Put(broken, []byte("{"))
	got := f.mustExpire(fs, expireAll())
	if len(got.Snapshots) != 0 || len(got.Held) != 2 || got.Held[0].By != table.HeldByCommit || got.Held[0].Snapshot != 1 && got.Held[1].Snapshot != 1 {
		t.Errorf("with a record that cannot be read: %+v", got)
	}
	fs.Remove(broken)
	got = f.mustExpire(fs, expireAll())
	if !slices.Equal(got.Snapshots, []int64{1, 2, 3, 4, 5}) || len(got.Held) != 1 || got.Held[0].Snapshot != 6 || got.Held[0].Name != "u 3" || !strings.Contains(got.Held[0].Hint, "commit resolve") {
		t.Errorf("in doubt: %+v", got)
	}
	if err := log.Put(f.ctx, r.Ended(commitlog.End{Status: commitlog.Failed})); err != nil {
		t.Fatal(err)
	}
	if got = f.mustExpire(fs, expireAll()); !slices.Equal(got.Snapshots, []int64{6, 7}) {
		t.Errorf("resolved: %+v", got)
	}
}

// Changes can be followed as long as their changelogs are kept, with a producer and
// without, and a dry run foretells all of it.
func TestExpireDecoupled(t *testing.T) {
	for _, producer := range []string{"none", "input"} {
		t.Run(producer, func(t *testing.T) {
			f := newFixture(t)
			fs := f.history("changelog-producer", producer)
			follow := func(from int64) []string {
				return f.all(f.follow(f.open(fs), table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: from}, To: 8}))
			}
			all, late := follow(1), follow(4)
			keep := func(n string) table.ExpireOptions {
				return expireAll("changelog.num-retained.min", n, "changelog.num-retained.max", n)
			}
			foretold := func(opts table.ExpireOptions) *table.ExpireReport {
				t.Helper()
				opts.DryRun = true
				want := f.mustExpire(fs, opts)
				opts.DryRun = false
				got := f.mustExpire(fs, opts)
				if !slices.Equal(got.Snapshots, want.Snapshots) || !slices.Equal(got.Changelogs, want.Changelogs) || got.Files != want.Files || got.Bytes != want.Bytes {
					t.Errorf("foretold %+v\ngot      %+v", want, got)
				}
				return got
			}
			r := foretold(keep("8"))
			if len(r.Snapshots) != 7 || len(r.Changelogs) != 0 {
				t.Errorf("all changelogs stay: %+v", r)
			}
			f.want(follow(1), all...)
			if r = foretold(keep("5")); !slices.Equal(r.Changelogs, []int64{1, 2, 3}) {
				t.Errorf("five stay: %+v", r)
			}
			f.want(follow(4), late...)
			f.noneMissing(fs)
			gone := f.follow(f.open(fs), table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: 3}})
			_, err := gone.Next(f.ctx)
			gone.Close()
			wantKind(t, err, tarnerr.Expired, "4")
			f.mustWrite(f.open(fs), ids("mon", "more", 50))
			if r = foretold(keep("2")); len(r.Snapshots) != 1 || len(r.Changelogs) != 4 {
				t.Errorf("two stay: %+v", r)
			}
			f.noneMissing(fs)
			// Both go at once.
			fs = f.history("changelog-producer", producer)
			if r = foretold(keep("3")); len(r.Snapshots) != 7 || len(r.Changelogs) != 5 {
				t.Errorf("at once: %+v", r)
			}
			f.noneMissing(fs)
		})
	}
}

// Directories that are empty go where the table says so.
func TestExpireCleansDirectories(t *testing.T) {
	for _, clean := range []string{"false", "true"} {
		f := newFixture(t)
		fs := f.history()
		if _, err := f.open(fs).DropPartitions(f.ctx, []map[string]string{{"day": "tue"}}, table.CommitOptions{}); err != nil {
			t.Fatal(err)
		}
		f.mustExpire(fs, expireAll("snapshot.clean-empty-directories", clean))
		page, err := fs.List(f.ctx, dir, fileio.ListOptions{Dirs: true})
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, e := range page.Entries {
			there = there || path.Base(e.Path) == "day=tue"
			if path.Base(e.Path) == "day=mon" && !e.IsDir {
				t.Error("no directory")
			}
		}
		if there == (clean == "true") {
			t.Errorf("cleaned %s, the directory of a partition without files is there: %v", clean, there)
		}
	}
}

// What the storage refuses to delete is counted and named; it is not tried for ever.
func TestExpiryLeavesUndeletable(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	stuck := ""
	faulty := faultio.New(fs, nil)
	tbl := f.open(faulty)
	faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "delete" && strings.Contains(c.Path, "/bucket-") && (stuck == "" || c.Path == stuck) {
			stuck = c.Path
			return faultio.Fault{When: faultio.Before, Kind: tarnerr.Denied}
		}
		return faultio.Fault{}
	}))
	r, err := tbl.Expire(f.ctx, expireAll())
	if err != nil || r.FilesFailed != 1 || r.FilesDeleted != r.Files-1 {
		t.Fatalf("%+v, %v", r, err)
	}
	data, _ := fs.Get(maintain.Dir(expirePlace) + "/" + r.Record + ".json")
	if !strings.Contains(string(data), stuck) {
		t.Errorf("the record does not name %s:\n%s", stuck, data)
	}
	if r := f.mustExpire(fs, expireAll()); r.Resumed != "" || r.Files != 0 {
		t.Errorf("tried again: %+v", r)
	}
	// While the storage is away nothing is given up.
	fs = f.history()
	faulty = faultio.New(fs, nil)
	tbl = f.open(faulty)
	faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "delete" && strings.Contains(c.Path, "/bucket-")
	}, faultio.Before, tarnerr.Unavailable))
	if _, err = tbl.Expire(f.ctx, expireAll()); tarnerr.KindOf(err) != tarnerr.Unavailable {
		t.Fatalf("got %v", err)
	}
	r = f.mustExpire(fs, expireAll())
	if r.Resumed == "" || r.FilesDeleted == 0 || len(r.Snapshots) != 0 {
		t.Errorf("the next run: %+v", r)
	}
	f.noOrphans(fs)
}

// A record stays of each run, of the latest hundred.
func TestExpiryRecords(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	for i := range 120 {
		fs.Put(fmt.Sprintf("%s/%013d-%08d.json", maintain.Dir(expirePlace), i, i), []byte(`{"version":1}`))
	}
	r := f.mustExpire(fs, expireAll("snapshot.expire.limit", "3"))
	if len(r.Held) != 1 || r.Held[0].By != table.HeldByLimit || r.Held[0].Snapshot != 4 {
		t.Errorf("the limit is not told: %+v", r)
	}
	n := 0
	for _, p := range fs.Paths() {
		if strings.HasPrefix(p, maintain.Dir(expirePlace)+"/") {
			n++
		}
	}
	data, ok := fs.Get(maintain.Dir(expirePlace) + "/" + r.Record + ".json")
	if n != 100 || !ok {
		t.Errorf("%d records, this one among them: %v", n, ok)
	}
	for _, want := range []string{`"snapshots":[1,2,3]`, `"snapshot.expire.limit":"3"`, fmt.Sprintf(`"filesDeleted":%d`, r.FilesDeleted), `"by":`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}

// A tag that cannot be read stops an expiry before it has changed anything: nobody
// knows what it needs.
func TestExpiryStopsAtADamagedTag(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	f.tag(fs, expirePlace, "two", 2)
	data, _ := fs.Get(expirePlace.TagFile("two"))
	s, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	lost := fs.Clone()
	lost.Remove(expirePlace.ManifestFile(s.BaseManifestList))
	for what, storage := range map[string]*mem.FS{"no list": lost, "no JSON": fs} {
		if what == "no JSON" {
			storage.Put(expirePlace.TagFile("two"), []byte("{"))
		}
		before := storage.Paths()
		_, err := f.open(storage).Expire(f.ctx, expireAll())
		if err == nil || !strings.Contains(err.Error(), "two") {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(before, storage.Paths()) {
			t.Errorf("%s: something changed", what)
		}
	}
}
