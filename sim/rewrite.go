package sim

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// live are the files of the latest snapshot.
func (p *process) live() ([]manifest.Entry, error) {
	s := p.s.schema
	latest, err := snapshot.NewStore(p.fio, place).WithEnv(p.env).Latest(p.ctx)
	if latest == nil || err != nil {
		return nil, err
	}
	m, err := manifest.NewStore(manifest.Config{FileIO: p.fio, Table: place, Env: p.env, Partition: s.Select(s.PartitionKeys), Lists: manifest.NewListCache()})
	if err != nil {
		return nil, err
	}
	base, err := m.ReadList(p.ctx, latest.BaseManifestList, latest.BaseManifestListSize)
	if err != nil {
		return nil, err
	}
	delta, err := m.ReadList(p.ctx, latest.DeltaManifestList, latest.DeltaManifestListSize)
	if err != nil {
		return nil, err
	}
	entries, err := m.ReadAll(p.ctx, slices.Concat(base, delta), manifest.EntryFilter{})
	if err != nil {
		return nil, err
	}
	return manifest.MergeEntries(entries)
}

// rewrite reads files of one bucket and writes what change makes of their rows
// into one, none when no row is left.
func (p *process) rewrite(opts option.Options, files []manifest.Entry, change func([]numbered) []numbered) ([]*datafile.Meta, error) {
	s := p.s.schema
	names := layout.NewPartitioner(s.Select(s.PartitionKeys), opts.PartitionDefault, opts.PartitionLegacyName)
	partition, err := names.Path(files[0].Partition)
	if err != nil {
		return nil, err
	}
	dir := place.BucketDir(partition, files[0].Bucket)
	format, err := formats.ByName(opts.FileFormat)
	if err != nil {
		return nil, err
	}
	spec := &run.FileSpec{
		FileIO: p.fio, Format: format, Env: p.env, Mem: memory.DefaultAllocator, Values: s.Fields, SchemaID: s.ID,
		Source: datafile.Compact, Stats: run.StatsOptions{Mode: run.StatsTruncate(16), KeepFirstN: -1, Dense: true},
		Encoding:   fileformat.WriteOptions{Compression: "none", Options: s.Options},
		TargetSize: 1 << 30, Names: layout.NewNamer(p.env), Prefix: opts.DataFilePrefix, Ending: format.Name(),
	}
	source := run.Source{
		FileIO: p.fio, Table: s, Tracks: opts.RowTracking, Mem: memory.DefaultAllocator, Format: formats.ByName,
		Schema: func(context.Context, int64) (*schema.Schema, error) { return s, nil },
	}
	columns := slices.Clone(s.Fields)
	if s.HasPrimaryKey() {
		spec.Keys, spec.Level = s.Select(s.TrimmedPrimaryKeys()), top
		columns = append(columns, types.SequenceNumberField())
	}
	if opts.RowTracking {
		spec.Tracking = run.Carried
		columns = append(columns, types.SequenceNumberField(), types.RowIDField())
	}
	var rows []numbered
	for _, e := range files {
		more, err := p.rowsOf(source, dir, e.File, columns)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if rows = change(rows); len(rows) == 0 {
		return nil, nil
	}
	rec, err := fileBatch(spec.Fields(), rows)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	w := run.NewRollingWriter(spec, dir, files[0].File.MinSequence)
	err = w.Write(p.ctx, rec)
	var out []*datafile.Meta
	if err == nil {
		out, err = w.Close(p.ctx)
	}
	if err != nil {
		if abortErr := w.Abort(p.ctx); abortErr != nil {
			p.say("abort:", abortErr)
		}
		return nil, err
	}
	return out, nil
}

// numbered is a row with the sequence number it has in its file, and with its id.
type numbered struct {
	row
	sequence, id int64
}

// rowsOf reads a data file.
func (p *process) rowsOf(source run.Source, dir string, file *datafile.Meta, columns []types.Field) ([]numbered, error) {
	r, err := source.Open(p.ctx, dir, file, run.Request{Columns: columns, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []numbered
	for {
		rec, err := r.Next(p.ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i, r := range rowsIn(rec) {
			n := numbered{row: r}
			if len(columns) > 4 {
				n.sequence = rec.Column(4).(*array.Int64).Value(i)
			}
			if len(columns) > 5 {
				n.id = rec.Column(5).(*array.Int64).Value(i)
			}
			out = append(out, n)
		}
	}
}

// rowsIn are the rows of a batch whose first columns are the table's.
func rowsIn(rec arrow.RecordBatch) []row {
	out := make([]row, rec.NumRows())
	for i := range out {
		out[i] = row{
			strings.Clone(rec.Column(0).(*array.String).Value(i)), rec.Column(1).(*array.Int64).Value(i),
			rec.Column(2).(*array.Int64).Value(i), strings.Clone(rec.Column(3).(*array.String).Value(i)),
		}
	}
	return out
}

// newest leaves the row of the highest s of each key, in the order of keys.
func newest(rows []numbered) []numbered {
	slices.SortFunc(rows, func(a, b numbered) int {
		return cmp.Or(strings.Compare(a.p, b.p), cmp.Compare(a.k, b.k), -cmp.Compare(a.s, b.s))
	})
	return slices.CompactFunc(rows, func(a, b numbered) bool { return a.p == b.p && a.k == b.k })
}

// fileBatch makes a batch of the columns of data files. The caller releases it.
func fileBatch(fields []types.Field, rows []numbered) (arrow.RecordBatch, error) {
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	defer b.Release()
	for i, f := range fields {
		for _, r := range rows {
			switch strings.TrimPrefix(f.Name, "_KEY_") {
			case "p":
				b.Field(i).(*array.StringBuilder).Append(r.p)
			case "k":
				b.Field(i).(*array.Int64Builder).Append(r.k)
			case "s":
				b.Field(i).(*array.Int64Builder).Append(r.s)
			case "v":
				b.Field(i).(*array.StringBuilder).Append(r.v)
			case types.SequenceNumberName:
				b.Field(i).(*array.Int64Builder).Append(r.sequence)
			case types.RowIDName:
				b.Field(i).(*array.Int64Builder).Append(r.id)
			case types.ValueKindName:
				b.Field(i).(*array.Int8Builder).Append(0)
			}
		}
	}
	return b.NewRecordBatch(), nil
}
