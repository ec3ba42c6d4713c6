package compact

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Rewriter carries out the compactions of one table. Safe for concurrent use.
type Rewriter struct {
	cfg    Config
	source *run.Source
	names  *layout.Namer

	// Of key tables: the columns that runs are read as, values first, and what is
	// merged how.
	rows     []types.Field
	schema   *arrow.Schema
	keyTypes []types.Type
	keys     []int // columns of the key among the values
	rules    *merge.Rules
	merge    merge.Config
	producer *producer      // nil: compactions produce no changelog
	expiry   *expiry        // nil: rows do not expire
	old      *lookup.Reader // of the levels below a compaction; nil: nothing is looked up

	codec             *spill.Codec // of runs that are spilled
	mu                sync.Mutex
	specs, changelogs map[int]*run.FileSpec // by level
}

// New prepares rewrites. It does no I/O.
func New(cfg Config) (*Rewriter, error) {
	const op = "preparing compaction"
	if cfg.Mem == nil {
		cfg.Mem = memory.DefaultAllocator
	}
	cfg.Workers = max(1, cfg.Workers)
	r := &Rewriter{
		cfg: cfg, codec: spill.NewCodec(cfg.Options.Spill.Compression, cfg.Options.Spill.ZstdLevel), names: layout.NewNamer(cfg.Env), specs: map[int]*run.FileSpec{}, changelogs: map[int]*run.FileSpec{},
		source: &run.Source{FileIO: cfg.FileIO, Format: cfg.Format, Schema: cfg.SchemaByID, Table: cfg.Schema, Tracks: cfg.Options.RowTracking, Mem: cfg.Mem},
	}
	if cfg.Schema.HasPrimaryKey() {
		if err := r.prepareMerge(); err != nil {
			return nil, tarnerr.Trace(op, err, "table", cfg.Table)
		}
		var err error
		if r.producer, err = r.newProducer(); err != nil {
			return nil, tarnerr.Trace(op, err, "table", cfg.Table)
		}
		if r.expiry, err = newExpiry(cfg.Schema, cfg.Options.RecordExpire, cfg.Env); err != nil {
			return nil, tarnerr.Trace(op, err, "table", cfg.Table)
		}
		if r.producer != nil && r.producer.lookup {
			if r.old, err = r.newOld(); err != nil {
				return nil, tarnerr.Trace(op, err, "table", cfg.Table)
			}
		}
	}
	return r, nil
}

// KeyTypes are the types of the trimmed primary key, for [lsm.NewLevels].
func (r *Rewriter) KeyTypes() []types.Type { return r.keyTypes }

// Task is one unit of a bucket of a key table.
type Task struct {
	Bucket
	Unit    lsm.Unit
	Highest int // level of the tree
	// DropDeletes leaves deletes out: nothing older than the output may remain in
	// the bucket ([lsm.Levels.DropsDeletes], INV-TREE-2).
	DropDeletes bool
	// Below are the bucket's files that lie deeper than the output ([Below]), where
	// tables that look up old rows find them.
	Below []*datafile.Meta

	most int64 // bytes to read in, 0 = any
}

// Rewrite carries out a unit: its sections side by side. It waits for memory; the
// caller must hold none that only a later compaction frees. After an error no
// file of it is left, but for those that could not be removed.
func (r *Rewriter) Rewrite(ctx context.Context, t Task) (Result, error) {
	start := r.cfg.Env.Now()
	out, err := r.rewrite(ctx, t)
	r.told(t.Bucket, out, start, err)
	return out, tarnerr.Trace("compacting files", err, "table", r.cfg.Table, "partition", t.Partition, "bucket", t.Bucket.Bucket)
}

func (r *Rewriter) rewrite(ctx context.Context, t Task) (Result, error) {
	if !r.cfg.Schema.HasPrimaryKey() {
		return Result{}, tarnerr.New(tarnerr.Internal, "compacting sorted runs", "the table has no primary key")
	}
	must, err := r.MustRewrite(ctx, t.Unit.Files)
	if err != nil {
		return Result{}, err
	}
	rules := lsm.StepRules{Highest: t.Highest, SmallFile: r.cfg.Options.CompactionFileSize(true), Rewrite: func(f *datafile.Meta) bool {
		return must(f) || r.producer.rewrites(r, &t, f)
	}}
	steps, err := t.Unit.Steps(r.keyTypes, rules)
	if err != nil {
		return Result{}, err
	}
	spec, err := r.spec(t.Unit.OutputLevel)
	if err != nil {
		return Result{}, err
	}
	done := make([]Result, len(steps))
	eg, stepCtx := errgroup.WithContext(ctx)
	eg.SetLimit(r.cfg.Workers)
	rewrites := 0
	for _, s := range steps {
		if s.Rewrite != nil {
			rewrites++
		}
	}
	workers := max(1, r.cfg.Workers/max(1, rewrites))
	for i, s := range steps {
		if s.Rewrite == nil {
			done[i] = upgraded(s.Upgrade, t.Unit.OutputLevel)
			if !r.producer.tells(&t, s.Upgrade) || r.producer.silent {
				continue
			}
			eg.Go(func() error {
				var err error
				done[i].Changelog, err = r.tellMoved(stepCtx, &t, s.Upgrade)
				return err
			})
			continue
		}
		eg.Go(func() error {
			var err error
			done[i], err = r.step(stepCtx, t, s.Rewrite, spec, workers)
			return err
		})
	}
	err = eg.Wait()
	var out Result
	for _, d := range done {
		out.add(d)
	}
	if err != nil {
		var i Increment
		i.Add(out)
		return Result{}, errors.Join(err, r.Remove(context.WithoutCancel(ctx), t.Bucket, i.Created()))
	}
	r.check(t, out)
	r.forget(t.Bucket, gone(out))
	return out, nil
}

