package read

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fanin"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// open reads one split: its live rows that match, with the columns wanted. Most is
// the memory its files may take, 0 = any.
func (s *scan) open(sp *split.Split, most int64) (batch.Reader, error) {
	match, err := s.matches(sp.Partition)
	if err != nil {
		return nil, err
	}
	if !match {
		return merge.Empty(s.out), nil
	}
	partition, err := s.partitions.Path(sp.Partition)
	if err != nil {
		return nil, err
	}
	dir := s.cfg.Layout.BucketDir(partition, sp.Bucket)
	switch {
	case sp.Change != nil && sp.Streaming:
		return s.openReplaced(dir, sp, most)
	case sp.Change != nil:
		return s.openDiff(dir, sp, most)
	case sp.Streaming:
		return s.openStreaming(dir, sp)
	case s.cfg.Files.Table.HasPrimaryKey() && !sp.RawConvertible:
		return s.openMerge(dir, sp.Files, most)
	}
	return s.openRaw(dir, sp)
}

// matches judges the conjuncts over partition columns.
func (s *scan) matches(partition binaryrow.Row) (bool, error) {
	if s.inPartition == nil {
		return true, nil
	}
	fields := s.partitions.Fields()
	values := make(map[string]types.Value, len(fields))
	for i, f := range fields {
		v, err := partition.Value(i, f.Type)
		if err != nil {
			return false, tarnerr.Trace("reading partition of split", err, "column", f.Name)
		}
		values[f.Name] = v
	}
	return s.inPartition.Match(func(c string) types.Value { return values[c] }), nil
}

type opener = func(context.Context) (batch.Reader, error)

// openRaw reads files, or a part of one, one after the other.
func (s *scan) openRaw(dir string, sp *split.Split) (batch.Reader, error) {
	if sp.Part != nil && len(sp.Files) != 1 {
		return nil, tarnerr.New(tarnerr.Internal, "reading split", "a part of several files", "files", len(sp.Files))
	}
	var part split.Part
	if sp.Part != nil {
		part = *sp.Part
	}
	var open []opener
	for _, f := range sp.Files {
		if s.cfg.Files.Table.HasPrimaryKey() && f.DeleteRowCount == nil {
			// Old files do not say whether they hold deletes: look at the kinds.
			open = append(open, func(ctx context.Context) (batch.Reader, error) {
				rows, err := s.mergeRows(lsm.Section{{f}})
				if err != nil {
					return nil, err
				}
				rows.merge.Schema, rows.merge.Output = s.rawSchema, columns(0, len(s.raw))
				file, err := s.cfg.Files.Open(ctx, dir, f, s.request(rows.fields, part, s.where, 1))
				if err != nil {
					return nil, err
				}
				return merge.NewReader(rows.merge, []batch.Reader{file}), nil
			})
			continue
		}
		open = append(open, func(ctx context.Context) (batch.Reader, error) {
			return s.cfg.Files.Open(ctx, dir, f, s.request(s.raw, part, s.where, 1))
		})
	}
	return newFinish(s, batch.Chain(s.rawSchema, open...), false), nil
}

// columns are n columns from the one numbered from.
func columns(from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = from + i
	}
	return out
}

// openMerge merges section by section. A section of one run has every key once,
// so that the whole predicate may skip parts of its files; where runs overlap
// only what it says of keys may, or an old version of a row would come to light
// (INV-PLAN-1).
func (s *scan) openMerge(dir string, files []*datafile.Meta, most int64) (batch.Reader, error) {
	sections, err := lsm.Sections(files, s.keyTypes)
	if err != nil {
		return nil, err
	}
	var open []opener
	for _, section := range sections {
		where := s.onKeys
		if len(section) == 1 {
			where = s.where
		}
		open = append(open, func(ctx context.Context) (batch.Reader, error) {
			rows, err := s.mergeRows(section)
			if err != nil {
				return nil, err
			}
			runs := make([]fanin.Run, len(section))
			for i, r := range rows.runs {
				runs[i] = s.run(dir, r, rows, where, len(section))
			}
			var set *fanin.Set
			if s.lowest {
				rows.merge.Level = func(run int) int32 { return set.Level(run) }
			}
			set = fanin.New(fanin.Limits{
				Store: s.cfg.Spill, Codec: s.codec, Memory: most, Runs: s.cfg.Options.Spill.Threshold, Mem: batch.Recycled(s.cfg.Files.Mem),
			}, rows.merge, rows.schema, false, runs)
			in, err := set.Readers(ctx)
			if err != nil {
				return nil, err
			}
			return merge.NewReader(rows.merge, in), nil
		})
	}
	return newFinish(s, batch.Chain(s.merge.Schema, open...), s.kind), nil
}

