package paimon_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

var expirePlace = layout.Table{Dir: dir}

// expireAll lets everything go that the number of snapshots allows.
func expireAll(more ...string) table.ExpireOptions {
	o := map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return table.ExpireOptions{Options: o}
}

// history is a key table of some snapshots, with levels compacted on the way.
func (f *fixture) history(options ...string) *mem.FS {
	f.Helper()
	spec := keySpec()
	for i := 0; i < len(options); i += 2 {
		spec.Options[options[i]] = options[i+1]
	}
	fs := f.create(spec)
	for i := range 3 {
		f.mustWrite(f.open(fs), ids("mon", fmt.Sprintf("v%d", i), 1, 2, 3+i))
	}
	f.compact(f.open(fs), table.CompactOptions{})
	f.mustWrite(f.open(fs), ids("tue", "x", 1))
	f.mustWrite(f.open(fs), ids("mon", "w", 2, 9))
	f.compact(f.open(fs), table.CompactOptions{})
	f.mustWrite(f.open(fs), ids("mon", "z", 3))
	return fs
}

func (f *fixture) mustExpire(fs fileio.FileIO, opts table.ExpireOptions) *table.ExpireReport {
	f.Helper()
	r, err := f.open(fs).Expire(f.ctx, opts)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// tag copies a snapshot's file to a tag.
func (f *fixture) tag(fs *mem.FS, place layout.Table, name string, id int64) {
	f.Helper()
	data, ok := fs.Get(expirePlace.SnapshotFile(id))
	if !ok {
		f.Fatalf("no snapshot %d to tag", id)
	}
	fs.Put(place.TagFile(name), data)
}

// without are the table's files but those of runs and commits.
func without(fs *mem.FS) []string {
	var out []string
	for _, p := range fs.Paths() {
		if !strings.Contains(p, "/.tarn/") {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// whole reads every snapshot, tag and branch, and returns what it read.
func (f *fixture) whole(fs *mem.FS) map[string][]string {
	f.Helper()
	out := map[string][]string{}
	for s, err := range f.open(fs).Snapshots(f.ctx) {
		if err != nil {
			f.Fatal(err)
		}
		out[fmt.Sprint(s.ID)] = f.rows(f.open(fs), table.Scan{SnapshotID: s.ID})
	}
	for _, p := range fs.Paths() {
		// A tag reads as a snapshot does that was put back.
		if strings.HasPrefix(path.Base(p), "tag-") {
			data, _ := fs.Get(p)
			s, err := snapshot.Parse(data)
			if err != nil {
				f.Fatal(err)
			}
			back := fs.Clone()
			back.Put(expirePlace.SnapshotFile(s.ID), data)
			out[p] = f.rows(f.open(back), table.Scan{SnapshotID: s.ID})
		}
	}
	branches := snapshot.NewStore(fs, expirePlace.WithBranch("b"))
	for s, err := range branches.All(f.ctx) {
		if err != nil {
			f.Fatal(err)
		}
		back := fs.Clone()
		back.Put(expirePlace.SnapshotFile(s.ID), s.Marshal())
		out["branch "+fmt.Sprint(s.ID)] = f.rows(f.open(back), table.Scan{SnapshotID: s.ID})
	}
	return out
}

func TestExpire(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	latest := f.rows(f.open(fs), table.Scan{})
	before := fs.Clone()

	dry := expireAll()
	dry.DryRun = true
	planned := f.mustExpire(fs, dry)
	if !slices.Equal(fs.Paths(), before.Paths()) {
		t.Error("a dry run has changed something")
	}
	var last table.ExpireProgress
	opts := expireAll()
	opts.Progress = func(p table.ExpireProgress) { last = p }
	r := f.mustExpire(fs, opts)
	if !slices.Equal(r.Snapshots, planned.Snapshots) || r.Files != planned.Files || r.Bytes != planned.Bytes || r.Files == 0 || r.FilesDeleted != r.Files || r.FilesFailed != 0 || r.Record == "" {
		t.Errorf("planned %+v\ndid %+v", planned, r)
	}
	if last.Files != int64(r.Files) || last.FilesDone != last.Files {
		t.Errorf("progress ends with %+v", last)
	}
	if n := len(r.Snapshots); n < 7 || r.Snapshots[0] != 1 {
		t.Errorf("expired %v", r.Snapshots)
	}
	f.want(f.rows(f.open(fs), table.Scan{}), latest...)
	if len(without(fs)) != len(without(before))-r.Files-len(r.Snapshots) {
		t.Errorf("%d files before, %d after, the report is %+v", len(without(before)), len(without(fs)), r)
	}
	// Nothing is left that the latest snapshot does not need: the table has as many
	// files as one that was written at once and compacted alike has.
	live := map[string]bool{}
	plan, err := f.open(fs).Plan(f.ctx, table.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Splits {
		for _, d := range table.UnwrapSplit(s).Files {
			live[d.FileName] = true
		}
	}
	for _, p := range without(fs) {
		if strings.Contains(p, "/bucket-") && !live[path.Base(p)] {
			t.Errorf("%s is left over", p)
		}
	}

	again := f.mustExpire(fs, expireAll())
	if len(again.Snapshots) != 0 || again.Files != 0 || again.Record != "" {
		t.Errorf("a second run does %+v", again)
	}
	f.mustWrite(f.open(fs), ids("mon", "after", 77))
}

func TestExpireRefuses(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	_, err := f.open(fs).Expire(f.ctx, table.ExpireOptions{Options: map[string]string{"snapshot.num-retained.min": "7", "snapshot.num-retained.max": "3"}})
	if tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "snapshot.num-retained.min") || !strings.Contains(err.Error(), "snapshot.num-retained.max") {
		t.Errorf("got %v", err)
	}
	if _, err := schema.NewStore(fs, expirePlace.WithBranch("b").BranchDir(), env.Real()).Create(f.ctx, keySpec()); err != nil {
		t.Fatal(err)
	}
	b, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", Branch: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Expire(f.ctx, table.ExpireOptions{}); tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("a branch: %v", err)
	}
	if r := f.mustExpire(f.create(keySpec()), expireAll()); len(r.Snapshots) != 0 {
		t.Errorf("an empty table: %+v", r)
	}
}

// A snapshot that expires while it is read is not a lost file.
func TestSnapshotExpiresUnderAReader(t *testing.T) {
	f := newFixture(t)
	fs := f.history()
	tbl := f.open(fs)
	p, err := tbl.Plan(f.ctx, table.Scan{SnapshotID: 1})
	if err != nil {
		t.Fatal(err)
	}
	f.mustExpire(fs, expireAll())
	r, err := tbl.Read(f.ctx, table.Scan{}, p.Splits...)
	if err == nil {
		defer r.Close()
		_, err = r.Next(f.ctx)
	}
	wantKind(t, err, tarnerr.Expired, "begin again")
}
