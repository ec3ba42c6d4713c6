package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

func snapshots(t testing.TB, fio fileio.FileIO) (out []*snapshot.Snapshot) {
	t.Helper()
	for s, err := range snapshot.NewStore(fio, place).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// publishing matches the calls of the atomic step and those that look at what lies there.
func publishing(c faultio.Call) bool { return strings.Contains(c.Path, "/snapshot/snapshot-2") }

// loseOnce loses the first publish on its way, so that nobody can tell.
func loseOnce() faultio.Plan {
	lost := false
	return faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if lost || !publishing(call) || call.Method != "create-if-absent" {
			return faultio.Fault{}
		}
		lost = true
		return faultio.Fault{When: faultio.Before, Kind: tarnerr.Ambiguous}
	})
}

// The answer to a publish that landed is lost, and so is every look at it: the
// commit is in doubt, nothing is deleted, and committing again finds it.
func TestDoubtIsKeptAndResolved(t *testing.T) {
	ctx := context.Background()
	for _, landed := range []bool{true, false} {
		fs := prepared(t, mem.ObjectStore, false)
		faulty := faultio.New(fs, nil)
		tb := open(t, faulty, place, seeded(5))
		c := tb.committer()
		messages, err := tb.prepare(ctx, "b", 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		when, kind := faultio.After, tarnerr.Ambiguous
		if !landed {
			when = faultio.Before
		}
		down := false
		faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			switch {
			case down:
				return faultio.Fault{When: faultio.Before} // all is out of reach from here on
			case publishing(call) && call.Method == "create-if-absent":
				down = true
				return faultio.Fault{When: when, Kind: kind}
			}
			return faultio.Fault{}
		}))
		r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 7, Messages: messages})
		if tarnerr.KindOf(err) != tarnerr.CommitStateUnknown || r.Status != commit.Undecided || r.Reason != "commit state unknown" {
			t.Fatalf("landed=%v: %v, %+v", landed, err, r)
		}
		faulty.SetPlan(faultio.None())
		paths := fs.Paths()
		if err := c.AbortMessages(ctx, messages); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
			t.Errorf("aborting messages in doubt: %v", err)
		}
		if !slices.Equal(paths, fs.Paths()) || !slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, "/.tarn/commit/u-7-append.json") }) {
			t.Errorf("files %v", fs.Paths())
		}

		// Another process comes back for it.
		later := open(t, fs, place, seeded(6)).committer()
		found, err := later.ResolveNamed(ctx, "u", 7, commit.DefaultGrace)
		want := commitlog.Unknown // its writer may be at work still
		if landed {
			want = commitlog.Succeeded
		}
		if err != nil || len(found) != 1 || found[0].Status != want {
			t.Errorf("landed=%v: resolved to %+v, %v", landed, found, err)
		}
		r, err = later.Commit(ctx, commit.Request{User: "u", Identifier: 7, Messages: messages})
		if err != nil || r.Already != landed {
			t.Errorf("landed=%v: %v, %+v", landed, err, r)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b", "3=b"}) {
			t.Errorf("landed=%v: rows %v", landed, got)
		}
		if slices.ContainsFunc(fs.Paths(), func(p string) bool { return pending(t, fs, p) }) {
			t.Errorf("an intent is left: %v", fs.Paths())
		}
	}
}

// A try in doubt whose id then holds someone else's snapshot was lost after all,
// and the commit lands on the next id.
func TestDoubtThenLostRace(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	faulty := faultio.New(fs, nil)
	tb := open(t, faulty, place, seeded(5))
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	faulty.SetPlan(loseOnce())
	e := &interposed{Env: seeded(8), on: func() {
		other := open(t, fs, place, seeded(9))
		other.put(other.committer(), "other", 1, "o", 9)
	}}
	tb.env = e
	c, err := tb.newCommitter()
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if err != nil || len(r.Attempts) != 2 || r.Attempts[0].Outcome != "unknown" || r.Attempts[1].Outcome != "committed" || r.IDs()[0] != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b", "9=o"}) {
		t.Errorf("rows %v", got)
	}
	check(t, fs, 0)
}

// The snapshots between have expired: whether the try landed cannot be told.
func TestDoubtOverExpiredSnapshots(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	faulty := faultio.New(fs, nil)
	tb := open(t, faulty, place, seeded(5))
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	faulty.SetPlan(loseOnce())
	tb.env = &interposed{Env: seeded(8), on: func() {
		other := open(t, fs, place, seeded(9))
		c := other.committer()
		other.put(c, "other", 1, "o", 8)
		other.put(c, "other", 2, "o", 9)
		fs.Remove(place.SnapshotFile(1), place.SnapshotFile(2))
	}}
	c := tb.committer()
	r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if tarnerr.KindOf(err) != tarnerr.CommitStateUnknown || r.Status != commit.Undecided {
		t.Fatalf("%v, %+v", err, r)
	}
	if !strings.Contains(err.Error(), "u-1-append.json") && !strings.Contains(err.Error(), "identifier=1") {
		t.Errorf("the error does not say which commit: %v", err)
	}
	// Its files stay, those of the data and those of its tries, and neither this
	// process nor another may abort it.
	faulty.SetPlan(faultio.None())
	paths := fs.Paths()
	lists := 0
	for _, p := range paths {
		if strings.Contains(p, "/manifest/manifest-list-") {
			lists++
		}
	}
	if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, messages[0].NewFiles[0].FileName) }) || lists < 2*4 { // three snapshots and the try
		t.Errorf("files %v", paths)
	}
	for _, who := range []*commit.Committer{c, open(t, fs, place, seeded(10)).committer()} {
		if err := who.AbortMessages(ctx, messages); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
			t.Errorf("aborting messages in doubt: %v", err)
		}
		if !slices.Equal(paths, fs.Paths()) {
			t.Errorf("something was deleted: %v", fs.Paths())
		}
	}
}

