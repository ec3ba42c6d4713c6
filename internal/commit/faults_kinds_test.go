package commit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// deed is a commit whose storage calls fail.
type deed struct {
	name     string
	keyed    bool
	tracked  bool     // the table tracks rows
	old, new []string // rows before and after
	prepare  func(w *world) commit.Request
	orphans  int // files that the deed leaves to the clean-up of orphans
}

var deeds = []deed{
	{
		name: "compact", keyed: true, old: []string{"1=a", "2=b", "3=b"}, new: []string{"1=a", "2=b", "3=b"},
		prepare: func(w *world) commit.Request {
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{w.compacted(5)}}
		},
	},
	{
		name: "append and compact", keyed: true, old: []string{"1=a", "2=b", "3=b"}, new: []string{"1=a", "2=b", "3=b", "4=c"},
		prepare: func(w *world) commit.Request {
			m := w.compacted(5)
			m.NewFiles = w.made("c", 4).NewFiles
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{m}}
		},
	},
	{
		name: "append with row ids", tracked: true, old: []string{"1=a", "2=a", "2=b", "3=b"}, new: []string{"1=a", "2=a", "2=b", "3=b", "4=c", "5=c"},
		prepare: func(w *world) commit.Request {
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{w.made("c", 4, 5)}}
		},
	},
	{
		name: "append with check", keyed: true, old: []string{"1=a", "2=b", "3=b"}, new: []string{"1=a", "2=b", "3=b", "4=c", "5=d"},
		prepare: func(w *world) commit.Request {
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{w.made("c", 4), w.made("d", 5)}, Check: true}
		},
	},
	{
		name: "overwrite", old: []string{"1=a", "2=a", "2=b", "3=b"}, new: []string{"4=c"},
		prepare: func(w *world) commit.Request {
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{w.made("c", 4)}, Overwrite: &commit.Overwrite{}}
		},
	},
	{
		name: "batch overwrite", keyed: true, old: []string{"1=a", "2=b", "3=b"}, new: []string{"4=c"},
		prepare: func(w *world) commit.Request {
			return commit.Request{User: "u", Identifier: snapshot.BatchIdentifier, Messages: []*commitmsg.Message{w.made("c", 4)}, Overwrite: &commit.Overwrite{}}
		},
	},
	{
		name: "truncate", keyed: true, old: []string{"1=a", "2=b", "3=b"},
		prepare: func(*world) commit.Request {
			return commit.Request{User: "u", Identifier: 1, Overwrite: &commit.Overwrite{}}
		},
	},
	{
		name: "rollback", old: []string{"1=a", "2=a", "2=b", "3=b"}, new: []string{"2=a", "2=b", "3=b"}, orphans: 4,
		prepare: func(w *world) commit.Request {
			f := w.files["f1"]
			m := w.like(f)
			m.DeletedFiles, m.NewFiles = []*datafile.Meta{f}, w.made("a", 2).NewFiles
			c := w.compacted(0)
			if _, err := w.committer("compactor").Commit(context.Background(), commit.Request{User: "compactor", Identifier: 1, Messages: []*commitmsg.Message{c}}); err != nil {
				w.Fatal(err)
			}
			return commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{m}}
		},
	},
}

// carry says of a file that it holds the ids of its rows, which come from others.
func carry(f *datafile.Meta, source datafile.Source) {
	f.FileSource, f.MinSequence, f.MaxSequence = &source, 1, 1
	f.WriteCols = []string{"k", "v", types.RowIDName, types.SequenceNumberName}
}

// made is a message of new rows of one value.
func (w *world) made(value string, keys ...int64) *commitmsg.Message {
	w.Helper()
	tb := open(w.T, w.fs, place, w.env())
	messages, err := tb.prepare(context.Background(), value, keys...)
	if err != nil {
		w.Fatal(err)
	}
	return messages[0]
}

