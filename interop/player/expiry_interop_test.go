//go:build interop

package player

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/interop"
	tableoption "github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
)

// expiries count what histories are for.
type expiries struct {
	runs, snapshots, changelogs, files, directories, tags, consumers int
}

// Of two copies of a table Java expires one and Tarn the other, several times with
// options of all kinds, and then either copy goes on: each time the same files are left,
// byte by byte, and what is left reads as it did before.
func TestExpiryIsJavas(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	var sum expiries
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newPast(t, j, seed)
			for round := range uint64(2) {
				p.some(5 + p.IntN(5))
				if p.latest() == 0 {
					continue
				}
				spread := p.IntN(3) == 0
				if spread {
					spreadTimes(t, p.warehouse)
				}
				p.ageConsumers()
				p.expireAlike(spread, (seed+round)%4 == 0, &sum)
			}
		})
	}
	t.Logf("%+v", sum)
	if sum.runs < 100 || sum.snapshots < 200 || sum.changelogs < 20 || sum.files < 600 || sum.directories == 0 || sum.tags == 0 || sum.consumers == 0 {
		t.Errorf("too little has expired: %+v", sum)
	}
}

// expireAlike has the table expired and goes on with one of its copies.
func (p *past) expireAlike(spread, javaReads bool, sum *expiries) {
	p.Helper()
	before, tags := seenByTarn(p.T, p.warehouse), p.tags()
	theirs, ours := p.warehouse, copied(p.T, p.warehouse)
	was := tree(p.T, theirs)
	options := p.retention(spread)
	for run := range 1 + p.IntN(3) {
		if run > 0 && p.IntN(2) == 0 {
			options = p.retention(spread)
		}
		p.log = append(p.log, fmt.Sprint("expire ", options))
		changelogs := changelogIDs(p.T, theirs)
		failed, err := p.expireTheirs(theirs, options)
		if err != nil {
			p.Fatalf("Java: %v", err)
		}
		if err := p.expireOurs(ours, options); err != nil {
			p.Fatalf("Tarn: %v", err)
		}
		if failed {
			// Java looked for a changelog that is not there: Tarn notes which is the first
			// one, and goes on beyond a gap.
			p.onlyChangelogsGone(theirs, ours, hasGap(append(changelogs, changelogIDs(p.T, theirs)...)))
			theirs = copied(p.T, ours)
		}
		if p.onlyChangelogsNeed(theirs, ours, options) {
			theirs = copied(p.T, ours)
		}
		left := tree(p.T, theirs)
		if d := cmp.Diff(left, tree(p.T, ours)); d != "" {
			p.Fatalf("run %d: files (-Java +Tarn):\n%s", run+1, d)
		}
		sum.count(was, left)
		was = left
	}
	sum.tags += len(tags)
	p.unharmed(before, tags, ours, javaReads)
	if p.IntN(2) == 0 {
		p.warehouse = ours
	}
}

// unharmed wants what is left in a warehouse to read as it did before.
func (p *past) unharmed(before seen, tags map[string]string, warehouse string, javaReads bool) {
	p.Helper()
	want := before.left(p.T, warehouse)
	if d := cmp.Diff(want, seenByTarn(p.T, warehouse), cmp.AllowUnexported(seen{}), cmpopts.EquateEmpty()); d != "" {
		p.Errorf("read by Tarn (-before +after):\n%s", d)
	}
	if d := cmp.Diff(tags, taggedRows(p.T, p.judge, warehouse, tagNames(p.T, warehouse)...), cmpopts.EquateEmpty()); d != "" {
		p.Errorf("tags (-before +after):\n%s", d)
	}
	if !javaReads {
		return
	}
	if d := cmp.Diff(want, seenByJava(p.T, p.judge, warehouse), cmp.AllowUnexported(seen{}), cmpopts.EquateEmpty()); d != "" {
		p.Errorf("read by Java (-before +after):\n%s", d)
	}
}

// count adds what is gone.
func (e *expiries) count(was, left map[string]string) {
	e.runs++
	for name := range was {
		if _, is := left[name]; is {
			continue
		}
		switch dir, _, _ := strings.Cut(name, "/"); {
		case strings.HasSuffix(name, "/"):
			e.directories++
		case dir == "snapshot":
			e.snapshots++
		case dir == "changelog":
			e.changelogs++
		case dir == "consumer":
			e.consumers++
		default:
			e.files++
		}
	}
}

// Java and Tarn write to a table and expire it, by turns: what is left reads as it did,
// and without changelogs that outlive snapshots there are in the end no files but those
// of the last one.
func TestExpiriesTakeTurns(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for seed := range uint64(len(tableKinds)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newPast(t, j, 100+seed)
			p.decoupled = []int{0, 8, 4}[seed%3]
			p.some(3)
			for round := range 10 {
				p.some(3)
				before, tags := seenByTarn(t, p.warehouse), p.tags()
				p.expire(round%2 == 0, p.retention(false))
				p.unharmed(before, tags, p.warehouse, round%3 == 2)
			}
			if p.decoupled == 0 {
				p.nothingElse(seed%2 == 0)
			}
		})
	}
}