// Remove deletes files of a bucket that no snapshot names.
func (r *Rewriter) Remove(ctx context.Context, b Bucket, files []*datafile.Meta) error {
	if len(files) == 0 {
		return nil
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = r.cfg.Place.DataFile(b.Partition, b.Bucket, f.FileName)
	}
	r.forget(b, files)
	return tarnerr.Trace("removing files of a compaction", r.cfg.FileIO.Delete(ctx, paths...), "table", r.cfg.Table)
}

func upgraded(files []*datafile.Meta, level int) Result {
	var out Result
	for _, f := range files {
		out.Before, out.After = append(out.Before, f), append(out.After, f.Upgrade(int32(level)))
	}
	return out
}

// check asserts what the files of a rewrite promise.
func (r *Rewriter) check(t Task, out Result) {
	if !invariants.Enabled {
		return
	}
	_, err := lsm.NewLevels(out.After, r.keyTypes, t.Highest+1)
	invariants.Check(err == nil, "INV-TREE-1", "%v", err)
	for _, f := range out.After {
		invariants.Check(int(f.Level) == t.Unit.OutputLevel, "INV-TREE-1", "%s is of level %d, not %d", f.FileName, f.Level, t.Unit.OutputLevel)
		rewritten := !named(out.Before, f.FileName)
		invariants.Check(!rewritten || !t.DropDeletes || *f.DeleteRowCount == 0, "INV-TREE-2", "%s has deletes", f.FileName)
	}
}

// spec is what files of a level look like.
func (r *Rewriter) spec(level int) (*run.FileSpec, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.specs[level]; ok {
		return s, nil
	}
	s, err := run.SpecOf(r.cfg.Schema, &r.cfg.Options, level, datafile.Compact)
	if err != nil {
		return nil, err
	}
	if s.Format, err = r.cfg.Format(r.cfg.Options.FormatAt(level)); err != nil {
		return nil, err
	}
	s.FileIO, s.Env, s.Mem, s.Names, s.Ending = r.cfg.FileIO, r.cfg.Env, r.cfg.Mem, r.names, s.Format.Name()
	s.Encoding.Hold = holdBytes
	r.specs[level] = &s
	return &s, nil
}

// prepareMerge lays out the rows of runs and says how they are merged.
func (r *Rewriter) prepareMerge() error {
	s, o := r.cfg.Schema, &r.cfg.Options
	var err error
	if r.rules, err = merge.NewRules(s, o); err != nil {
		return err
	}
	n := len(s.Fields)
	r.rows = append(slices.Clip(s.Fields), types.SequenceNumberField(), types.ValueKindField())
	if r.schema, err = types.ArrowSchema(r.rows); err != nil {
		return err
	}
	at := func(names []string) ([]merge.Column, error) {
		out := make([]merge.Column, len(names))
		for i, name := range names {
			j := s.Index(name)
			if j < 0 {
				return nil, tarnerr.New(tarnerr.Invalid, "choosing columns", "the table has no such column", "column", name)
			}
			out[i] = merge.Column{Index: j, Type: s.Fields[j].Type}
		}
		return out, nil
	}
	keys, err := at(s.TrimmedPrimaryKeys())
	if err != nil {
		return err
	}
	for _, k := range keys {
		r.keys, r.keyTypes = append(r.keys, k.Index), append(r.keyTypes, k.Type)
	}
	order, err := merge.NewOrder(keys)
	if err != nil {
		return err
	}
	sequence, err := at(o.SequenceFields)
	if err != nil {
		return err
	}
	r.merge = merge.Config{
		Keys: order, Sequence: sequence, Descending: o.SequenceDescending, SequenceNumber: n, Kind: n + 1,
		Schema: r.schema,
	}
	for i := range r.rows {
		r.merge.Output = append(r.merge.Output, i)
	}
	return r.rules.Apply(&r.merge, r.rows)
}
