package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// onIntent calls on before the first intent is recorded.
type onIntent struct {
	fileio.FileIO
	on func()
}

func (o *onIntent) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	if on := o.on; on != nil && strings.Contains(path, "/.tarn/") {
		o.on = nil
		on()
	}
	return o.FileIO.CreateIfAbsent(ctx, path, data)
}

// leaping is an Env whose clock can leap.
type leaping struct {
	env.Env
	by time.Duration
}

func (l *leaping) Now() time.Time { return l.Env.Now().Add(l.by) }

// A process stands still, as on a laptop that sleeps, between reading the table and
// publishing. Others commit meanwhile, and their first snapshots expire, so that
// the id that it is about to take is free again: a snapshot there would be told as
// committed, and no reader would ever see it.
func TestNextIDHasExpired(t *testing.T) {
	ctx := context.Background()
	for _, id := range []int64{1, snapshot.BatchIdentifier} {
		fs := prepared(t, mem.ObjectStore, false)
		hooked := &onIntent{FileIO: fs}
		clock := &leaping{Env: seeded(5)}
		tb := open(t, hooked, place, clock)
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		hooked.on = func() {
			other := open(t, fs, place, seeded(9))
			c := other.committer()
			for i := range int64(3) {
				other.put(c, "other", i+1, "o", 7+i)
			}
			fs.Remove(place.SnapshotFile(1), place.SnapshotFile(2), place.SnapshotFile(3))
			clock.by = time.Hour
		}
		r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: messages})
		if err != nil || !slices.Equal(r.IDs(), []int64{5}) || r.Base != 4 || len(r.Attempts) != 2 || !strings.Contains(r.Attempts[0].Cause, "is gone") {
			t.Errorf("%v, %+v", err, r)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b", "7=o", "8=o", "9=o"}) {
			t.Errorf("rows %v", got)
		}
		if got := fs.Paths(); slices.Contains(got, place.SnapshotFile(2)) {
			t.Errorf("files %v", got)
		}
	}
}

// The same before the first snapshot of all.
func TestFirstIDHasExpired(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, seeded(1), spec(false, nil))
	hooked := &onIntent{FileIO: fs}
	clock := &leaping{Env: seeded(5)}
	tb := open(t, hooked, place, clock)
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	hooked.on = func() {
		other := open(t, fs, place, seeded(9))
		c := other.committer()
		other.put(c, "other", 1, "o", 7)
		other.put(c, "other", 2, "o", 8)
		fs.Remove(place.SnapshotFile(1))
		clock.by = time.Hour
	}
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if err != nil || !slices.Equal(r.IDs(), []int64{3}) {
		t.Errorf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"2=b", "7=o", "8=o"}) {
		t.Errorf("rows %v", got)
	}
}

// Strict mode goes by what was looked at. That a commit had landed before says
// nothing of the commits of others below it.
func TestStrictModeAfterAnEarlierLanding(t *testing.T) {
	ctx := context.Background()
	w := &world{T: t}
	w.begin(spec(false, nil))
	for i, name := range []string{"f1", "f2"} {
		m := w.made(name, int64(i))
		w.messages[name], w.files[name] = m, m.NewFiles[0]
		if _, err := w.committer("first").Commit(ctx, commit.Request{User: "first", Identifier: int64(i + 1), Messages: []*commitmsg.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.committer("c").Commit(ctx, commit.Request{User: "compactor", Identifier: 1, Messages: []*commitmsg.Message{w.compacted(0)}}); err != nil {
		t.Fatal(err)
	}
	mine := []*commitmsg.Message{w.made("u", 8)}
	if _, err := w.committer("u").Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: mine}); err != nil {
		t.Fatal(err)
	}
	tb := open(t, w.fs, place, seeded(7))
	safe := int64(2)
	tb.opts.LastSafeSnapshot = &safe
	c := tb.committer()
	if r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: mine}); err != nil || !r.Already {
		t.Fatalf("%v, %+v", err, r)
	}
	if r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 2, Messages: []*commitmsg.Message{w.made("u", 9)}}); !errors.Is(err, tarnerr.Conflict) {
		t.Errorf("%v, %+v", err, r)
	}
}

// The retries run out while the id is held by what an earlier process tried, which
// came late: the commit has landed, and was not made by this one.
func TestLastLookFindsAnEarlierProcess(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	messages, err := open(t, fs, place, seeded(5)).prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	late := abandoned(t, fs, 1, messages, false)
	tb := open(t, fs, place, seeded(6))
	inner, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	tb.opts.CommitMaxRetries = 0
	tb.pub = &interruptedPublisher{inner, late}
	calls := &callback{name: "told"}
	tb.calls = []commit.Callback{calls}
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if err != nil || !r.Already || len(r.Snapshots) != 0 || r.FilesAdded != 0 {
		t.Errorf("%v (%v), %+v", err, tarnerr.KindOf(err), r)
	}
	if len(calls.seen) != 0 || len(r.Callbacks) != 0 {
		t.Errorf("callbacks for %v, report %+v", calls.seen, r.Callbacks)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
		t.Errorf("rows %v", got)
	}
	check(t, fs, 0)
}

// hanging never answers requests that concern some path, until they are given up.
type hanging struct {
	fileio.FileIO
	part string
}

func (h hanging) Replace(ctx context.Context, path string, data []byte) error {
	if strings.Contains(path, h.part) {
		<-ctx.Done()
		return tarnerr.Wrap(tarnerr.Ambiguous, "replacing", ctx.Err())
	}
	return h.FileIO.Replace(ctx, path, data)
}

// What is tidied up after a commit has landed keeps neither it nor those that wait
// for their turn for ever, when the storage does not answer.
func TestTidyingUpHangs(t *testing.T) {
	for _, part := range []string{"/snapshot/LATEST", "/.tarn/commit/"} {
		fs := prepared(t, mem.ObjectStore, false)
		tb := open(t, hanging{fs, part}, place, seeded(5))
		tb.timeout = 50 * time.Millisecond
		c := tb.committer()
		tb.put(c, "u", 1, "b", 2)
		tb.put(c, "u", 2, "c", 3)
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b", "3=c"}) {
			t.Errorf("%s: rows %v", part, got)
		}
	}
}

// What an earlier process may still land is not aborted.
func TestFilesOfAnEarlierProcessAreNotAborted(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	messages, err := open(t, fs, place, seeded(5)).prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	late := abandoned(t, fs, 1, messages, false)
	paths := fs.Paths()
	err = open(t, fs, place, seeded(6)).committer().AbortMessages(ctx, messages)
	if tarnerr.KindOf(err) != tarnerr.CommitStateUnknown || !strings.Contains(err.Error(), messages[0].NewFiles[0].FileName) {
		t.Errorf("aborting what may land: %v", err)
	}
	if d := cmp.Diff(paths, fs.Paths()); d != "" {
		t.Errorf("it removed something: %s", d)
	}
	late()
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
		t.Errorf("rows %v", got)
	}
	check(t, fs, 1)
}
