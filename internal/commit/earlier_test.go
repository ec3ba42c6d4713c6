package commit_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// step is what a publisher does in one publish.
type step struct {
	outcome commit.Outcome
	kind    tarnerr.Kind // of the error, when the outcome is unknown
}

// stepped publishes as its steps say, then for good. What it was given first is
// kept, to be published late.
type stepped struct {
	commit.Publisher
	steps []step
	kept  []commit.Publication
}

func (p *stepped) Publish(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
	if len(p.steps) == 0 {
		return p.Publisher.Publish(ctx, pub)
	}
	s := p.steps[0]
	p.steps = p.steps[1:]
	p.kept = append(p.kept, pub)
	return s.outcome, tarnerr.New(s.kind, "publishing snapshot", "by the test")
}

func stepping(t *testing.T, fs *mem.FS, steps ...step) *stepped {
	t.Helper()
	pub, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	return &stepped{Publisher: pub, steps: steps}
}

// The reply to a publish is lost and the snapshot comes late; the next try on the
// same id fails before any effect. That says nothing about the first one.
func TestCertainFailureAfterDoubt(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	pub := stepping(t, fs, step{kind: tarnerr.Ambiguous}, step{kind: tarnerr.Unavailable})
	tb.pub = pub
	sleeps := 0
	late := func() {
		if sleeps++; sleeps == 2 {
			if o, err := pub.Publisher.Publish(ctx, pub.kept[0]); o != commit.Committed {
				t.Fatal(o, err)
			}
		}
	}
	tb.env = everySleep{seeded(8), late}
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: snapshot.BatchIdentifier, Messages: messages})
	if err != nil || r.Status != commit.Succeeded || len(r.Attempts) != 2 || !slices.Equal(r.IDs(), []int64{2}) {
		t.Fatalf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
		t.Errorf("rows %v", got)
	}
	check(t, fs, 0)
}

// everySleep is an Env that calls on in each sleep.
type everySleep struct {
	env.Env
	on func()
}

func (e everySleep) Sleep(ctx context.Context, d time.Duration) error {
	e.on()
	return e.Env.Sleep(ctx, d)
}

// The last try is in doubt, and its id turns out to be another's: the commit has
// failed for certain, and says so in a word that does.
func TestLastDoubtIsALostRace(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	tb.opts.CommitMaxRetries = 0
	tb.pub = publishFunc(func() (commit.Outcome, error) {
		other := open(t, fs, place, seeded(9))
		other.put(other.committer(), "other", 1, "o", 9)
		return commit.Unknown, tarnerr.New(tarnerr.Ambiguous, "publishing snapshot", "by the test")
	})
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if tarnerr.KindOf(err) != tarnerr.Contention || r.Status != commit.Failed || r.Reason != "contention" {
		t.Errorf("%v, %+v", err, r)
	}
	check(t, fs, 0)
}

// publishFunc is a function as a publisher.
type publishFunc func() (commit.Outcome, error)

func (f publishFunc) Publish(context.Context, commit.Publication) (commit.Outcome, error) { return f() }

// abandoned leaves a commit of messages in doubt, whose snapshot has landed or
// comes late.
func abandoned(t *testing.T, fs *mem.FS, id int64, messages []*commitmsg.Message, landed bool) (late func()) {
	t.Helper()
	ctx := context.Background()
	tb := open(t, fs, place, seeded(21))
	pub := stepping(t, fs, step{kind: tarnerr.Internal})
	tb.pub = pub
	tb.opts.CommitMaxRetries = 0
	if _, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages}); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
		t.Fatal(err)
	}
	late = func() {
		if o, err := pub.Publisher.Publish(ctx, pub.kept[0]); o != commit.Committed {
			t.Fatal(o, err)
		}
	}
	if landed {
		late()
	}
	return late
}

// A process commits again what another one has left in doubt, and fails for
// certain. That is no proof that the commit is not there.
func TestCertainFailureAfterEarlierProcess(t *testing.T) {
	ctx := context.Background()
	intents := func(c faultio.Call) bool {
		return strings.Contains(c.Path, "/.tarn/") && c.Method == "create-if-absent"
	}
	for _, id := range []int64{7, snapshot.BatchIdentifier} {
		for _, c := range []struct {
			name   string
			landed bool
			other  bool // a commit of another user has followed
			fail   func(faultio.Call) bool
			want   commit.Status
		}{
			{"landed", true, true, intents, commit.Succeeded},
			{"may come late", false, false, intents, commit.Undecided},
			{"cannot come any more", false, true, intents, commit.Undecided},
			{"out of reach", true, true, func(faultio.Call) bool { return true }, commit.Undecided},
		} {
			fs := prepared(t, mem.ObjectStore, false)
			messages, err := open(t, fs, place, seeded(20)).prepare(ctx, "b", 2)
			if err != nil {
				t.Fatal(err)
			}
			abandoned(t, fs, id, messages, c.landed)
			if c.other {
				other := open(t, fs, place, seeded(22))
				other.put(other.committer(), "other", 1, "o", 9)
			}
			before := len(snapshots(t, fs))
			faulty := faultio.New(fs, nil)
			committer := open(t, faulty, place, seeded(23)).committer()
			faulty.SetPlan(faultio.FailWhere(c.fail, faultio.Before, tarnerr.Unavailable))
			r, err := committer.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages})
			if r.Status != c.want || (err == nil) != (c.want == commit.Succeeded) || r.Already != (c.want == commit.Succeeded) {
				t.Errorf("%s, %d: %v, %+v", c.name, id, err, r)
			}
			// Storage is back: the commit is there once, whoever made it.
			faulty.SetPlan(faultio.None())
			if c.want == commit.Succeeded {
				continue
			}
			if r, err = committer.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages}); err != nil {
				t.Errorf("%s, %d: %v, %+v", c.name, id, err, r)
			}
			want := []string{"1=a", "2=b"}
			if c.other {
				want = append(want, "9=o")
			}
			if got := rows(t, fs, place); !slices.Equal(got, want) {
				t.Errorf("%s, %d: rows %v", c.name, id, got)
			}
			if n := len(snapshots(t, fs)) - before; (n == 0) != c.landed {
				t.Errorf("%s, %d: %d snapshots more", c.name, id, n)
			}
		}
	}
}

