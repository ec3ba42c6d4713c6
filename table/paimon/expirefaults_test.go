package paimon_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/maintain"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/table"
)

// scene is a table with all that expiry must look out for: tags, one of them of a
// snapshot that is gone, a branch, a consumer, a commit in doubt.
func (f *fixture) scene(options ...string) *mem.FS {
	f.Helper()
	fs := f.history(options...)
	f.tag(fs, expirePlace, "three", 3)
	f.tag(fs, expirePlace, "five", 5)
	branch := expirePlace.WithBranch("b")
	data, _ := fs.Get(expirePlace.SnapshotFile(4))
	fs.Put(branch.SnapshotFile(4), data)
	data, _ = fs.Get(expirePlace.SnapshotFile(6))
	fs.Put(branch.SnapshotFile(6), data)
	return fs
}

// settled is what a table looks like to who does not know what became of it: its files
// without records, and its hints alone.
func settled(fs *mem.FS) map[string]string {
	out := map[string]string{}
	for _, p := range without(fs) {
		data, _ := fs.Get(p)
		out[p] = ""
		if strings.HasSuffix(p, "/EARLIEST") || strings.HasSuffix(p, "/LATEST") || strings.Contains(p, "/changelog/") {
			out[p] = string(data)
		}
	}
	return out
}

// Every storage call of an expiry fails once, before or after its effect. Whatever is
// live afterwards has all its files, and the next run leaves what an undisturbed one does.
func TestEveryCallOfExpiryFails(t *testing.T) {
	kinds := map[string][]string{
		"plain":     nil,
		"decoupled": {"changelog.num-retained.max", "3", "changelog.num-retained.min", "3"},
		"input":     {"changelog-producer", "input", "changelog.num-retained.max", "3", "changelog.num-retained.min", "3"},
	}
	if raceDetector {
		delete(kinds, "plain")
		delete(kinds, "decoupled")
	}
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			base := newFixture(t)
			fs := base.scene(options...)
			want := base.undisturbed(fs)
			trouble := func(n int, when faultio.When) {
				f := newFixture(t)
				storage := fs.Clone()
				faulty := faultio.New(storage, nil)
				tbl := f.open(faulty)
				faulty.SetPlan(faultio.FailCall(n, when, 0))
				_, err := tbl.Expire(f.ctx, expireAll())
				if faulty.Injected() == 0 {
					t.Errorf("call %d did not come", n)
				}
				f.afterTrouble(storage, want, err)
			}
			for _, c := range expiryCalls(base, fs) {
				if c.Method == "read" { // no other than that of the file that was opened
					continue
				}
				if raceDetector && c.N%5 != 0 {
					continue
				}
				trouble(c.N, faultio.Before)
				if c.Changes() {
					trouble(c.N, faultio.After)
				}
				if t.Failed() {
					t.Fatalf("at %s %s", c.Method, c.Path)
				}
			}
		})
	}
}

// expiryCalls are the storage calls of an expiry, numbered from the opening of the
// table on, when nothing fails.
func expiryCalls(f *fixture, fs *mem.FS) []faultio.Call {
	f.Helper()
	faulty := faultio.New(fs.Clone(), nil)
	tbl := f.open(faulty)
	opened := faulty.Count()
	if _, err := tbl.Expire(f.ctx, expireAll()); err != nil {
		f.Fatal(err)
	}
	return faulty.Calls()[opened:]
}

// undisturbed is what a table looks like after an expiry, with its rows as before.
func (f *fixture) undisturbed(fs *mem.FS) map[string]string {
	f.Helper()
	before, after := f.whole(fs), fs.Clone()
	f.mustExpire(after, expireAll())
	if len(without(after)) >= len(without(fs)) {
		f.Fatal("the expiry under test removes nothing")
	}
	for name, rows := range f.whole(after) {
		if !slices.Equal(rows, before[name]) {
			f.Errorf("%s has the rows %v, want %v", name, rows, before[name])
		}
	}
	return settled(after)
}

// afterTrouble: what lives has all its files, and the next run ends as an undisturbed one.
func (f *fixture) afterTrouble(storage *mem.FS, want map[string]string, err error) {
	f.Helper()
	f.noneMissing(storage)
	f.mustExpire(storage, expireAll())
	if d := cmp.Diff(want, settled(storage)); d != "" {
		f.Errorf("after %v the next run leaves (+), an undisturbed one (-)\n%s", err, d)
	}
	for _, p := range storage.Paths() {
		if strings.HasSuffix(p, ".plan") {
			f.Errorf("%s is still open", p)
		}
	}
	f.noneMissing(storage)
}

