package compact

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/changelog"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/tarnerr"
)

// producer says when a compaction looks at what its rows change, and how.
type producer struct {
	// silent: it looks up old rows for the readers' sake and writes no changelog.
	silent bool
	// lookup: rows of level 0 are compared with what they meet on higher levels, in
	// the compaction or below it. Else what reaches the highest level is compared
	// with what was there.
	lookup bool
	engine merge.Engine
	// foldsLone: also a row that is alone comes out as another one, so that it is
	// written and not just moved.
	foldsLone bool
	equal     *changelog.Equal // updates between equal rows are none; nil: all count
}

// newProducer returns nil for tables whose compactions need not look at what was
// before.
func (r *Rewriter) newProducer() (*producer, error) {
	s, c := r.cfg.Schema, r.cfg.Options.Changelog
	if !c.Lookup && c.Producer != "full-compaction" || !s.HasPrimaryKey() {
		return nil, nil
	}
	p := &producer{lookup: c.Lookup, silent: c.Producer != "lookup" && c.Producer != "full-compaction", engine: r.merge.Engine}
	p.foldsLone = p.lookup && r.rules.FoldsLone()
	if c.Producer == "full-compaction" && c.Lookup {
		return nil, tarnerr.New(tarnerr.Unsupported, "choosing changelog producer", "lookups beside full-compaction", "force-lookup", true, "changelog-producer", c.Producer).
			WithHint("Unset force-lookup.")
	}
	if c.Deduplicate { // a name of a column that is gone means nothing
		var columns []int
		for i, f := range s.Fields {
			if !slices.Contains(c.IgnoreFields, f.Name) {
				columns = append(columns, i)
			}
		}
		p.equal = changelog.NewEqual(columns)
	}
	return p, nil
}

// tells reports that a rewrite of files to a level tells what it changes.
// Source: paimon-core mergetree/compact/ChangelogMergeTreeRewriter.
func (p *producer) tells(t *Task, files []*datafile.Meta) bool {
	switch {
	case p == nil:
		return false
	case p.lookup:
		return t.Unit.OutputLevel > 0 && slices.ContainsFunc(files, func(f *datafile.Meta) bool { return f.Level == 0 })
	}
	return t.Unit.OutputLevel == t.Highest
}

// rewrites reports that a file cannot just move up: where rows of level 0 are
// looked up, what is found makes other rows of them, unless the last row wins.
// Source: paimon-core mergetree/compact/LookupMergeTreeCompactRewriter.
func (p *producer) rewrites(r *Rewriter, t *Task, f *datafile.Meta) bool {
	if p == nil || !p.lookup || f.Level != 0 {
		return false
	}
	o := &r.cfg.Options
	if o.FormatAt(0) != o.FormatAt(t.Unit.OutputLevel) {
		return true
	}
	// Java moves it to the highest level as it is, where the table then has another row
	// than the changelog tells of.
	return p.foldsLone || t.Unit.OutputLevel != t.Highest && (p.engine != merge.Deduplicate || len(o.SequenceFields) > 0)
}

// told is what a part of a rewrite has written.
type told struct{ files, changelog []*datafile.Meta }

// tell merges sections, one after the other, writes the rows that come out to a
// sorted run, unless spec is nil, and what changes to changelog files.
func (r *Rewriter) tell(ctx context.Context, t *Task, sections []lsm.Section, spec *run.FileSpec, workers int) (told, error) {
	dir := r.cfg.Place.BucketDir(t.Partition, t.Bucket.Bucket)
	w := &teller{r: r, t: t, dir: dir, workers: workers}
	var err error
	if w.below, err = r.below(dir, t, sections); err != nil {
		return told{}, err
	}
	if w.below != nil {
		defer w.below.Close() // only read from
	}
	if !r.producer.silent {
		changes, err := r.changelogSpec(t.Unit.OutputLevel)
		if err != nil {
			return told{}, err
		}
		if w.changes, err = r.rowWriter(changes, dir, workers); err != nil {
			return told{}, err
		}
	}
	if spec != nil {
		if w.rows, err = r.rowWriter(spec, dir, workers); err != nil {
			return told{}, err
		}
	}
	if r.merge.Engine != merge.Deduplicate {
		cfg := r.merge
		cfg.KeepDeletes, cfg.Mem = true, batch.Recycled(r.cfg.Mem)
		cfg.FoldLone = r.producer.lookup
		if w.fold, err = merge.NewFolder(cfg); err != nil {
			return told{}, err
		}
	}
	for _, s := range sections {
		if err = w.section(ctx, s); err != nil {
			break
		}
	}
	var out told
	if err == nil && w.rows != nil {
		out.files, err = r.finish(ctx, w.rows.out)
	}
	if err == nil && w.changes != nil {
		out.changelog, err = r.finish(ctx, w.changes.out)
	}
	if err == nil {
		return out, nil
	}
	ctx = context.WithoutCancel(ctx)
	err = errors.Join(err, r.Remove(ctx, t.Bucket, out.files))
	for _, w := range []*rowWriter{w.rows, w.changes} {
		if w != nil {
			err = errors.Join(err, w.out.Abort(ctx))
		}
	}
	return told{}, err
}

