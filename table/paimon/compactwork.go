package paimon

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// defaultCommitBytes is how many bytes are compacted between commits: little
// enough that a failure costs minutes, enough that snapshots stay few.
const defaultCommitBytes = 1 << 30

// finished is a job that waits to be published.
type finished struct {
	job     *job
	message *commitmsg.Message
}

// work carries jobs out, some side by side, and publishes them as they come.
// When it fails, what was published stays and the rest is given up.
func (c *compaction) work(ctx context.Context, jobs []*job) (lost map[place]bool, err error) {
	lanes := min(c.table.components.Workers, len(jobs))
	if lanes == 0 {
		if c.opts.Identifier != 0 {
			return c.publish(ctx, nil)
		}
		return nil, nil
	}
	// Each job has them all: where memory lets one go on at a time, it is not to leave
	// the others idle.
	workers := c.table.components.Workers
	todo := make(chan *job, len(jobs))
	for _, j := range jobs {
		todo <- j
	}
	close(todo)
	done := make(chan finished)
	working, stop := context.WithCancel(ctx)
	defer stop()
	eg, laneCtx := errgroup.WithContext(working)
	for range lanes {
		eg.Go(func() error {
			for j := range todo {
				if err := laneCtx.Err(); err != nil {
					return tarnerr.Wrap(tarnerr.Unavailable, "compacting files", err)
				}
				m, err := c.do(laneCtx, j, workers)
				if err != nil {
					return err
				}
				c.finished(j)
				select {
				case done <- finished{j, m}:
				case <-laneCtx.Done():
					// Somebody has failed: this is not going to be published.
					return errors.Join(laneCtx.Err(), c.giveUp(ctx, []finished{{j, m}}))
				}
			}
			return nil
		})
	}
	failed := make(chan error, 1)
	go func() { failed <- eg.Wait(); close(done) }()

	most := c.opts.CommitBytes
	if most == 0 {
		most = defaultCommitBytes
	}
	lost = map[place]bool{}
	var waiting []finished
	var bytes int64
	for f := range done {
		waiting, bytes = append(waiting, f), bytes+f.job.bytes
		if err == nil && bytes >= most && c.opts.Identifier == 0 {
			if err = c.publishInto(ctx, waiting, lost); err != nil {
				stop()
			}
			waiting, bytes = nil, 0
		}
	}
	if e := <-failed; err == nil {
		err = e
	}
	if err != nil {
		return nil, errors.Join(err, c.giveUp(ctx, waiting))
	}
	return lost, c.publishInto(ctx, waiting, lost)
}

func (c *compaction) publishInto(ctx context.Context, fs []finished, lost map[place]bool) error {
	more, err := c.publish(ctx, fs)
	for p := range more {
		lost[p] = true
	}
	return err
}

// publish commits finished jobs. When they do not fit together what others have
// done, each is tried alone; those that did not fit are given up and returned.
func (c *compaction) publish(ctx context.Context, fs []finished) (lost map[place]bool, err error) {
	if len(fs) == 0 && c.opts.Identifier == 0 {
		return nil, nil
	}
	messages := make([]*commitmsg.Message, len(fs))
	for i, f := range fs {
		messages[i] = f.message
	}
	r, err := c.committer.Commit(ctx, commit.Request{
		User: c.user, Identifier: c.identifier, Messages: messages,
		// A commit under a name of the caller's is there to be found, as Java's are.
		Empty: c.opts.Identifier != 0 && c.table.commitsEmpty(c.identifier), First: c.opts.Identifier == 0,
	})
	if err == nil && r.Compaction != nil {
		err = r.Compaction
	}
	if r != nil {
		c.report.Snapshots = append(c.report.Snapshots, r.IDs()...)
	}
	switch {
	case err == nil:
		c.landed(fs, r)
		if c.opts.Identifier == 0 {
			c.identifier++
		}
		return nil, nil
	case tarnerr.KindOf(err) == tarnerr.CommitStateUnknown:
		return nil, err // nobody may delete the files now
	case !errors.Is(err, tarnerr.Conflict):
		return nil, errors.Join(err, c.giveUp(ctx, fs))
	case len(fs) == 1 || c.opts.Identifier != 0:
		lost = map[place]bool{}
		for _, f := range fs {
			lost[place{string(f.job.holding.Partition), f.job.holding.Bucket}] = true
		}
		return lost, c.giveUp(ctx, fs)
	}
	lost = map[place]bool{}
	for i, f := range fs {
		if err := c.publishInto(ctx, []finished{f}, lost); err != nil {
			return nil, errors.Join(err, c.giveUp(ctx, fs[i+1:]))
		}
	}
	return lost, nil
}

// giveUp removes what jobs have written. Their commit certainly has not landed.
func (c *compaction) giveUp(ctx context.Context, fs []finished) error {
	var messages []*commitmsg.Message
	for _, f := range fs {
		messages = append(messages, f.message)
	}
	if len(messages) == 0 {
		return nil
	}
	return c.committer.AbortMessages(context.WithoutCancel(ctx), messages)
}

// landed takes published jobs into the report.
func (c *compaction) landed(fs []finished, r *commit.Report) {
	c.report.Rows += r.Rows
	for _, f := range fs {
		m := f.message
		c.report.FilesBefore += len(m.CompactBefore)
		c.report.FilesAfter += len(m.CompactAfter)
		for _, b := range m.CompactBefore {
			c.report.BytesBefore += b.FileSize
		}
		for _, a := range m.CompactAfter {
			c.report.BytesAfter += a.FileSize
			if slices.ContainsFunc(m.CompactBefore, func(b *datafile.Meta) bool { return b.FileName == a.FileName }) {
				c.report.Moved++
			}
		}
		c.changed[place{string(m.Partition), m.Bucket}] = true
	}
	c.report.Compacted = len(c.changed)
}

// begin sets the goal of a round.
func (c *compaction) begin(jobs []*job) {
	c.mu.Lock()
	c.progress.Buckets += len(jobs)
	for _, j := range jobs {
		c.progress.Bytes += j.bytes
	}
	c.mu.Unlock()
	c.wrote(0)
}

// wrote counts bytes of jobs at work. What comes out may be less than what goes in.
func (c *compaction) wrote(n int64) {
	c.mu.Lock()
	c.writing += n
	p := c.progress
	p.BytesDone = min(p.Bytes, p.BytesDone+c.writing)
	c.mu.Unlock()
	c.tell(p)
}

// finished takes a job's own size for what it wrote.
func (c *compaction) finished(j *job) {
	c.mu.Lock()
	c.progress.BucketsDone++
	c.progress.BytesDone += j.bytes
	c.writing -= j.written.Load()
	c.mu.Unlock()
	c.wrote(0)
}

func (c *compaction) tell(p table.CompactProgress) {
	if c.opts.Progress != nil {
		c.opts.Progress(p)
	}
}