// The snapshot of the earlier process comes while a later one commits the same
// messages: they land once.
func TestEarlierProcessLandsLate(t *testing.T) {
	ctx := context.Background()
	for _, id := range []int64{7, snapshot.BatchIdentifier} {
		fs := prepared(t, mem.ObjectStore, false)
		messages, err := open(t, fs, place, seeded(20)).prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		late := abandoned(t, fs, id, messages, false)
		tb := open(t, fs, place, seeded(23))
		tb.pub = stepping(t, fs, step{kind: tarnerr.Unavailable})
		tb.env = &interposed{Env: seeded(24), on: late}
		r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages})
		if err != nil || !r.Already {
			t.Errorf("%d: %v, %+v", id, err, r)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
			t.Errorf("%d: rows %v", id, got)
		}
		check(t, fs, 0)
	}
}

// What was found not to have landed, long after its writer was heard of, does not
// make a later failure uncertain; and if it has landed after all, that is found.
func TestFailureAfterResolution(t *testing.T) {
	ctx := context.Background()
	for _, id := range []int64{7, snapshot.BatchIdentifier} {
		for _, landed := range []bool{false, true} {
			fs := prepared(t, mem.ObjectStore, false)
			messages, err := open(t, fs, place, seeded(20)).prepare(ctx, "b", 2)
			if err != nil {
				t.Fatal(err)
			}
			late := abandoned(t, fs, id, messages, false)
			if got := open(t, fs, place, env.Seeded(22, time.Unix(1_700_010_000, 0))).resolved(ctx); got != commitlog.Failed {
				t.Fatal(got)
			}
			want := commit.Failed
			if landed {
				late()
				want = commit.Succeeded
			}
			faulty := faultio.New(fs, nil)
			c := open(t, faulty, place, seeded(23)).committer()
			faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool {
				return strings.Contains(c.Path, "/.tarn/") && c.Method == "create-if-absent"
			}, faultio.Before, tarnerr.Unavailable))
			r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages})
			if r.Status != want || (err == nil) != landed {
				t.Errorf("%d, landed=%v: %v, %+v", id, landed, err, r)
			}
			faulty.SetPlan(faultio.None())
			if r, err = c.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages}); err != nil || r.Already != landed {
				t.Errorf("%d, landed=%v: %v, %+v", id, landed, err, r)
			}
			if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
				t.Errorf("%d, landed=%v: rows %v", id, landed, got)
			}
		}
	}
}

// resolved is what becomes of the one pending commit when nothing is waited for.
func (tb *table) resolved(ctx context.Context) commitlog.Status {
	tb.t.Helper()
	c, err := commit.NewResolver(tb.config())
	if err != nil {
		tb.t.Fatal(err)
	}
	pending, err := c.Pending(ctx)
	if err != nil || len(pending) != 1 {
		tb.t.Fatal(err, pending)
	}
	r, err := c.ResolvePending(ctx, pending[0], 0)
	if err != nil {
		tb.t.Fatal(err)
	}
	return r.Status
}

// A process that fails for certain does not call another's commit of the same name
// failed, which is at work.
func TestFailureBesideTheSameCommit(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	messages, err := open(t, fs, place, seeded(20)).prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	tb := open(t, fs, place, seeded(23))
	tb.opts.CommitMaxRetries = 0
	var theirs string
	tb.pub = publishFunc(func() (commit.Outcome, error) { // the other one begins, and dies
		for _, p := range fs.Paths() {
			if strings.Contains(p, "/.tarn/commit/u-7-") {
				data, _ := fs.Get(p)
				data = regexp.MustCompile(`"deltaManifestList":\s*"[^"]*"`).ReplaceAll(data, []byte(`"deltaManifestList":"another"`))
				theirs = string(data)
				fs.Put(p, data)
			}
		}
		return commit.LostRace, nil
	})
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 7, Messages: messages})
	if tarnerr.KindOf(err) != tarnerr.Contention || r.Status != commit.Failed || !strings.Contains(theirs, "another") {
		t.Fatalf("%v, %+v, their record %q", err, r, theirs)
	}
	for _, p := range fs.Paths() {
		if data, _ := fs.Get(p); strings.Contains(p, "/.tarn/commit/u-7-") && string(data) != theirs {
			t.Errorf("their record is %s", data)
		}
	}
}