// nothingElse expires all but the last snapshot and wants no data file left but its.
func (p *past) nothingElse(java bool) {
	p.Helper()
	for _, tag := range tagNames(p.T, p.warehouse) {
		p.play(true, map[string]any{"op": "delete_tag", "tag": tag})
	}
	if err := os.RemoveAll(filepath.Join(tableDir(p.warehouse), "consumer")); err != nil {
		p.Fatal(err)
	}
	p.expire(java, map[string]string{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "snapshot.time-retained": "0 ms"})
	if ids := snapshotIDs(p.T, p.warehouse); len(ids) != 1 {
		p.Fatalf("snapshots %d are left", ids)
	}
	var want, got []string
	for _, l := range read(p.T, p.judge, interop.Query{Warehouse: p.warehouse, Table: "db.t", System: "files", Project: []string{"file_path"}}) {
		want = append(want, strings.TrimSuffix(filepath.Base(l), `"}`))
	}
	for name := range tree(p.T, p.warehouse) {
		if base := filepath.Base(name); strings.HasPrefix(base, "data-") {
			got = append(got, base)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		p.Errorf("files (-of the last snapshot +there):\n%s", d)
	}
}

// expire expires the table by Java or by Tarn.
func (p *past) expire(java bool, options map[string]string) {
	p.Helper()
	who := map[bool]string{true: "java", false: "tarn"}[java]
	p.log = append(p.log, fmt.Sprint(who, " expire ", options))
	err := error(nil)
	if java {
		_, err = p.expireTheirs(p.warehouse, options)
	} else {
		err = p.expireOurs(p.warehouse, options)
	}
	if err != nil {
		p.Fatalf("%v", err)
	}
}

// expireTheirs has Java expire. Where all changelogs are to stay, or the one that is to
// become the first is missing, it fails and leaves them.
func (p *past) expireTheirs(warehouse string, options map[string]string) (failed bool, err error) {
	err = p.judge.Expire(p.Context(), warehouse, "db.t", options)
	if err != nil && strings.Contains(err.Error(), "Fails to read changelog from path") {
		return true, nil
	}
	return false, err
}

// hasGap reports that ids do not follow each other.
func hasGap(ids []int64) bool {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return len(ids) > 0 && ids[len(ids)-1]-ids[0] >= int64(len(ids))
}

// onlyChangelogsGone wants what one warehouse has less than another to be changelogs,
// the files of theirs, and what names these, and that only if any may be gone; what it
// has more, a hint at the first changelog.
func (p *past) onlyChangelogsGone(more, less string, any bool) {
	p.Helper()
	const hint = "changelog/EARLIEST"
	there := tree(p.T, less)
	for name, is := range tree(p.T, more) {
		base := filepath.Base(name)
		switch was, ok := there[name]; {
		case ok && (was == is || name == hint):
		case any && !ok && (strings.HasPrefix(base, "changelog-") || strings.HasPrefix(base, "manifest-") || strings.HasSuffix(name, "/") ||
			strings.HasPrefix(base, "data-") && p.options["changelog-producer"] == ""):
		default:
			p.Errorf("Java has left %s as %q, Tarn as %q", name, is, was)
		}
		delete(there, name)
	}
	if delete(there, hint); len(there) > 0 {
		p.Errorf("Tarn has left besides: %v", there)
	}
}

// onlyChangelogsNeed reports that Tarn has left more files than Java, where it may: a
// table without a producer keeps its changelogs no longer than its snapshots, and those
// of before name the files.
func (p *past) onlyChangelogsNeed(theirs, ours string, options map[string]string) bool {
	p.Helper()
	o, err := tableoption.Parse(options)
	if err != nil {
		p.Fatal(err)
	}
	if p.options["changelog-producer"] != "" || o.Retention.Decoupled() || len(changelogIDs(p.T, ours)) == 0 {
		return false
	}
	there, more := tree(p.T, theirs), false
	named := p.namedByChangelogs(ours)
	for name := range tree(p.T, ours) {
		if _, is := there[name]; is || strings.HasSuffix(name, "/") {
			continue
		}
		if more = true; !named[filepath.Base(name)] {
			p.Errorf("Tarn has left %s, which no changelog names", name)
		}
	}
	return more
}

// namedByChangelogs are the lists, manifests and data files that the changelogs of a
// table name, as far as they are there.
func (p *past) namedByChangelogs(warehouse string) map[string]bool {
	p.Helper()
	ctx, fio, place := p.Context(), local.New(local.Options{}), layout.Table{Dir: filepath.ToSlash(tableDir(warehouse))}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fio, Table: place})
	if err != nil {
		p.Fatal(err)
	}
	out, store := map[string]bool{}, snapshot.NewStore(fio, place)
	for _, id := range changelogIDs(p.T, warehouse) {
		c, err := store.Changelog(ctx, id)
		if err != nil {
			p.Fatal(err)
		}
		for _, list := range []string{c.BaseManifestList, c.DeltaManifestList} {
			metas, err := manifests.ReadList(ctx, list, nil)
			if err != nil {
				continue
			}
			out[list] = true
			for _, m := range metas {
				out[m.FileName] = true
				entries, err := manifests.ReadAll(ctx, []manifest.FileMeta{m}, manifest.EntryFilter{})
				if err != nil || list == c.BaseManifestList {
					continue
				}
				for _, e := range entries {
					out[e.File.FileName] = true
				}
			}
		}
	}
	return out
}

// left is what should still be seen in a warehouse: its snapshots, and the changes from
// the first one on behind which none is missing.
func (s seen) left(t *testing.T, warehouse string) seen {
	t.Helper()
	snapshots, first := snapshotIDs(t, warehouse), firstChange(t, warehouse)
	s.snapshots, s.changes = maps.Clone(s.snapshots), maps.Clone(s.changes)
	maps.DeleteFunc(s.snapshots, func(id int64, _ interop.CheckedSnapshot) bool { return !slices.Contains(snapshots, id) })
	maps.DeleteFunc(s.changes, func(id int64, _ []string) bool { return id < first })
	return s
}

// expireOurs has Tarn expire.
func (p *past) expireOurs(warehouse string, options map[string]string) error {
	return open(p.Context(), warehouse, "db.t", func(tbl table.Table) error {
		_, err := tbl.Expire(p.Context(), table.ExpireOptions{Options: options})
		return err
	})
}
