package compact

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/types"
)

const (
	// holdBytes is what a file being written may hold of merged batches, so that its
	// end is encoded column by column.
	holdBytes = 8 << 20
	// mergeBatchRows are the rows in memory of all runs merged at one time, of each
	// at least leastBatchRows and at most runBatchRows.
	mergeBatchRows, leastBatchRows, runBatchRows = 64 << 10, 1024, 16 << 10
	// outputRows are the rows of a merged batch.
	outputRows = 16 << 10
)

// step merges sections, one after the other, into one sorted run.
func (r *Rewriter) step(ctx context.Context, t Task, sections []lsm.Section, spec *run.FileSpec, workers int) (Result, error) {
	release, err := r.reserve(ctx, sections, spec)
	if err != nil {
		return Result{}, err
	}
	defer release()
	files := filesOf(sections)
	if r.producer.tells(&t, files) {
		out, err := r.tell(ctx, &t, sections, spec, workers)
		return Result{Before: files, After: out.files, Changelog: out.changelog}, err
	}
	asm, err := r.assembler(spec)
	if err != nil {
		return Result{}, err
	}
	dir := r.cfg.Place.BucketDir(t.Partition, t.Bucket.Bucket)
	own := *spec
	own.Encoding.Workers = workers
	out := run.NewRollingWriter(&own, dir, 0)
	var res Result
	res.After, err = r.write(ctx, r.merged(dir, sections, !t.DropDeletes, workers), out, asm, workers)
	if err != nil {
		return Result{}, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
	}
	res.Before = files
	return res, nil
}

func filesOf(sections []lsm.Section) (files []*datafile.Meta) {
	for _, s := range sections {
		files = append(files, s.Files()...)
	}
	return files
}

// write writes all of in, which it closes, reading ahead where there is somebody
// to do it. asm lays the rows out as a file has them; nil = they are.
func (r *Rewriter) write(ctx context.Context, in batch.Reader, out *run.RollingWriter, asm *assembler, workers int) ([]*datafile.Meta, error) {
	if workers > 1 {
		in = newAhead(ctx, in)
	}
	err := r.copy(ctx, in, out, asm)
	if e := in.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return out.Close(ctx)
}

// copy writes all batches of in, as files have them.
func (r *Rewriter) copy(ctx context.Context, in batch.Reader, out *run.RollingWriter, asm *assembler) error {
	for written := int64(0); ; {
		rec, err := in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if asm == nil {
			err = out.Write(ctx, rec)
		} else {
			file := asm.assemble(rec)
			err = out.Write(ctx, file)
			file.Release()
		}
		if err != nil {
			return err
		}
		now := out.Written()
		if r.cfg.Progress != nil {
			r.cfg.Progress(now - written)
		}
		if err := r.cfg.Pace.spend(ctx, now-written); err != nil {
			return err
		}
		written = now
	}
}

// merged reads sections one after the other, each key once.
func (r *Rewriter) merged(dir string, sections []lsm.Section, keepDeletes bool, workers int) batch.Reader {
	open := make([]func(context.Context) (batch.Reader, error), len(sections))
	for i, section := range sections {
		open[i] = func(context.Context) (batch.Reader, error) {
			cfg := r.merge
			cfg.KeepDeletes, cfg.BatchRows, cfg.Mem = keepDeletes, outputRows, batch.Recycled(r.cfg.Mem)
			runs := section
			if byAge, ok := section.ByAge(); ok {
				runs, cfg.Ranked = byAge, true
			}
			in := make([]batch.Reader, len(runs))
			level := make([]*leveled, len(runs))
			for j, files := range runs {
				level[j] = r.leveled(dir, files, len(runs), workers)
				in[j] = level[j]
			}
			if r.producer != nil && r.producer.lookup && r.merge.Engine != merge.FirstRow {
				cfg.Level = func(run int) int32 { return level[run].level }
			}
			return merge.NewReader(cfg, in), nil
		}
	}
	return batch.Chain(r.schema, open...)
}

// runRequest reads files of a run, one of several merged.
func (r *Rewriter) runRequest(among, workers int) run.Request {
	return run.Request{
		Columns: r.rows, Workers: workers, Mem: batch.Recycled(r.cfg.Mem),
		BatchRows: min(max(mergeBatchRows/among, leastBatchRows), runBatchRows),
	}
}

// assembler lays merged rows out as the columns of a file, which share them.
type assembler struct {
	schema *arrow.Schema
	keys   []int // columns that stand for `_KEY_*`
	values int
}

func (r *Rewriter) assembler(spec *run.FileSpec) (*assembler, error) {
	a := &assembler{values: len(r.cfg.Schema.Fields)}
	if !spec.Thin {
		a.keys = r.keys
	}
	var err error
	a.schema, err = types.ArrowSchema(spec.Fields())
	return a, err
}

// assemble gives the caller a batch to release.
func (a *assembler) assemble(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, 0, a.schema.NumFields())
	for _, k := range a.keys {
		cols = append(cols, rec.Column(k))
	}
	cols = append(cols, rec.Columns()[a.values:]...)
	cols = append(cols, rec.Columns()[:a.values]...)
	return array.NewRecordBatch(a.schema, cols, rec.NumRows())
}

// What a merge holds at most, as far as it can be told beforehand: of each file
// being read decoded batches and the pages behind them, and the encoded row group
// being written.
const (
	perRun   = 4 << 20
	perMerge = 2 << 20
	blowUp   = 4 // decoded bytes for a byte of a file
	// perFile is the most a file being written holds, encoded and not.
	perFile = 128<<20 + holdBytes
)

// reserve takes the memory of one merge of sections after each other, all of the
// budget when it needs more.
func (r *Rewriter) reserve(ctx context.Context, sections []lsm.Section, spec *run.FileSpec) (release func(), err error) {
	b := r.cfg.Budget
	if b == nil {
		return func() {}, nil
	}
	var reading, total int64
	for _, s := range sections {
		var widest int64
		for _, files := range s {
			widest += min(blowUp*largest(files), perRun)
		}
		reading, total = max(reading, widest), total+size(s.Files())
	}
	held, err := b.Reserve(ctx, min(perMerge+reading+min(2*total, spec.TargetSize, perFile), b.Limit()))
	if err != nil {
		return nil, err
	}
	return held.Release, nil
}
