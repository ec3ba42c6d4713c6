package commit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commit/publishertest"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/tarnerr"
)

// storage is one kind of storage, with or without a lock that all writers take.
type storage struct {
	mem.Profile
	locked bool
}

// storages are all kinds. Without conditional create nothing is committed, but
// under a lock.
func storages() (out []storage) {
	for _, p := range mem.Profiles {
		out = append(out, storage{Profile: p})
	}
	return append(out, storage{mem.NoConditional, true})
}

func (s storage) String() string {
	if s.locked {
		return s.Profile.String() + ", locked"
	}
	return s.Profile.String()
}

func (s storage) refused() bool { return s.Profile == mem.NoConditional && !s.locked }

// under gives the process the lock, where there is one.
func (s storage) under(tb *table) *table {
	if s.locked {
		tb.pub = commit.NewLockedPublisher(tb.fio, tb.place, &publishertest.Lock{}, "db", "t")
	}
	return tb
}

// Every storage call of a write and a commit fails once, before its effect,
// after it, and halfway, on storages of each kind: the rows are the old or the
// new ones, the outcome says which, and what certainly failed leaves nothing.
func TestEveryCallFailsOnce(t *testing.T) {
	old, grown := []string{"1=a"}, []string{"1=a", "2=b", "3=b"}
	for i, keyed := range []bool{false, true, false} {
		for _, on := range storages() {
			workers := i // the third time files are closed side by side
			if workers == 2 && on.Profile != mem.Posix || racing && workers < 2 {
				continue
			}
			t.Run(fmt.Sprint(name(keyed, on), "/", workers), func(t *testing.T) {
				faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After, faultio.Halfway}, func(t *testing.T, plan faultio.Plan) int {
					fs := prepared(t, on.Profile, keyed)
					before := fs.Paths()
					faulty := faultio.New(fs, nil)
					tb := on.under(open(t, faulty, place, seeded(5)))
					tb.workers = workers
					faulty.SetPlan(shifted{plan, faulty.Count()})
					done := faulty.Count()
					status, messages, err := writeAndCommit(tb)
					calls := faulty.Count() - done
					faulty.SetPlan(faultio.None())

					got := rows(t, fs, place)
					switch {
					case on.refused():
						if tarnerr.KindOf(err) != tarnerr.Unsupported || !slices.Equal(got, old) || !slices.Equal(fs.Paths(), before) {
							t.Errorf("%v, rows %v, files %v", err, got, fs.Paths())
						}
						return max(1, calls)
					case status == commit.Succeeded && slices.Equal(got, grown):
						checkLeftovers(t, fs)
					case status == commit.Failed && slices.Equal(got, old):
						if kind := tarnerr.KindOf(err); kind != tarnerr.Unavailable {
							t.Errorf("%v: %v", kind, err)
						}
						if messages != nil {
							if err := tb.committer().AbortMessages(context.Background(), messages); err != nil {
								t.Error(err)
							}
						}
						checkLeftovers(t, fs)
					default:
						t.Errorf("status %s, rows %v: %v", status, got, err)
					}
					return calls
				})
			})
		}
	}
}

func name(keyed bool, on fmt.Stringer) string {
	if keyed {
		return "key/" + on.String()
	}
	return "append/" + on.String()
}

// shifted is a plan whose calls count from after the first ones.
type shifted struct {
	faultio.Plan
	by int
}

func (s shifted) Decide(c faultio.Call) faultio.Fault {
	c.N -= s.by
	return s.Plan.Decide(c)
}

// prepared is a storage with a table that holds one row.
func prepared(t *testing.T, profile mem.Profile, keyed bool) *mem.FS {
	t.Helper()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(keyed, nil))
	tb := open(t, fs, place, seeded(2))
	tb.put(tb.committer(), "first", 1, "a", 1)
	if profile == mem.Posix {
		return fs
	}
	out := mem.New(profile)
	for _, p := range fs.Paths() {
		data, _ := fs.Get(p)
		out.Put(p, slices.Clone(data))
	}
	return out
}

