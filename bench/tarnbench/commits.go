package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/bench/rows"
	"github.com/tarnlake/tarn/table"
)

// few makes the rows of a small commit, all of one partition.
func few(from uint64, n int, partition int32) ([]arrow.RecordBatch, error) {
	return rows.Make(memory.DefaultAllocator, rows.Spec{
		From: from, N: n, Keys: 1000, Partition: func(int64) int32 { return partition },
	})
}

// commitLatency commits 10 rows at a time to tables with many files, and counts
// the storage calls of ten such commits.
func commitLatency(ctx context.Context, j *job) error {
	q := 40
	if err := j.numbers(map[string]*int{"q": &q}); err != nil {
		return err
	}
	files := j.counted()
	for _, name := range j.list("tables", "app,pk") {
		t, end, err := j.load(ctx, name)
		if err != nil {
			return err
		}
		defer end()
		parts := max(1, j.rows/100)
		var prepared, committed []time.Duration
		for k := range q + 10 {
			if k == q {
				files.Reset()
			}
			batches, err := few(uint64(5_000_000+k*10), 10, int32(k%parts))
			if err != nil {
				return err
			}
			p, c, err := smallCommit(ctx, t, batches)
			if err != nil {
				return err
			}
			prepared, committed = append(prepared, p), append(committed, c)
		}
		latencies("write-"+name, "all", prepared[:q], "")
		latencies("commit-"+name, "all", committed[:q], "")
		latencies("commit-"+name, "last20", committed[max(0, q-20):q], "")
		fmt.Printf("INFO storage calls of 10 commits %s %d: total=%d %s\n", name, j.rows, files.Total(), files)
	}
	return nil
}

func smallCommit(ctx context.Context, t table.Table, batches []arrow.RecordBatch) (prepared, committed time.Duration, err error) {
	user := "bench"
	start := time.Now()
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{User: user})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, b := range batches {
		if err := w.Write(ctx, b); err != nil {
			return 0, 0, err
		}
	}
	messages, err := w.Prepare(ctx)
	if err != nil {
		return 0, 0, err
	}
	prepared = time.Since(start)
	start = time.Now()
	_, err = t.Commit(ctx, table.Committable{User: user, Identifier: table.BatchIdentifier, Messages: messages})
	return prepared, time.Since(start), err
}

// committer is what one of the contending writers has to tell.
type committer struct {
	prepared, committed []time.Duration
	attempts, failures  int
}

// contention lets writers commit to one table at once, each to a partition of its own.
func contention(ctx context.Context, j *job) error {
	writers, commits := 8, 20
	if err := j.numbers(map[string]*int{"threads": &writers, "commits": &commits}); err != nil {
		return err
	}
	cat, err := j.open(ctx)
	if err != nil {
		return err
	}
	defer cat.Close()
	spec := tableSpec(true, true)
	spec.Options["bucket"] = "1"
	if _, err := create(ctx, cat, "cont", spec); err != nil {
		return err
	}
	all := make([]committer, writers)
	start := time.Now()
	var eg errgroup.Group
	for me := range all {
		eg.Go(func() error { return all[me].run(ctx, j, me, commits) })
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	total := time.Since(start)
	var sum committer
	for _, c := range all {
		sum.prepared = append(sum.prepared, c.prepared...)
		sum.committed = append(sum.committed, c.committed...)
		sum.attempts += c.attempts
		sum.failures += c.failures
	}
	t, end, err := j.load(ctx, "cont")
	if err != nil {
		return err
	}
	defer end()
	last, err := t.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	left, err := read(ctx, t, table.Scan{}, 1)
	if err != nil {
		return err
	}
	slices.Sort(sum.prepared)
	latencies("contention", fmt.Sprintf("%dx%d", writers, commits), sum.committed, fmt.Sprintf(
		`,"total_s":%.3f,"failures":%d,"last_attempts_sum":%d,"snapshots":%d,"rows_now":%d,"sumseq":%s,"prep_p50_ms":%.2f`,
		total.Seconds(), sum.failures, sum.attempts, last.ID, left.Rows, left.Seq(), ms(sum.prepared[len(sum.prepared)/2])))
	return nil
}

// run commits with a catalog and a stream of its own. A commit that fails is
// counted, and the stream goes on.
func (c *committer) run(ctx context.Context, j *job, me, commits int) (err error) {
	t, end, err := j.load(ctx, "cont")
	if err != nil {
		return err
	}
	defer end()
	user := fmt.Sprintf("user-%d", me)
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: user})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for k := range commits {
		batches, err := few(uint64((me*1000+k)*100), 100, int32(me))
		if err != nil {
			return err
		}
		start := time.Now()
		for _, b := range batches {
			if err := w.Write(ctx, b); err != nil {
				return err
			}
		}
		messages, err := w.Prepare(ctx)
		if err != nil {
			return err
		}
		c.prepared = append(c.prepared, time.Since(start))
		start = time.Now()
		report, err := t.Commit(ctx, table.Committable{User: user, Identifier: int64(k + 1), Messages: messages})
		c.committed = append(c.committed, time.Since(start))
		if err != nil {
			c.failures++
		}
		if report != nil {
			c.attempts += len(report.Attempts)
		}
	}
	return nil
}
