package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Traps that other implementations fell into, as far as the texts of testdata/scenes do
// not play them; docs/cases.md lists all.

// apache/iceberg-go #1602: the first call fails, its retries used up. Called again it commits, once.
func TestCommitAgainAfterFailure(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	req := commit.Request{User: "u", Identifier: 1, Messages: messages}
	tb.pub = &loser{}
	c := tb.committer()
	if _, err := c.Commit(ctx, req); !errors.Is(err, tarnerr.Contention) {
		t.Fatal(err)
	}
	tb.pub = nil
	for n, want := range []bool{false, true} {
		r, err := tb.committer().Commit(ctx, req)
		if err != nil || r.Already != want {
			t.Errorf("call %d: %v, %+v", n+2, err, r)
		}
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
		t.Errorf("rows %v", got)
	}
}

// apache/iceberg-go #1637: a write to a branch builds on the branch's head, not on that of main.
func TestCommitToABranch(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	main := open(t, fs, place, seeded(2))
	main.put(main.committer(), "u", 1, "a", 1)
	// A branch made of snapshot 1.
	at := layout.Table{Dir: place.Dir, Branch: "b"}
	for _, f := range []struct{ from, to string }{
		{place.SnapshotFile(1), at.SnapshotFile(1)}, {place.SchemaFile(0), at.SchemaFile(0)},
	} {
		data, ok := fs.Get(f.from)
		if !ok {
			t.Fatal(f.from)
		}
		fs.Put(f.to, slices.Clone(data))
	}
	main.put(main.committer(), "u", 2, "main", 2)
	branch := openBranch(t, fs, at)
	r := branch.put(branch.committer(), "u", 2, "branch", 3)
	if r.Base != 1 || r.IDs()[0] != 2 {
		t.Errorf("%+v", r)
	}
	branch.put(branch.committer(), "u", 3, "branch", 4)
	if s, err := snapshot.NewStore(fs, at).Latest(context.Background()); err != nil || s.ID != 3 || s.TotalRecordCount != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := snapshot.NewStore(fs, place).Latest(context.Background()); err != nil || s.ID != 2 || s.TotalRecordCount != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// openBranch opens the table as one that has only a branch in view.
func openBranch(t *testing.T, fs *mem.FS, at layout.Table) *table {
	t.Helper()
	inner := open(t, fs, place, seeded(3))
	tb := *inner
	tb.place = at
	tb.snapshots = snapshot.NewStore(fs, at)
	return &tb
}

// An overwrite whose removals change from try to try is found again by any of its
// changes: the reply of the first publish is lost, another commit lands, the
// second try lands and its reply is lost, too.
func TestLostRepliesOfAnOverwrite(t *testing.T) {
	ctx := context.Background()
	for _, identifier := range []int64{7, snapshot.BatchIdentifier} {
		for _, landed := range []int{0, 1} {
			fs := prepared(t, mem.ObjectStore, false)
			faulty := faultio.New(fs, nil)
			tb := open(t, faulty, place, seeded(5))
			messages, err := tb.prepare(ctx, "b", 2)
			if err != nil {
				t.Fatal(err)
			}
			tries, blind := 0, false
			faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
				switch {
				case !isSnapshot(call.Path):
				case blind && call.Method == "open": // what lies there cannot be seen at once
					blind = false
					return faultio.Fault{When: faultio.Before}
				case call.Method == "create-if-absent" && tries < 2:
					when := faultio.Before
					if tries == landed {
						when = faultio.After
					}
					tries++
					blind = true
					return faultio.Fault{When: when, Kind: tarnerr.Ambiguous}
				}
				return faultio.Fault{}
			}))
			tb.env = &interposed{Env: seeded(8), on: func() {
				other := open(t, fs, place, seeded(9))
				other.put(other.committer(), "other", 1, "o", 9)
			}}
			r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: identifier, Messages: messages, Overwrite: &commit.Overwrite{}})
			if err != nil || len(r.Snapshots) != 1 || r.Status != commit.Succeeded || r.Attempts[0].Outcome != "unknown" || r.IDs()[0] != int64(2+landed) {
				t.Fatalf("%v, %+v", err, r)
			}
			want := []string{"2=b"}
			if landed == 0 {
				want = []string{"2=b", "9=o"} // the other came after it
			}
			if got := rows(t, fs, place); !slices.Equal(got, want) {
				t.Errorf("landed %d: rows %v, want %v; %+v", landed, got, want, r)
			}
			check(t, fs, 0)
		}
	}
}

func isSnapshot(path string) bool {
	name, in := strings.CutPrefix(path, place.SnapshotDir()+"/")
	id, ok := layout.ParseVersion(layout.SnapshotPrefix, name)
	return in && ok && id > 0
}

// An ANALYZE is a snapshot without changes that names a statistics file; those
// after it take the file over.
func TestAnalyze(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	c := tb.committer()
	stats := &snapshot.Statistics{SnapshotID: 1, MergedRows: ptr[int64](1), Columns: map[string]snapshot.ColumnStatistics{"k": {Nulls: ptr[int64](0)}}}
	r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: snapshot.BatchIdentifier, Statistics: stats})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Snapshots[0]
	if s.CommitKind != snapshot.Analyze || s.DeltaRecordCount != 0 || s.TotalRecordCount != 1 || s.Statistics == nil {
		t.Errorf("%+v", s)
	}
	if data, ok := fs.Get(place.StatisticsFile(*s.Statistics)); !ok || string(data) != string(stats.Marshal()) {
		t.Errorf("%s", data)
	}
	next := tb.put(c, "u", 1, "b", 2).Snapshots[0]
	if next.Statistics == nil || *next.Statistics != *s.Statistics {
		t.Errorf("%+v", next)
	}
	check(t, fs, 0)

	// A commit that fails leaves no file.
	before := fs.Paths()
	tb.pub = &loser{}
	if _, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 2, Statistics: stats}); !errors.Is(err, tarnerr.Contention) {
		t.Error(err)
	}
	if _, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 2, Statistics: stats, Overwrite: &commit.Overwrite{}}); !errors.Is(err, tarnerr.Invalid) {
		t.Error(err)
	}
	if got := slices.DeleteFunc(fs.Paths(), func(p string) bool { return strings.Contains(p, "/.tarn/") }); !slices.Equal(got, slices.DeleteFunc(before, func(p string) bool { return strings.Contains(p, "/.tarn/") })) {
		t.Errorf("files %v, were %v", got, before)
	}
}