// mergeRows are the rows that the runs of a section are read as: the values, then
// the system columns that are needed to merge them.
type mergeRows struct {
	fields []types.Field
	schema *arrow.Schema
	runs   lsm.Section // in the order they are merged in
	merge  merge.Config
}

// mergeRows leaves out the sequence numbers where the metadata of a section's
// files says which run is the younger one. It is not believed that nothing was
// deleted: Python's writer counts no deletes.
func (s *scan) mergeRows(section lsm.Section) (rows mergeRows, err error) {
	rows.fields, rows.runs, rows.merge = slices.Clip(s.values), section, s.merge
	add := func(f types.Field) int {
		rows.fields = append(rows.fields, f)
		return len(rows.fields) - 1
	}
	rows.merge.Kind = add(types.ValueKindField())
	if byAge, ok := section.ByAge(); ok {
		rows.runs, rows.merge.Ranked = byAge, true
	} else {
		rows.merge.SequenceNumber = add(types.SequenceNumberField())
	}
	rows.merge.Output = columns(0, len(s.raw))
	if s.kind {
		rows.merge.Output = append([]int{rows.merge.Kind}, rows.merge.Output...)
	}
	if rows.schema, err = types.ArrowSchema(rows.fields); err != nil {
		return rows, err
	}
	return rows, s.rules.Apply(&rows.merge, rows.fields)
}

// run is a sorted run, one of several merged, read as merge rows.
func (s *scan) run(dir string, files lsm.Run, rows mergeRows, where *expr.Bound, among int) fanin.Run {
	req := s.request(rows.fields, split.Part{}, where, among)
	if among > 1 {
		// A merge copies what it returns: these rows nobody else sees.
		req.Mem = batch.Recycled(s.cfg.Files.Mem)
	}
	out := make(fanin.Run, len(files))
	for i, f := range files {
		out[i] = fanin.Part{Bytes: f.FileSize, Level: f.Level, Open: func(ctx context.Context) (batch.Reader, error) {
			return s.cfg.Files.Open(ctx, dir, f, req)
		}}
	}
	return out
}

const (
	// javaBatchRows is read.batch-size where nobody sets it. It suits Java's row
	// iterators; columns want longer batches, so it counts as not set here.
	javaBatchRows = 1024
	// rows of the batches of a file, and of all files merged at one time
	fileBatchRows, mergeBatchRows = 16 << 10, 64 << 10
)

// request reads a file, or a part of it, that is one of several read at one time.
func (s *scan) request(columns []types.Field, part split.Part, where *expr.Bound, among int) run.Request {
	rows := s.cfg.Options.ReadBatchSize
	if rows == javaBatchRows {
		rows = min(max(mergeBatchRows/among, javaBatchRows), fileBatchRows)
	}
	return run.Request{Columns: columns, Where: where, From: part.From, To: part.To, BatchRows: rows, Workers: s.decoders, Mem: s.mem}
}

// finish applies the residual predicate and the projection to the batches of a split.
type finish struct {
	scan    *scan
	in      batch.Reader
	hasKind bool // the first column of in is the kind
	mask    []bool
	out     arrow.RecordBatch
}

func newFinish(s *scan, in batch.Reader, hasKind bool) batch.Reader {
	return &finish{scan: s, in: in, hasKind: hasKind}
}

func (f *finish) Schema() *arrow.Schema { return f.scan.out }

func (f *finish) Next(ctx context.Context) (arrow.RecordBatch, error) {
	f.drop()
	for {
		rec, err := f.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		kept, err := f.filter(rec)
		if err != nil {
			return nil, err
		}
		if kept == nil {
			continue
		}
		f.out = f.shape(kept)
		kept.Release()
		return f.out, nil
	}
}

// filter returns the rows that match, nil when there are none.
func (f *finish) filter(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if f.scan.residual == nil {
		rec.Retain()
		return rec, nil
	}
	var err error
	if f.mask, err = f.scan.residual.Mask(rec, f.mask); err != nil {
		return nil, tarnerr.Trace("filtering rows", err)
	}
	return batch.Filter(f.scan.mem, rec, f.mask)
}

// shape drops the columns only the predicate needed and puts the kind in front.
func (f *finish) shape(rec arrow.RecordBatch) arrow.RecordBatch {
	n := len(f.scan.rawOut)
	if !f.scan.kind {
		return batch.Select(f.scan.out, rec, f.scan.rawOut)
	}
	if f.hasKind {
		return batch.Select(f.scan.out, rec, columns(0, n+1))
	}
	return withInserts(f.scan.mem, f.scan.out, rec, n)
}

func (f *finish) drop() {
	if f.out != nil {
		f.out.Release()
		f.out = nil
	}
}

func (f *finish) Close() error {
	f.drop()
	return f.in.Close()
}