// noneMissing holds every snapshot, tag, branch and changelog to having all its files.
func (f *fixture) noneMissing(fs *mem.FS) {
	f.Helper()
	spec := keySpec()
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fs, Table: expirePlace, Partition: spec.Fields[:1]})
	if err != nil {
		f.Fatal(err)
	}
	partitions := layout.NewPartitioner(spec.Fields[:1], "", true)
	have := map[string]bool{}
	for _, p := range fs.Paths() {
		have[p] = true
	}
	state := func(name string, adds bool, lists ...*string) {
		var entries []manifest.Entry
		for _, l := range lists {
			if l == nil {
				continue
			}
			metas, err := manifests.ReadList(f.ctx, *l, nil)
			if err != nil {
				f.Errorf("%s: %v", name, err)
				return
			}
			some, err := manifests.ReadAll(f.ctx, metas, manifest.EntryFilter{})
			if err != nil {
				f.Errorf("%s: %v", name, err)
				return
			}
			entries = append(entries, some...)
		}
		if !adds {
			if entries, err = manifest.MergeEntries(entries); err != nil {
				f.Fatal(err)
			}
		}
		for _, e := range entries {
			dir, err := partitions.Path(e.Partition)
			if err != nil {
				f.Fatal(err)
			}
			if e.Kind == manifest.Add && !have[expirePlace.DataFile(dir, e.Bucket, e.File.FileName)] {
				f.Errorf("%s needs %s", name, e.File.FileName)
			}
		}
	}
	for _, p := range fs.Paths() {
		kind, _, _ := strings.Cut(path.Base(p), "-")
		dir := path.Base(path.Dir(p))
		if dir != kind || kind != "snapshot" && kind != "tag" && kind != "changelog" {
			continue
		}
		data, _ := fs.Get(p)
		s, err := snapshot.Parse(data)
		if err != nil {
			f.Fatal(err)
		}
		switch {
		case kind != "changelog":
			state(p, false, &s.BaseManifestList, &s.DeltaManifestList)
			if kind == "snapshot" {
				state(p, true, s.ChangelogManifestList)
			}
		case s.ChangelogManifestList != nil:
			state(p, true, s.ChangelogManifestList)
		case f.plainChangelogs(fs):
			state(p, true, &s.DeltaManifestList)
		}
	}
}

// plainChangelogs tells tables without a changelog producer.
func (f *fixture) plainChangelogs(fs *mem.FS) bool {
	return f.open(fs).Schema().Options["changelog-producer"] == ""
}

// The process dies at each call; the next run finishes its work.
func TestExpiryCrashesAtEveryCall(t *testing.T) {
	base := newFixture(t)
	fs := base.scene("changelog-producer", "input", "changelog.num-retained.max", "3", "changelog.num-retained.min", "3")
	want := base.undisturbed(fs)
	plans, crashes := 0, 0
	for _, c := range expiryCalls(base, fs) {
		if !c.Changes() { // a crash at it leaves what one after the last change does
			continue
		}
		f := newFixture(t)
		storage := fs.Clone()
		faulty := faultio.New(storage, faultio.Crash(c.N, faultio.After))
		_, err := f.open(faulty).Expire(f.ctx, expireAll())
		if slices.ContainsFunc(storage.Paths(), func(p string) bool { return strings.HasSuffix(p, ".plan") }) {
			plans++
		}
		crashes++
		f.afterTrouble(storage, want, err)
	}
	if crashes < 25 || plans < 20 {
		t.Errorf("%d calls, of which %d left a plan", crashes, plans)
	}
}