// tellMoved tells what files change that only move up.
func (r *Rewriter) tellMoved(ctx context.Context, t *Task, files []*datafile.Meta) ([]*datafile.Meta, error) {
	var sections []lsm.Section
	for _, f := range files {
		if r.producer.tells(t, []*datafile.Meta{f}) {
			sections = append(sections, lsm.Section{{f}})
		}
	}
	spec, err := r.changelogSpec(t.Unit.OutputLevel)
	if err != nil {
		return nil, err
	}
	most, release, err := r.reserve(ctx, sections, spec, r.lookupMemory(t))
	if err != nil {
		return nil, err
	}
	defer release()
	own := *t
	own.most = most
	out, err := r.tell(ctx, &own, sections, nil, 1)
	return out.changelog, err
}

// teller carries out tell.
type teller struct {
	r       *Rewriter
	t       *Task
	dir     string
	below   *lookup.Bucket // nil: nothing is looked up
	fold    *merge.Folder  // nil where the last row wins
	rows    *rowWriter     // nil: files only move
	changes *rowWriter     // nil: nothing is told
	workers int
}

// tellRows is how many keys are decided about at a time.
const tellRows = 8 << 10

func (w *teller) section(ctx context.Context, s lsm.Section) error {
	cfg := w.r.merge
	cfg.BatchRows, cfg.Mem = tellRows, batch.Recycled(w.r.cfg.Mem)
	runs := s
	if byAge, ok := s.ByAge(); ok {
		runs, cfg.Ranked = byAge, true
	}
	set := w.r.runs(w.dir, runs, cfg, true, w.t.most, w.workers)
	in, err := set.Readers(ctx)
	if err != nil {
		return err
	}
	tr := merge.NewTrace(cfg, in, set.Level)
	err = w.all(ctx, tr)
	if e := tr.Close(); err == nil {
		err = e
	}
	return err
}

func (w *teller) all(ctx context.Context, tr *merge.Trace) error {
	for {
		keys, err := tr.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = w.keys(ctx, keys)
		}
		if err != nil {
			return err
		}
	}
}

// keys decides about some keys, about fewer at a time when they are too large.
func (w *teller) keys(ctx context.Context, k *merge.Traced) error {
	for from, step := 0, len(k.Ends); from < len(k.Ends); {
		to := min(from+step, len(k.Ends))
		err := w.some(ctx, k, from, to)
		if errors.Is(err, batch.ErrTooLarge) && to-from > 1 {
			step = (to - from) / 2
			continue
		}
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// some decides about keys [from, to).
func (w *teller) some(ctx context.Context, k *merge.Traced, from, to int) error {
	d := decision{traced: k, sources: slices.Clone(k.Sources), producer: w.r.producer, top: int32(w.t.Highest)}
	defer d.release()
	d.choose(from, to)
	if err := d.find(ctx, w.below, &w.r.merge); err != nil {
		return err
	}
	if err := d.place(w.r.merge); err != nil {
		return err
	}
	if err := d.merge(w.r, w.fold); err != nil {
		return err
	}
	if w.rows != nil {
		if err := d.write(ctx, w.rows, w.t.DropDeletes); err != nil {
			return err
		}
	}
	if w.changes == nil {
		return nil
	}
	return d.tell(ctx, w.changes)
}

// rowWriter writes rows of runs to files.
type rowWriter struct {
	r   *Rewriter
	out *run.RollingWriter
	asm *assembler
}

func (r *Rewriter) rowWriter(spec *run.FileSpec, dir string, workers int) (*rowWriter, error) {
	own := *spec
	own.Encoding.Workers = workers
	asm, err := r.assembler(spec)
	return &rowWriter{r: r, out: run.NewRollingWriter(&own, dir, 0), asm: asm}, err
}

func (w *rowWriter) write(ctx context.Context, rec arrow.RecordBatch) error {
	file := w.asm.assemble(rec)
	defer file.Release()
	before := w.out.Written()
	if err := w.out.Write(ctx, file); err != nil {
		return err
	}
	return w.r.wrote(ctx, w.out.Written()-before)
}

// changelogSpec is what changelog files of a level look like.
func (r *Rewriter) changelogSpec(level int) (*run.FileSpec, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.changelogs[level]; ok {
		return s, nil
	}
	s, err := run.ChangelogSpecOf(r.cfg.Schema, &r.cfg.Options, level)
	if err != nil {
		return nil, err
	}
	if s.Format, err = r.cfg.Format(r.cfg.Options.ChangelogFormatAt(level)); err != nil {
		return nil, err
	}
	s.FileIO, s.Env, s.Mem, s.Names, s.Ending = r.cfg.FileIO, r.cfg.Env, r.cfg.Mem, r.names, s.Format.Name()
	s.Encoding.Hold = holdBytes
	r.changelogs[level] = &s
	return &s, nil
}