// writeAndCommit is what a program does: the committer first, so that a storage
// that cannot commit is refused before anything is written.
func writeAndCommit(tb *table) (commit.Status, []*commitmsg.Message, error) {
	c, err := tb.newCommitter()
	if err != nil {
		return commit.Failed, nil, err
	}
	messages, err := tb.prepare(context.Background(), "b", 2, 3)
	if err != nil {
		return commit.Failed, nil, err
	}
	r, err := c.Commit(context.Background(), commit.Request{User: "u", Identifier: 1, Messages: messages})
	return r.Status, messages, err
}

// checkLeftovers allows a file or two whose closing or removal was the failure.
func checkLeftovers(t *testing.T, fs *mem.FS) {
	t.Helper()
	latest := open(t, fs, place, seeded(97))
	named := map[string]bool{}
	for _, s := range snapshots(t, fs) {
		named[s.BaseManifestList], named[s.DeltaManifestList] = true, true
		for _, e := range latest.live(s) {
			named[e.File.FileName] = true
		}
		for _, l := range []string{s.BaseManifestList, s.DeltaManifestList} {
			metas, err := latest.manifests().ReadList(context.Background(), l, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range metas {
				named[m.FileName] = true
			}
		}
	}
	left := 0
	for _, p := range fs.Paths() {
		base := p[strings.LastIndexByte(p, '/')+1:]
		if (strings.HasPrefix(base, "manifest-") || strings.HasPrefix(base, "data-") || pending(t, fs, p)) && !named[base] {
			left++
		}
	}
	if left > 1 {
		t.Errorf("%d files are left behind: %v", left, fs.Paths())
	}
}

// The process dies in any call: what it leaves is the old or the new state, and
// a restart with the same identifier ends with the rows there once.
func TestCrashInEveryCall(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		for _, profile := range []mem.Profile{mem.Posix, mem.ObjectStore} {
			t.Run(name(keyed, profile), func(t *testing.T) {
				for _, when := range []faultio.When{faultio.Before, faultio.After, faultio.Halfway} {
					for n := 1; ; n++ {
						fs := prepared(t, profile, keyed)
						faulty := faultio.New(fs, nil)
						tb := open(t, faulty, place, seeded(5))
						faulty.SetPlan(shifted{faultio.Crash(n, when), faulty.Count()})
						done := faulty.Count()
						writeAndCommit(tb)
						if faulty.Count()-done < n {
							break // the work made no call n
						}
						restart(t, fs)
						if t.Failed() {
							t.Fatalf("after a crash %v call %d", when, n)
						}
					}
				}
			})
		}
	}
}

// restart is a second process: it asks what is committed and commits the rest.
func restart(t *testing.T, fs *mem.FS) {
	t.Helper()
	ctx := context.Background()
	tb := open(t, fs, place, seeded(6))
	c := tb.committer()
	left, err := c.FilterCommitted(ctx, "u", []int64{1})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		tb.put(c, "u", 1, "b", 2, 3)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b", "3=b"}) {
		t.Errorf("rows %v", got)
	}
	// The next commit goes on as if nothing had been.
	tb.put(c, "u", 2, "c", 4)
}

func TestDiskFull(t *testing.T) {
	for n := 1; n < 40; n++ {
		fs := prepared(t, mem.Posix, true)
		before := fs.Paths()
		faulty := faultio.New(fs, nil)
		tb := open(t, faulty, place, seeded(5))
		faulty.SetPlan(shifted{faultio.DiskFull(n), faulty.Count()})
		status, messages, err := writeAndCommit(tb)
		faulty.SetPlan(faultio.None())
		if status == commit.Succeeded {
			continue
		}
		if tarnerr.KindOf(err) != tarnerr.Unavailable || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("from call %d: %v", n, err)
		}
		if err := tb.committer().AbortMessages(context.Background(), messages); err != nil {
			t.Error(err)
		}
		if got := fs.Paths(); !slices.Equal(got, before) {
			t.Errorf("from call %d: %v is left", n, got)
		}
	}
}