// A commit in doubt leaves word of the newest snapshot that it has seen and of those
// that it has read: what has become of it can be told when they have expired, and
// still by nothing else than what lies behind them.
func TestDoubtIsResolvedFromWhereItWasRead(t *testing.T) {
	ctx := context.Background()
	for _, landed := range []bool{false, true} {
		fs := prepared(t, mem.ObjectStore, false)
		faulty := faultio.New(fs, nil)
		tb := open(t, faulty, place, seeded(5))
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			if call.Method == "create-if-absent" && strings.Contains(call.Path, "/snapshot/") {
				return faultio.Fault{When: faultio.Before, Kind: tarnerr.Ambiguous}
			}
			return faultio.Fault{}
		}))
		other := open(t, fs, place, seeded(9))
		oc := other.committer()
		tb.env = &interposed{Env: seeded(8), on: func() {
			other.put(oc, "other", 1, "o", 8)
			other.put(oc, "other", 2, "o", 9)
		}}
		var late *commit.Publication // the last request, which may arrive when all is over
		inner, err := commit.NewFilePublisher(faulty, place)
		if err != nil {
			t.Fatal(err)
		}
		tb.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
			late = &pub
			return inner.Publish(ctx, pub)
		})
		if _, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages}); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
			t.Fatal(err)
		}
		r := records(t, fs)["u-1-APPEND"]
		if r.Base != 1 || r.End == nil || r.End.Latest != 3 || r.End.ReadTo != 3 || r.End.Base != 3 {
			t.Errorf("%+v %+v", r, r.End)
		}
		if landed {
			fs.Put(place.SnapshotFile(late.Next.ID), late.Next.Marshal())
		}
		other.put(oc, "other", 3, "o", 10)
		fs.Remove(place.SnapshotFile(1), place.SnapshotFile(2), place.SnapshotFile(3))
		later := env.Seeded(10, time.Unix(1_800_000_000, 0).UTC())
		found, err := open(t, fs, place, later).committer().ResolveNamed(ctx, "u", 1, 0)
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		if f := found[0]; landed && (f.Status != commitlog.Succeeded || f.Snapshot != 4) || !landed && (f.Status != commitlog.Failed || f.To != 4) {
			t.Errorf("landed=%v: %+v", landed, f)
		}
	}
}

// interposed is an Env in whose first sleep others work.
type interposed struct {
	env.Env
	on func()
}

func (i *interposed) Sleep(ctx context.Context, d time.Duration) error {
	if on := i.on; on != nil {
		i.on = nil
		on()
	}
	return i.Env.Sleep(ctx, d)
}

// loser is a publisher that loses every race, and counts.
type loser struct{ tries int }

func (l *loser) Publish(context.Context, commit.Publication) (commit.Outcome, error) {
	l.tries++
	return commit.LostRace, nil
}

// Retries that run out are contention, not a conflict, and leave nothing.
func TestContention(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	lost := &loser{}
	tb.pub = lost
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	before := tb.env.Now()
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if !errors.Is(err, tarnerr.Contention) || errors.Is(err, tarnerr.Conflict) || r.Status != commit.Failed || r.Reason != "contention" {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, part := range []string{"attempts=11", "elapsed=", "snapshot 2 was published by another commit", "commit.max-retries"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if lost.tries != 11 || len(r.Attempts) != 11 || r.Attempts[10].Outcome != "lost race" {
		t.Errorf("%d tries, report %+v", lost.tries, r)
	}
	// 10 ms doubled ten times, the last capped at 10 s, and up to a fifth more.
	if waited := tb.env.Now().Sub(before); waited < 10*1023*time.Millisecond || waited > 13*time.Second {
		t.Errorf("waited %v", waited)
	}
	check(t, fs, 0)
	if err := tb.committer().AbortMessages(ctx, messages); err != nil {
		t.Error(err)
	}
}

// A commit that is cancelled before its publish leaves nothing; one that is
// cancelled during it is followed to its end.
func TestCancel(t *testing.T) {
	for _, at := range []string{"create-if-absent /intent", "create-if-absent /snapshot"} {
		method, part, _ := strings.Cut(at, " /")
		fs := prepared(t, mem.ObjectStore, false)
		faulty := faultio.New(fs, nil)
		tb := open(t, faulty, place, seeded(5))
		c := tb.committer()
		ctx, cancel := context.WithCancel(context.Background())
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		part = strings.Replace(part, "intent", ".tarn", 1)
		faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			if call.Method == method && strings.Contains(call.Path, part) {
				cancel()
			}
			return faultio.Fault{}
		}))
		r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
		landed := strings.Contains(at, "snapshot")
		if (err == nil) != landed || (r.Status == commit.Succeeded) != landed {
			t.Errorf("%s: %v, %+v", at, err, r)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not tell of the cancellation", err)
		}
		check(t, fs, 0)
		cancel()
	}
}
