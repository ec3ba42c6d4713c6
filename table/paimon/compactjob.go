package paimon

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/tarnerr"
)

// job compacts files of one bucket.
type job struct {
	holding compact.Holding
	bucket  compact.Bucket
	// Of key tables: the unit to begin with.
	levels *lsm.Levels
	memory lsm.Memory
	unit   lsm.Unit
	// Of append tables: the files to join first, and those behind them, for a job
	// that goes on.
	files, rest []*datafile.Meta
	bytes       int64 // of what it begins with
	written     atomic.Int64
}

// rewriter is one for a job that has so many workers.
func (c *compaction) rewriter(workers int, progress func(int64)) (*compact.Rewriter, error) {
	t := c.table
	return compact.New(compact.Config{
		Table: t.name.String(), FileIO: t.components.FileIO, Place: t.place, Schema: t.schema, Options: t.options,
		Format: t.components.Formats.ByName, SchemaByID: t.schemas.Get, Env: t.components.Env, Budget: t.components.Budget, Spill: t.components.Spill, Mem: t.components.Alloc,
		Lookups: t.components.Lookups,
		Workers: workers, Pace: c.pace, Listener: t.components.Events, Progress: progress,
	})
}

// jobs says what is to be done in the buckets.
func (c *compaction) jobs(ctx context.Context, holdings []compact.Holding) ([]*job, error) {
	r, err := c.rewriter(1, nil)
	if err != nil {
		return nil, err
	}
	var out []*job
	for _, h := range holdings {
		path, err := c.partitions.Path(h.Partition)
		if err != nil {
			return nil, err
		}
		j := &job{holding: h, bucket: compact.Bucket{Partition: path, Bucket: h.Bucket}}
		switch {
		case c.table.schema.HasPrimaryKey():
			if j.levels, err = lsm.NewLevels(h.Files, r.KeyTypes(), c.table.options.NumLevels); err != nil {
				return nil, tarnerr.Trace("reading bucket", err, "partition", path, "bucket", h.Bucket)
			}
			ok := false
			if j.unit, ok, err = c.pick(ctx, j, r); err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			j.bytes = j.unit.Size()
		case c.table.options.Bucket == -1:
			for _, files := range compact.Pack(c.joinable(h.Files, path), r.PackRules()) {
				out = append(out, &job{holding: h, bucket: j.bucket, files: files, bytes: lsm.Run(files).Size()})
			}
			continue
		case c.opts.Minor:
			j.files, j.rest = compact.JoinSome(h.Files, r.PackRules())
		default:
			j.files = compact.JoinAll(h.Files, r.PackRules())
		}
		if j.levels == nil {
			if len(j.files) == 0 {
				continue
			}
			j.bytes = lsm.Run(j.files).Size()
		}
		out = append(out, j)
	}
	return out, nil
}

// joinable are the files of a partition without buckets that can be joined.
func (c *compaction) joinable(files []*datafile.Meta, partition string) []*datafile.Meta {
	if !c.table.options.RowTracking {
		return files
	}
	kept := compact.WithRowIDs(files)
	if n := len(files) - len(kept); n > 0 {
		c.table.warn("choosing files to join", tarnerr.New(tarnerr.Corrupt, "joining files", "rows of files have no row ids", "files", n, "partition", partition).
			WithHint("A compaction that did not know of row tracking has dropped them. The files stay as they are; INSERT OVERWRITE of the partition gives its rows new ids."))
	}
	return kept
}

// pick takes the next unit of a key table's bucket.
func (c *compaction) pick(ctx context.Context, j *job, r *compact.Rewriter) (unit lsm.Unit, ok bool, err error) {
	if !c.opts.Minor {
		must, err := r.MustRewrite(ctx, j.levels.Files())
		if err != nil {
			return unit, false, err
		}
		unit, ok = lsm.PickFull(j.levels.Count(), j.levels.Runs(), must)
		return unit, ok, nil
	}
	u := lsm.Universal{Compaction: c.table.options.Compaction}
	unit, ok = u.Pick(&j.memory, c.table.components.Env.Now(), j.levels.Count(), j.levels.Runs())
	return unit, ok, nil
}

// do carries a job out and returns its message. After an error nothing of it is left.
func (c *compaction) do(ctx context.Context, j *job, workers int) (*commitmsg.Message, error) {
	r, err := c.rewriter(workers, func(n int64) {
		j.written.Add(n)
		c.wrote(n)
	})
	if err != nil {
		return nil, err
	}
	var inc compact.Increment
	if j.levels != nil {
		err = c.doTree(ctx, j, r, &inc)
	} else {
		err = c.doAppend(ctx, j, r, &inc)
	}
	if err != nil {
		return nil, errors.Join(err, r.Remove(context.WithoutCancel(ctx), j.bucket, inc.Created()))
	}
	total := j.holding.TotalBuckets
	m := &commitmsg.Message{Partition: j.holding.Partition, Bucket: j.holding.Bucket, TotalBuckets: &total}
	inc.Take(m)
	return m, nil
}

// doTree compacts a bucket of a key table: once in full, or as long as there is
// something worth it.
func (c *compaction) doTree(ctx context.Context, j *job, r *compact.Rewriter, inc *compact.Increment) error {
	for ok := true; ok; {
		out, err := r.Rewrite(ctx, compact.Task{
			Bucket: j.bucket, Unit: j.unit, Highest: j.levels.Count() - 1, DropDeletes: j.levels.DropsDeletes(&j.unit),
			Below: compact.Below(j.levels, &j.unit),
		})
		if err != nil {
			return err
		}
		if err := r.Remove(ctx, j.bucket, inc.Add(out)); err != nil {
			return err
		}
		if !c.opts.Minor {
			return nil
		}
		if j.levels, err = j.levels.With(out.Before, out.After, r.KeyTypes()); err != nil {
			return err
		}
		if j.unit, ok, err = c.pick(ctx, j, r); err != nil {
			return err
		}
	}
	return nil
}

// doAppend joins files of an append table, and their neighbours as long as there
// are some worth it.
func (c *compaction) doAppend(ctx context.Context, j *job, r *compact.Rewriter, inc *compact.Increment) error {
	rules := r.PackRules()
	for len(j.files) > 0 {
		out, err := r.Join(ctx, j.bucket, j.files)
		if err != nil {
			return err
		}
		if err := r.Remove(ctx, j.bucket, inc.Add(out)); err != nil {
			return err
		}
		j.files = nil
		if len(j.rest) == 0 {
			return nil
		}
		if n := len(out.After); n > 0 && out.After[n-1].FileSize < rules.SmallFile {
			j.rest = append([]*datafile.Meta{out.After[n-1]}, j.rest...)
		}
		j.files, j.rest = compact.JoinSome(j.rest, rules)
	}
	return nil
}
