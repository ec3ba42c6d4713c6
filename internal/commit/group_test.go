package commit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// crowd is many writers of one process, each with the table opened for itself.
func crowd(t *testing.T, fio fileio.FileIO, groups *commit.Groups, from, writers, n int) (reports []*commit.Report) {
	t.Helper()
	ctx := context.Background()
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{}) // when all have written
	for w := from; w < from+writers; w++ {
		tb := open(t, fio, place, env.Real())
		tb.groups = groups
		c := tb.committer()
		var messages [][]*commitmsg.Message
		for i := range n {
			m, err := tb.prepare(ctx, fmt.Sprintf("writer-%d", w), int64(w*1000+i+1))
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, m)
		}
		wg.Go(func() {
			<-start
			for i, m := range messages {
				r, err := c.Commit(ctx, commit.Request{User: fmt.Sprintf("writer-%d", w), Identifier: int64(i + 1), Messages: m})
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				mu.Lock()
				reports = append(reports, r)
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return reports
}

// Fifty writers of one process: every commit lands with its first try, none waits
// for more others than there are, and together they ask less of the storage than
// one after the other would.
func TestFiftyWriters(t *testing.T) {
	const writers, n = 50, 4
	for _, keyed := range []bool{false, true} {
		fs := mem.New(mem.ObjectStore)
		create(t, fs, env.Real(), spec(keyed, nil))
		latest := place.LatestHint()
		count := layer.Count(fs)
		groups := commit.NewGroups()
		reports := crowd(t, count, groups, 0, writers, n)
		groups.Close()
		for _, r := range reports {
			if len(r.Attempts) != 1 || r.Ahead >= writers {
				t.Errorf("%d tries, behind %d others", len(r.Attempts), r.Ahead)
			}
		}
		checkMany(t, fs, place, writers, n)
		check(t, fs, 0)
		if hint, err := fileio.ReadFile(context.Background(), fs, latest); err != nil || string(hint) != fmt.Sprint(writers*n) {
			t.Errorf("LATEST says %s: %v", hint, err)
		}
		// Each ends its record with one replace; LATEST is written for several at once.
		if replaced := count.Calls(layer.Replace); replaced > writers*n+writers*n/4+writers+1 {
			t.Errorf("%d replacements for %d commits", replaced, writers*n)
		}
	}
}

// Two processes with many writers each, against each other.
func TestTwoCrowds(t *testing.T) {
	const writers, n = 15, 4
	fs := mem.New(mem.ObjectStore)
	create(t, fs, env.Real(), spec(false, nil))
	var wg sync.WaitGroup
	for p := range 2 {
		wg.Go(func() {
			groups := commit.NewGroups()
			defer groups.Close()
			crowd(t, fs, groups, p*writers, writers, n)
		})
	}
	wg.Wait()
	checkMany(t, fs, place, 2*writers, n)
	check(t, fs, 0)
}

// One that cannot land fails alone, and so does one that is cancelled.
func TestMembersFailAlone(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, env.Real(), spec(true, nil))
	var groups commit.Groups
	tb := open(t, fs, place, env.Real())
	tb.groups = &groups
	first, err := tb.prepare(ctx, "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	holder := open(t, fs, place, env.Real())
	holder.groups = &groups
	file, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	holder.pub = publisherFunc(func(ctx context.Context, p commit.Publication) (commit.Outcome, error) {
		close(entered)
		<-release
		return file.Publish(ctx, p)
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := holder.committer().Commit(ctx, commit.Request{User: "holder", Identifier: 1, Messages: first}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	late, cancel := context.WithCancel(ctx)
	gone := *first[0].NewFiles[0]
	gone.FileName = "data-that-is-not-there.parquet"
	doomed := &commitmsg.Message{Partition: first[0].Partition, TotalBuckets: first[0].TotalBuckets, CompactBefore: []*datafile.Meta{&gone}}
	ends := make([]error, 3)
	for i, m := range []*commitmsg.Message{nil, doomed, nil} {
		member := open(t, fs, place, env.Real())
		member.groups = &groups
		messages := []*commitmsg.Message{m}
		if m == nil {
			if messages, err = member.prepare(ctx, "b", int64(10+i)); err != nil {
				t.Fatal(err)
			}
		}
		c, ctx := member.committer(), ctx
		if i == 2 {
			ctx = late
		}
		wg.Go(func() {
			_, ends[i] = c.Commit(ctx, commit.Request{User: fmt.Sprint("member-", i), Identifier: 1, Messages: messages})
		})
	}
	cancel()
	close(release)
	wg.Wait()
	if ends[0] != nil || tarnerr.KindOf(ends[1]) != tarnerr.Conflict || tarnerr.KindOf(ends[2]) != tarnerr.Unavailable {
		t.Errorf("%v\n%v\n%v", ends[0], ends[1], ends[2])
	}
	if got := fmt.Sprint(rows(t, fs, place)); got != "[10=b 1=a]" {
		t.Errorf("rows %s", got)
	}
	check(t, fs, 0)
}
