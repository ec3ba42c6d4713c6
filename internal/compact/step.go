package compact

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fanin"
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
	// holdRun is about what a run may hold of a file being read.
	holdRun = 8 << 20
	// outputRows are the rows of a merged batch.
	outputRows = 16 << 10
)

// step merges sections, one after the other, into one sorted run.
func (r *Rewriter) step(ctx context.Context, t Task, sections []lsm.Section, spec *run.FileSpec, workers int) (Result, error) {
	files := filesOf(sections)
	tells, below := r.producer.tells(&t, files), int64(0)
	if tells {
		below = r.lookupMemory(&t)
	}
	most, release, err := r.reserve(ctx, sections, spec, below)
	if err != nil {
		return Result{}, err
	}
	defer release()
	t.most = most
	if tells {
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
	res.After, err = r.write(ctx, r.merged(dir, sections, !t.DropDeletes, most, workers), out, asm, workers)
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
	return r.finish(ctx, out)
}

// finish ends the files of out. Their sizes were estimates until now.
func (r *Rewriter) finish(ctx context.Context, out *run.RollingWriter) ([]*datafile.Meta, error) {
	estimate := out.Written()
	files, err := out.Close(ctx)
	if err == nil {
		r.cfg.Pace.owe(size(files) - estimate)
	}
	return files, err
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
		if err := r.wrote(ctx, now-written); err != nil {
			return err
		}
		written = now
	}
}

// wrote tells that n more bytes are written, and holds the rewrite back where it has to.
func (r *Rewriter) wrote(ctx context.Context, n int64) error {
	if r.cfg.Progress != nil {
		r.cfg.Progress(n)
	}
	return r.cfg.Pace.spend(ctx, n)
}

// merged reads sections one after the other, each key once, in so much memory.
func (r *Rewriter) merged(dir string, sections []lsm.Section, keepDeletes bool, most int64, workers int) batch.Reader {
	open := make([]func(context.Context) (batch.Reader, error), len(sections))
	for i, section := range sections {
		open[i] = func(ctx context.Context) (batch.Reader, error) {
			cfg := r.merge
			cfg.KeepDeletes, cfg.BatchRows, cfg.Mem = keepDeletes, outputRows, batch.Recycled(r.cfg.Mem)
			runs := section
			if byAge, ok := section.ByAge(); ok {
				runs, cfg.Ranked = byAge, true
			}
			var set *fanin.Set
			if r.producer != nil && r.producer.lookup && r.merge.Engine != merge.FirstRow {
				cfg.Level = func(run int) int32 { return set.Level(run) }
			}
			set = r.runs(dir, runs, cfg, false, most, workers)
			in, err := set.Readers(ctx)
			if err != nil {
				return nil, err
			}
			return merge.NewReader(cfg, in), nil
		}
	}
	return batch.Chain(r.schema, open...)
}

// runs prepares sorted runs for a merge in so much memory.
func (r *Rewriter) runs(dir string, runs lsm.Section, cfg merge.Config, trace bool, most int64, workers int) *fanin.Set {
	all := make([]fanin.Run, len(runs))
	for i, files := range runs {
		for _, f := range files {
			all[i] = append(all[i], fanin.Part{Bytes: f.FileSize, Level: f.Level, Open: func(ctx context.Context) (batch.Reader, error) {
				return r.open(ctx, dir, f, r.runRequest(len(runs), workers))
			}})
		}
	}
	return fanin.New(fanin.Limits{
		Store: r.cfg.Spill, Codec: r.codec, Memory: most, Runs: r.cfg.Options.Spill.Threshold, Mem: batch.Recycled(r.cfg.Mem),
	}, cfg, r.schema, trace, all)
}

// runRequest reads files of a run, one of several merged.
func (r *Rewriter) runRequest(among, workers int) run.Request {
	return run.Request{
		Columns: r.rows, Workers: workers, Mem: batch.Recycled(r.cfg.Mem),
		BatchRows: min(max(mergeBatchRows/among, leastBatchRows), runBatchRows), Hold: holdRun,
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

// What a merge holds at most, as far as it can be told beforehand, beside the files it
// reads: what is merged, and the encoded row group being written.
const (
	perMerge = 2 << 20
	// perFile is the most a file being written holds, encoded and not.
	perFile = 128<<20 + holdBytes
)

// reserve takes the memory of one merge of sections after each other, all of the
// budget when it needs more, and says how much of it there is to read in. below is
// what looking up old rows takes.
func (r *Rewriter) reserve(ctx context.Context, sections []lsm.Section, spec *run.FileSpec, below int64) (most int64, release func(), err error) {
	b := r.cfg.Budget
	if b == nil {
		return 0, func() {}, nil
	}
	var reading, total int64
	for _, s := range sections {
		var widest int64
		for _, files := range s {
			widest += fanin.Cost(largest(files))
		}
		reading, total = max(reading, widest), total+size(s.Files())
	}
	rest := perMerge + below + min(2*total, spec.TargetSize, perFile)
	held, err := b.Reserve(ctx, min(reading+rest, b.Limit()))
	if err != nil {
		return 0, nil, err
	}
	return max(held.Size()-rest, held.Size()/2), held.Release, nil
}