// compacted is a message that puts both files of the table into one at a level.
func (w *world) compacted(level int32) *commitmsg.Message {
	w.Helper()
	before := []*datafile.Meta{w.files["f1"], w.files["f2"]}
	m := w.like(before[0])
	rows := []pair{{1, "a"}, {2, "a"}, {2, "b"}, {3, "b"}}
	if w.keyed {
		rows = []pair{{1, "a"}, {2, "b"}, {3, "b"}}
	}
	after := w.rewritten(rows)
	after.Level = level
	if w.tracked {
		carry(after, datafile.Compact)
	}
	m.CompactBefore, m.CompactAfter = before, []*datafile.Meta{after}
	return m
}

// stage is a table of two files, f1 and f2, and the deed that is about to be done
// to it.
func (d *deed) stage(t *testing.T) (*mem.FS, commit.Request) {
	t.Helper()
	w := &world{T: t, keyed: d.keyed, tracked: d.tracked}
	var options map[string]string
	if d.tracked {
		options = map[string]string{"row-tracking.enabled": "true"}
	}
	w.begin(spec(d.keyed, options))
	for i, f := range []struct {
		value string
		keys  []int64
	}{{"a", []int64{1, 2}}, {"b", []int64{2, 3}}} {
		m := w.made(f.value, f.keys...)
		name := []string{"f1", "f2"}[i]
		w.messages[name], w.files[name] = m, m.NewFiles[0]
		if _, err := w.committer("first").Commit(context.Background(), commit.Request{User: "first", Identifier: int64(i + 1), Messages: []*commitmsg.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	return w.fs, d.prepare(w)
}

// clone is the same on a storage of another kind.
func clone(fs *mem.FS, profile mem.Profile) *mem.FS {
	out := mem.New(profile)
	for _, p := range fs.Paths() {
		data, _ := fs.Get(p)
		out.Put(p, slices.Clone(data))
	}
	return out
}

// Every storage call of compactions, overwrites and rollbacks fails once, before
// its effect, after it and halfway, on storages of each kind: the rows are the
// old or the new ones, the outcome says which, and what certainly failed leaves
// nothing.
func TestEveryCallOfEachKindFailsOnce(t *testing.T) {
	for _, d := range deeds {
		staged, req := d.stage(t)
		for _, on := range storages() {
			if (racing || testing.Short()) && on.Profile != mem.ObjectStore {
				continue
			}
			t.Run(d.name+"/"+on.String(), func(t *testing.T) {
				whens := []faultio.When{faultio.After, faultio.Before}[:2-fewer]
				if on.Profile == mem.Posix { // where half a file can be seen
					whens = append(whens, faultio.Halfway)
				}
				faultio.Sweep(t, whens, func(t *testing.T, plan faultio.Plan) int {
					fs := clone(staged, on.Profile)
					before := fs.Paths()
					faulty := faultio.New(fs, nil)
					tb := on.under(open(t, faulty, place, seeded(500)))
					faulty.SetPlan(shifted{plan, faulty.Count()})
					done := faulty.Count()
					c, err := tb.newCommitter()
					if on.refused() {
						if tarnerr.KindOf(err) != tarnerr.Unsupported || !slices.Equal(fs.Paths(), before) {
							t.Errorf("%v, files %v", err, fs.Paths())
						}
						return 1
					}
					if err != nil {
						t.Fatal(err)
					}
					r, err := c.Commit(context.Background(), req)
					calls := faulty.Count() - done
					faulty.SetPlan(faultio.None())
					got := rows(t, fs, place)
					landed := slices.Equal(got, d.new) && r.Status == commit.Succeeded
					failed := slices.Equal(got, d.old) && r.Status == commit.Failed && tarnerr.KindOf(err) == tarnerr.Unavailable
					if !landed && !failed {
						t.Errorf("status %s, rows %v: %v", r.Status, got, err)
					}
					if failed && len(r.Snapshots) == 0 {
						if left := unnamed(t, fs); len(left) > len(filesOf(req))+d.orphans+1 {
							t.Errorf("%d files are left behind: %v", len(left), left)
						}
					}
					if landed {
						orphans := d.orphans + 1
						if r.Compaction != nil {
							orphans++
						}
						if left := unnamed(t, fs); len(left) > orphans {
							t.Errorf("%d files are left behind: %v", len(left), left)
						}
					}
					// The next commit goes on as if nothing had been.
					next := on.under(open(t, fs, place, seeded(501)))
					next.put(next.committer(), "next", 1, "n", 9)
					if got := rows(t, fs, place); len(got) != len(d.new)+1 && landed || len(got) != len(d.old)+1 && failed {
						t.Errorf("rows %v after another commit", got)
					}
					if d.tracked {
						checkTracked(t, fs)
					}
					return calls
				})
			})
		}
	}
}

// The process dies in any call: a restart that commits the same again ends with
// the new rows, there once.
func TestCrashInEveryCallOfEachKind(t *testing.T) {
	for _, d := range deeds {
		if d.name == "truncate" {
			continue // done twice it is done once
		}
		staged, req := d.stage(t)
		for _, on := range []storage{{mem.ObjectStore, false}, {mem.Posix, false}, {mem.NoConditional, true}}[:3-2*fewer] {
			if on.locked && d.name != "append and compact" && d.name != "rollback" {
				continue
			}
			t.Run(d.name+"/"+on.String(), func(t *testing.T) {
				for _, when := range []faultio.When{faultio.After, faultio.Before, faultio.Halfway}[:3-2*fewer] {
					if when == faultio.Halfway && on.Profile != mem.Posix || when == faultio.Before && on.locked {
						continue
					}
					for n := 1; ; n++ {
						fs := clone(staged, on.Profile)
						faulty := faultio.New(fs, nil)
						tb := on.under(open(t, faulty, place, seeded(500)))
						faulty.SetPlan(shifted{faultio.Crash(n, when), faulty.Count()})
						done := faulty.Count()
						tb.committer().Commit(context.Background(), req)
						if faulty.Count()-done < n {
							break
						}
						got := rows(t, fs, place)
						if !slices.Equal(got, d.old) && !slices.Equal(got, d.new) {
							t.Fatalf("rows %v after a crash %v call %d", got, when, n)
						}
						later := on.under(open(t, fs, place, seeded(501)))
						r, err := later.committer().Commit(context.Background(), req)
						if got := rows(t, fs, place); err != nil || !slices.Equal(got, d.new) {
							t.Fatalf("rows %v after a crash %v call %d and a restart: %v, %+v", got, when, n, err, r)
						}
						later.put(later.committer(), "next", 1, "n", 9)
						if got := rows(t, fs, place); len(got) != len(d.new)+1 {
							t.Fatalf("rows %v after another commit", got)
						}
						if d.tracked {
							checkTracked(t, fs)
						}
					}
				}
			})
		}
	}
}

// filesOf names the files that the messages of a request made.
func filesOf(req commit.Request) (names []string) {
	for _, m := range req.Messages {
		for _, f := range slices.Concat(m.NewFiles, m.ChangelogFiles, m.CompactAfter, m.CompactChangelog) {
			names = append(names, f.FileName)
		}
	}
	return names
}

// unnamed are the files of a table that no snapshot leads to.
func unnamed(t *testing.T, fs *mem.FS) (left []string) {
	t.Helper()
	tb := open(t, fs, place, seeded(97))
	named := map[string]bool{}
	for _, s := range snapshots(t, fs) {
		for _, e := range tb.live(s) {
			named[e.File.FileName] = true
		}
		lists := []string{s.BaseManifestList, s.DeltaManifestList}
		if s.ChangelogManifestList != nil {
			lists = append(lists, *s.ChangelogManifestList)
		}
		if s.IndexManifest != nil {
			named[*s.IndexManifest] = true
		}
		for _, l := range lists {
			named[l] = true
			metas, err := tb.manifests().ReadList(context.Background(), l, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range metas {
				named[m.FileName] = true
			}
		}
	}
	for _, p := range fs.Paths() {
		base := p[strings.LastIndexByte(p, '/')+1:]
		if (strings.HasPrefix(base, "manifest-") || strings.HasPrefix(base, "index-") || strings.HasPrefix(base, "data-") || pending(t, fs, p)) && !named[base] {
			left = append(left, base)
		}
	}
	return left
}
