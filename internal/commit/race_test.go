package commit_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// commitMany is one writer: n commits of one new key each.
func commitMany(tb *table, writer, n int) error {
	ctx := context.Background()
	user := fmt.Sprintf("writer-%d", writer)
	w, c := tb.writer(), tb.committer()
	defer w.Close()
	for i := 1; i <= n; i++ {
		rec := tb.rec(user, int64(writer*1000+i))
		err := w.Write(ctx, rec)
		rec.Release()
		if err != nil {
			return err
		}
		messages, err := w.Prepare(ctx)
		if err != nil {
			return err
		}
		r, err := c.Commit(ctx, commit.Request{User: user, Identifier: int64(i), Messages: messages})
		if err != nil {
			return err
		}
		if len(r.Snapshots) != 1 {
			return fmt.Errorf("commit %d: %+v", i, r)
		}
	}
	return nil
}

// checkMany wants what writers × commits wrote, in as many snapshots.
func checkMany(t *testing.T, fio fileio.FileIO, at layout.Table, writers, n int) {
	t.Helper()
	var want []string
	for w := range writers {
		for i := 1; i <= n; i++ {
			want = append(want, fmt.Sprintf("%d=writer-%d", w*1000+i, w))
		}
	}
	slices.Sort(want)
	if got := rows(t, fio, at); !slices.Equal(got, want) {
		t.Errorf("%s: %d rows, want %d", at.Dir, len(got), len(want))
	}
	next := map[string]int64{}
	id, total := int64(0), int64(0)
	for s, err := range snapshot.NewStore(fio, at).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if id++; s.ID != id {
			t.Fatalf("snapshot %d follows %d", s.ID, id-1)
		}
		if next[s.CommitUser]++; s.CommitIdentifier != next[s.CommitUser] {
			t.Errorf("snapshot %d is commit %d of %s, want %d", s.ID, s.CommitIdentifier, s.CommitUser, next[s.CommitUser])
		}
		if total += s.DeltaRecordCount; s.TotalRecordCount != total {
			t.Errorf("snapshot %d counts %d records, want %d", s.ID, s.TotalRecordCount, total)
		}
	}
	if id != int64(writers*n) {
		t.Errorf("%s: %d snapshots, want %d", at.Dir, id, writers*n)
	}
}

// Appends cannot conflict: whoever loses a race tries again and lands (P17, scene 1).
func TestRacingWriters(t *testing.T) {
	const writers, n = 3, 30
	for _, kind := range []string{"append", "key", "row ids"} {
		t.Run(kind, func(t *testing.T) {
			fs := mem.New(mem.ObjectStore)
			options := map[string]string{}
			if kind == "row ids" {
				options["row-tracking.enabled"] = "true"
			}
			create(t, fs, env.Real(), spec(kind == "key", options))
			var wg sync.WaitGroup
			for w := range writers {
				tb := open(t, fs, place, env.Real()) // a process of its own: nothing is shared
				wg.Go(func() {
					if err := commitMany(tb, w, n); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			checkMany(t, fs, place, writers, n)
			check(t, fs, 0)
			if kind == "row ids" { // a lost try gave nothing out
				checkTracked(t, fs)
			}
		})
	}
}

// Within a process commits of one committer take turns: none loses a race.
func TestCommitsOfOneCommitterQueue(t *testing.T) {
	fs := mem.New(mem.ObjectStore)
	create(t, fs, env.Real(), spec(false, nil))
	tb := open(t, fs, place, env.Real())
	c := tb.committer()
	var wg sync.WaitGroup
	for w := range 8 {
		messages, err := tb.prepare(context.Background(), "a", int64(w))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			r, err := c.Commit(context.Background(), commit.Request{User: fmt.Sprint(w), Identifier: 1, Messages: messages})
			if err != nil || len(r.Attempts) != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if got := rows(t, fs, place); len(got) != 8 {
		t.Errorf("%d rows", len(got))
	}
}

const childEnv = "TARN_COMMIT_TEST_CHILD"

// Two processes commit 200 times each into one append table and one key table of
// a local directory, at once.
func TestTwoProcesses(t *testing.T) {
	const n = 200
	tables := []layout.Table{{Dir: "append"}, {Dir: "key"}}
	if child := os.Getenv(childEnv); child != "" {
		childProcess(t, tables, n)
		return
	}
	if testing.Short() {
		t.Skip("800 commits")
	}
	dir := t.TempDir()
	fs := local.New(local.Options{Durability: fileio.OS})
	for i := range tables {
		tables[i].Dir = dir + "/" + tables[i].Dir
		if _, err := schema.NewStore(fs, tables[i].Dir, env.Real()).Create(context.Background(), spec(i == 1, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for p := range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), childEnv+"="+strconv.Itoa(p), childEnv+"_DIR="+dir)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
	}
	wg.Wait()
	for _, at := range tables {
		checkMany(t, fs, at, 2, n)
	}
}

func childProcess(t *testing.T, tables []layout.Table, n int) {
	p, err := strconv.Atoi(os.Getenv(childEnv))
	if err != nil {
		t.Fatal(err)
	}
	fs := local.New(local.Options{Durability: fileio.OS})
	var wg sync.WaitGroup
	for _, at := range tables {
		at.Dir = os.Getenv(childEnv+"_DIR") + "/" + at.Dir
		tb := open(t, fs, at, env.Real())
		wg.Go(func() {
			if err := commitMany(tb, p, n); err != nil {
				t.Errorf("%s: %v: %v", at.Dir, tarnerr.KindOf(err), err)
			}
		})
	}
	wg.Wait()
}