// What is made after the plan, and before the snapshots go, holds what it needs.
func TestExpiryHeldMeanwhile(t *testing.T) {
	for what, c := range map[string]struct {
		make func(f *fixture, fs *mem.FS)
		live []string // that must be there at the end, beside what always is
	}{
		"nothing": {func(*fixture, *mem.FS) {}, nil},
		"tag":     {func(f *fixture, fs *mem.FS) { f.tag(fs, expirePlace, "late", 2) }, []string{expirePlace.TagFile("late")}},
		"branch": {func(f *fixture, fs *mem.FS) {
			data, _ := fs.Get(expirePlace.SnapshotFile(2))
			fs.Put(expirePlace.WithBranch("b").SnapshotFile(2), data)
		}, []string{"branch 2"}},
		"consumer": {func(f *fixture, fs *mem.FS) {
			if err := snapshot.NewStore(fs, expirePlace).Consumers().Set(f.ctx, "c", 4); err != nil {
				f.Fatal(err)
			}
		}, []string{"4", "5", "6", "7"}},
		"commit": {func(f *fixture, fs *mem.FS) {
			r := commitlog.Record{User: "u", Identifier: 3, Kind: snapshot.Append, Base: 5, Delta: "m"}
			if err := commitlog.NewStore(fs, expirePlace, 1).Put(f.ctx, r); err != nil {
				f.Fatal(err)
			}
		}, []string{"6", "7"}},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			fs := f.history()
			before := f.whole(fs)
			clean := fs.Clone()
			plain := f.mustExpire(clean, expireAll())
			made := false
			faulty := faultio.New(fs, nil)
			tbl := f.open(faulty)
			planned := false
			faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
				if planned && !made {
					made = true
					c.make(f, fs)
					before = f.union(before, fs)
				}
				planned = planned || call.Method == "replace" && strings.HasSuffix(call.Path, ".plan")
				return faultio.Fault{}
			}))
			r, err := tbl.Expire(f.ctx, expireAll())
			if err != nil || !made {
				t.Fatal(made, err)
			}
			got := f.whole(fs)
			for name, rows := range got {
				if !slices.Equal(rows, before[name]) {
					t.Errorf("%s has the rows %v, want %v", name, rows, before[name])
				}
			}
			for _, l := range c.live {
				if _, ok := got[l]; !ok {
					t.Errorf("%s is gone", l)
				}
			}
			if what == "nothing" {
				if r.FilesHeld != 0 || r.Files != plain.Files {
					t.Errorf("held without a reason: %+v", r)
				}
				return
			}
			if r.FilesHeld == 0 || r.FilesDeleted+r.FilesHeld != r.Files {
				t.Errorf("nothing was held: %+v", r)
			}
			// Once the holder is gone all goes that had to stay.
			for _, p := range fs.Paths() {
				if strings.Contains(p, "/tag/") || strings.Contains(p, "/branch/") || strings.Contains(p, "/consumer/") || strings.HasSuffix(p, "u-3-append.json") {
					fs.Remove(p)
				}
			}
			if what == "consumer" || what == "commit" {
				f.mustExpire(fs, expireAll())
				if d := cmp.Diff(settled(clean), settled(fs)); d != "" {
					t.Errorf("left over (+)\n%s", d)
				}
			}
		})
	}
}

// union adds what is live now.
func (f *fixture) union(before map[string][]string, fs *mem.FS) map[string][]string {
	out := maps.Clone(before)
	maps.Copy(out, f.whole(fs))
	return out
}

// Two expiries of one table at once, and one that has slept since its plan.
func TestExpiriesSideBySide(t *testing.T) {
	f := newFixture(t)
	fs := f.scene()
	before := f.whole(fs)
	faulty := faultio.New(fs, nil)
	tbl := f.open(faulty)
	var inner *table.ExpireReport
	planned := false
	faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if planned && inner == nil {
			inner = f.mustExpire(fs, expireAll())
			f.mustWrite(f.open(fs), ids("wed", "between", 1))
		}
		planned = planned || call.Method == "replace" && strings.HasSuffix(call.Path, ".plan")
		return faultio.Fault{}
	}))
	if _, err := tbl.Expire(f.ctx, expireAll()); err != nil {
		t.Fatal(err)
	}
	if inner == nil || inner.Resumed == "" {
		t.Errorf("the run between did not find the plan: %+v", inner)
	}
	got := f.whole(fs)
	for name, rows := range got {
		if old, ok := before[name]; ok && !slices.Equal(rows, old) {
			t.Errorf("%s has the rows %v, want %v", name, rows, old)
		}
	}
}

// After a rollback a plan of before is not carried out on what has the ids now.
func TestExpiryPlanOfAnotherHistory(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	storage := fs.Clone()
	faulty := faultio.New(storage, nil)
	tbl := f.open(faulty)
	faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "replace" && strings.HasSuffix(c.Path, ".plan") {
			return faultio.Fault{When: faultio.After}
		}
		return faultio.Fault{}
	}))
	if _, err := tbl.Expire(f.ctx, expireAll()); err == nil {
		t.Fatal("the plan was to fail")
	}
	// Back to snapshot 2, and on from there.
	for _, id := range []int64{3, 4, 5, 6, 7, 8} {
		storage.Remove(expirePlace.SnapshotFile(id))
	}
	storage.Put(expirePlace.LatestHint(), []byte("2"))
	for i := range 6 {
		f.mustWrite(f.open(storage), ids("mon", "other", 100+i))
	}
	before := f.whole(storage)
	r, err := f.open(storage).Expire(f.ctx, table.ExpireOptions{})
	if err != nil || r.Resumed == "" || r.FilesDeleted != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if d := cmp.Diff(before, f.whole(storage)); d != "" {
		t.Error(d)
	}
	data, _ := storage.Get(maintain.Dir(expirePlace) + "/" + r.Resumed + ".json")
	if !strings.Contains(string(data), "history was rewritten") {
		t.Errorf("the record says %s", data)
	}
}
