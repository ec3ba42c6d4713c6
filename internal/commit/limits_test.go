package commit_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// silent takes requests to create the snapshots of some path and never answers.
type silent struct {
	fileio.FileIO
	part  string
	takes func(path string, data []byte)
}

func (h silent) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	if strings.Contains(path, h.part) {
		h.takes(path, data)
		<-ctx.Done()
		return tarnerr.Wrap(tarnerr.Ambiguous, "creating", ctx.Err())
	}
	return h.FileIO.CreateIfAbsent(ctx, path, data)
}

// A publish that gets no answer is followed for as long as it may take, and no
// longer: then it is unknown what became of it, unless it can be seen.
func TestPublishHangs(t *testing.T) {
	ctx := context.Background()
	for _, landed := range []bool{false, true} {
		fs := prepared(t, mem.ObjectStore, false)
		h := silent{fs, "/snapshot/snapshot-2", func(path string, data []byte) {
			if landed {
				fs.Put(path, data)
			}
		}}
		tb := open(t, h, place, seeded(5))
		tb.timeout = 20 * time.Millisecond
		tb.opts.CommitMaxRetries = 1
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		c := tb.committer()
		r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
		if landed {
			if err != nil || r.Status != commit.Succeeded || len(r.Attempts) != 1 {
				t.Errorf("%v, %+v", err, r)
			}
			continue
		}
		if tarnerr.KindOf(err) != tarnerr.CommitStateUnknown || r.Status != commit.Undecided || len(r.Attempts) != 2 || r.Attempts[1].Outcome != "unknown" {
			t.Fatalf("%v, %+v", err, r)
		}
		// The same messages again, when the storage answers: they land once.
		if r, err = open(t, fs, place, seeded(6)).committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages}); err != nil || r.IDs()[0] != 2 {
			t.Errorf("%v, %+v", err, r)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=b"}) {
			t.Errorf("rows %v", got)
		}
	}
}

// What fails before the publish has certainly not committed. The commit says so,
// and leaves it to its caller to try again (P5, P12).
func TestFailuresBeforeThePublishAreNotRetried(t *testing.T) {
	ctx := context.Background()
	for _, at := range []string{"open /snapshot/", "open /schema/", "create /manifest/manifest-", "create-if-absent /.tarn/"} {
		method, part, _ := strings.Cut(at, " ")
		fs := prepared(t, mem.ObjectStore, false)
		faulty := faultio.New(fs, nil)
		tb := open(t, faulty, place, seeded(5))
		messages, err := tb.prepare(ctx, "b", 2)
		if err != nil {
			t.Fatal(err)
		}
		failed := false
		faulty.SetPlan(faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			if failed || call.Method != method || !strings.Contains(call.Path, part) {
				return faultio.Fault{}
			}
			failed = true
			return faultio.Fault{When: faultio.Before, Kind: tarnerr.Unavailable}
		}))
		waited := &waits{Env: tb.env}
		tb.env = waited
		c := tb.committer()
		req := commit.Request{User: "u", Identifier: 1, Messages: messages}
		r, err := c.Commit(ctx, req)
		if tarnerr.KindOf(err) != tarnerr.Unavailable || r.Status != commit.Failed || len(r.Attempts) != 0 || waited.n != 0 || !failed {
			t.Errorf("%s: %v, waited %d times, %+v", at, err, waited.n, r)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a"}) {
			t.Errorf("%s: rows %v", at, got)
		}
		check(t, fs, 0)
		if r, err = c.Commit(ctx, req); err != nil || r.IDs()[0] != 2 {
			t.Errorf("%s: again: %v, %+v", at, err, r)
		}
	}
}

// waits counts the waits of a process.
type waits struct {
	env.Env
	n int
}

func (w *waits) Sleep(ctx context.Context, d time.Duration) error {
	w.n++
	return w.Env.Sleep(ctx, d)
}

// commit.timeout ends a commit whose retries would go on, and says what it was at.
func TestCommitTimeout(t *testing.T) {
	ctx := context.Background()
	fs := prepared(t, mem.ObjectStore, false)
	tb := open(t, fs, place, seeded(5))
	lost := &loser{}
	tb.pub = lost
	tb.opts.CommitMaxRetries, tb.opts.CommitTimeout = 1000, 2*time.Second
	messages, err := tb.prepare(ctx, "b", 2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
	if tarnerr.KindOf(err) != tarnerr.Contention || r.Status != commit.Failed || !strings.Contains(err.Error(), "attempts=9") {
		t.Errorf("%v, %+v", err, r)
	}
	// 10 ms doubled seven times are 1.27 s, and up to a fifth more; the eighth wait
	// brings it above two seconds.
	if lost.tries != 9 || len(r.Attempts) != 9 || r.Elapsed < 2*time.Second || r.Elapsed > 4*time.Second {
		t.Errorf("%d tries in %v", lost.tries, r.Elapsed)
	}
	check(t, fs, 0)
}
