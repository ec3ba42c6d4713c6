package compact

import (
	"context"
	"errors"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// PackRules are those of the table.
func (r *Rewriter) PackRules() PackRules { return PackRulesOf(&r.cfg.Options) }

// PackRulesOf are the rules that options give.
func PackRulesOf(o *option.Options) PackRules {
	return PackRules{
		Target: o.TargetFileSize(false), SmallFile: o.CompactionFileSize(false), OpenCost: o.SplitOpenFileCost,
		MinFileNum: o.Compaction.MinFileNum, RewriteAll: o.Compaction.ForceRewriteAll,
	}
}

// Join writes the rows of files of an append table, in their order, to as few
// files as their target size allows. Rows that have ids keep them. It waits for
// memory, as Rewrite does.
// After an error no file of it is left, but for those that could not be removed.
func (r *Rewriter) Join(ctx context.Context, b Bucket, files []*datafile.Meta) (Result, error) {
	start := r.cfg.Env.Now()
	out, err := r.join(ctx, b, files)
	r.told(b, out, start, err)
	return out, tarnerr.Trace("compacting files", err, "table", r.cfg.Table, "partition", b.Partition, "bucket", b.Bucket)
}

func (r *Rewriter) join(ctx context.Context, b Bucket, files []*datafile.Meta) (Result, error) {
	spec, err := r.spec(0)
	if err != nil {
		return Result{}, err
	}
	columns := spec.Fields() // row ids and sequence numbers too, where the table has them
	schema, err := types.ArrowSchema(columns)
	if err != nil {
		return Result{}, err
	}
	_, release, err := r.reserve(ctx, []lsm.Section{{files}}, spec, 0)
	if err != nil {
		return Result{}, err
	}
	defer release()
	dir := r.cfg.Place.BucketDir(b.Partition, b.Bucket)
	req := run.Request{Columns: columns, Workers: r.cfg.Workers, Mem: batch.Recycled(r.cfg.Mem), BatchRows: outputRows}
	open := make([]func(context.Context) (batch.Reader, error), len(files))
	for i, f := range files {
		open[i] = func(ctx context.Context) (batch.Reader, error) { return r.source.Open(ctx, dir, f, req) }
	}
	own := *spec
	own.Encoding.Workers = r.cfg.Workers
	out := run.NewRollingWriter(&own, dir, files[0].MinSequence)
	after, err := r.write(ctx, batch.Chain(schema, open...), out, nil, r.cfg.Workers)
	if err != nil {
		return Result{}, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
	}
	return Result{Before: files, After: after}, nil
}

func (r *Rewriter) told(b Bucket, out Result, start time.Time, err error) {
	r.cfg.Listener.Emit(event.CompactEnd{
		Table: r.cfg.Table, Partition: b.Partition, Bucket: int(b.Bucket),
		FilesBefore: len(out.Before), FilesAfter: len(out.After), BytesBefore: size(out.Before), BytesAfter: size(out.After),
		Elapsed: r.cfg.Env.Now().Sub(start), Err: err,
	})
}

func largest(files []*datafile.Meta) (n int64) {
	for _, f := range files {
		n = max(n, f.FileSize)
	}
	return n
}
