package read

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// keyFields are the columns of the key tables in these tests: k is the key, u
// may be the sequence field.
var keyFields = []types.Field{
	{ID: 0, Name: "v", Type: types.Type{Root: types.BigInt, Nullable: true}},
	{ID: 1, Name: "k", Type: types.Type{Root: types.Int}},
	{ID: 2, Name: "u", Type: types.Type{Root: types.Int, Nullable: true}},
	{ID: 3, Name: "s", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}},
}

// record is one row of a key table.
type record struct {
	key  int64
	user types.Value
	v    types.Value
	seq  int64
	kind types.RowKind
}

func (r record) value(column string) types.Value {
	switch column {
	case "k":
		return r.key
	case "u":
		return r.user
	case "v":
		return r.v
	}
	return fmt.Sprintf("%d@%d", r.key, r.seq)
}

// fixture is a table in memory, of Parquet files written by run.RollingWriter.
type fixture struct {
	mem    *memory.CheckedAllocator
	table  *schema.Schema
	fs     *mem.FS
	layout layout.Table
	names  *layout.Namer
	env    env.Env
	pages  atomic.Int64 // decoded in files closed so far
	target int64
	coding fileformat.WriteOptions
}

func newFixture(fields []types.Field, keys, partition []string) *fixture {
	e := env.Seeded(1, time.Unix(1700000000, 0))
	return &fixture{
		mem:   memory.NewCheckedAllocator(memory.DefaultAllocator),
		table: &schema.Schema{Version: schema.Version, Fields: fields, PrimaryKeys: keys, PartitionKeys: partition, Options: map[string]string{"bucket": "1"}},
		fs:    mem.New(mem.Posix), layout: layout.Table{Dir: "/w/db.db/t"}, names: layout.NewNamer(e), env: e, target: 128 << 20,
	}
}

// format counts the pages that files decode.
type format struct {
	fileformat.Format
	f *fixture
}

func (o format) Open(ctx context.Context, fio fileio.FileIO, path string, size int64, m memory.Allocator) (fileformat.File, error) {
	f, err := parquet.Open(ctx, fio, path, size, m)
	if err != nil {
		return nil, err
	}
	return counted{f, o.f}, nil
}

type counted struct {
	*parquet.File
	f *fixture
}

func (c counted) Close() error {
	c.f.pages.Add(c.PagesDecoded())
	return c.File.Close()
}

func (f *fixture) config(t failer, options map[string]string) Config {
	all := map[string]string{}
	for _, m := range []map[string]string{f.table.Options, options} {
		for k, v := range m {
			all[k] = v
		}
	}
	o, err := option.Parse(all)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Files: &run.Source{
			FileIO: f.fs, Table: f.table, Mem: f.mem,
			Format: func(string) (fileformat.Format, error) { return format{parquet.New(), f}, nil },
			Schema: func(context.Context, int64) (*schema.Schema, error) { return f.table, nil },
		},
		Layout: f.layout, Options: o,
	}
}

// write makes the files of one run of values, each a row in file column order.
func (f *fixture) write(t failer, level int32, rows [][]types.Value) []*datafile.Meta {
	t.Helper()
	spec := &run.FileSpec{
		FileIO: f.fs, Format: parquet.New(), Env: f.env, Mem: f.mem, Keys: f.table.Select(f.table.TrimmedPrimaryKeys()),
		Values: f.table.Fields, Level: level, Stats: run.StatsOptions{KeepFirstN: -1}, TargetSize: f.target, Names: f.names,
		Ending: "parquet", Encoding: f.coding,
	}
	fields := spec.Fields()
	s, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	w := run.NewRollingWriter(spec, f.layout.BucketDir("", 0), 0)
	for part := range slices.Chunk(rows, 4096) {
		b := array.NewRecordBuilder(f.mem, s)
		for _, r := range part {
			for i, v := range r {
				if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	metas, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return metas
}

// writeRun makes a run of a key table.
func (f *fixture) writeRun(t failer, level int32, records []record) []*datafile.Meta {
	t.Helper()
	var rows [][]types.Value
	for _, r := range records {
		row := []types.Value{r.key, r.seq, int64(r.kind)}
		for _, c := range keyFields {
			row = append(row, r.value(c.Name))
		}
		rows = append(rows, row)
	}
	return f.write(t, level, rows)
}

func splitOf(raw bool, files ...*datafile.Meta) *split.Split {
	return &split.Split{Partition: binaryrow.Empty, Files: files, RawConvertible: raw}
}

func where(t failer, e expr.Expr, fields []types.Field) *expr.Bound {
	b, err := expr.Bind(e, fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rowsOf reads r to its end, closes it and returns its rows as text.
func rowsOf(t failer, r batch.Reader) []string {
	t.Helper()
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.NumRows() == 0 || !rec.Schema().Equal(r.Schema()) {
			t.Fatal("an empty batch or one of another schema: ", rec.Schema())
		}
		out = append(out, textOf(rec)...)
	}
}

func textOf(rec arrow.RecordBatch) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		var cells []string
		for _, c := range rec.Columns() {
			cells = append(cells, c.ValueStr(i))
		}
		out[i] = strings.Join(cells, " ")
	}
	return out
}
