package compact

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

var fields = []types.Field{
	{ID: 0, Name: "v", Type: types.Type{Root: types.BigInt, Nullable: true}},
	{ID: 1, Name: "k", Type: types.Type{Root: types.Int}},
	{ID: 2, Name: "u", Type: types.Type{Root: types.Int, Nullable: true}},
	{ID: 3, Name: "s", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}},
}

// record is one row of a key table.
type record struct {
	key, value int64
	user       types.Value // of the sequence field
	seq        int64
	kind       types.RowKind
}

// fixture is one bucket of a table in memory.
type fixture struct {
	t      failer
	mem    *memory.CheckedAllocator
	fs     *mem.FS
	fio    fileio.FileIO
	schema *schema.Schema
	place  layout.Table
	env    env.Env
	names  *layout.Namer
	// lookups keeps local files; nil: there are none.
	lookups *lookup.Store
}

func newFixture(t failer, keys []string, options map[string]string) *fixture {
	e := env.Seeded(1, time.Unix(1700000000, 0))
	fs := mem.New(mem.Posix)
	all := map[string]string{"bucket": "1"}
	maps.Copy(all, options)
	return &fixture{
		t: t, mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), fs: fs, fio: fs, env: e, names: layout.NewNamer(e),
		place:  layout.Table{Dir: "/w/db.db/t"},
		schema: &schema.Schema{ID: 4, Version: schema.Version, Fields: fields, PrimaryKeys: keys, Options: all},
	}
}

func (f *fixture) options() option.Options {
	f.t.Helper()
	o, err := option.Parse(f.schema.Options)
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func (f *fixture) rewriter(workers int) *Rewriter {
	f.t.Helper()
	r, err := New(Config{
		Table: "db.t", FileIO: f.fio, Place: f.place, Schema: f.schema, Options: f.options(), Format: formats.ByName,
		SchemaByID: func(context.Context, int64) (*schema.Schema, error) { return f.schema, nil },
		Env:        f.env, Mem: f.mem, Lookups: f.lookups, Workers: workers,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) dir() string { return f.place.BucketDir("", 0) }

// flush writes rows as a flush does: sorted by key, each once.
func (f *fixture) flush(level int, rows ...record) []*datafile.Meta {
	f.t.Helper()
	o := f.options()
	spec, err := run.SpecOf(f.schema, &o, level, datafile.Append)
	if err != nil {
		f.t.Fatal(err)
	}
	if spec.Format, err = formats.ByName(o.FormatAt(level)); err != nil {
		f.t.Fatal(err)
	}
	spec.FileIO, spec.Env, spec.Mem, spec.Names, spec.Ending = f.fs, f.env, f.mem, f.names, spec.Format.Name()
	slices.SortStableFunc(rows, func(a, b record) int { return int(a.key - b.key) })
	first := int64(0)
	if len(rows) > 0 {
		first = rows[0].seq
	}
	w := run.NewRollingWriter(&spec, f.dir(), first)
	rec := f.batch(spec.Fields(), rows)
	defer rec.Release()
	if err := w.Write(context.Background(), rec); err != nil {
		f.t.Fatal(err)
	}
	out, err := w.Close(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fixture) batch(cols []types.Field, rows []record) arrow.RecordBatch {
	f.t.Helper()
	sc, err := types.ArrowSchema(cols)
	if err != nil {
		f.t.Fatal(err)
	}
	b := array.NewRecordBuilder(f.mem, sc)
	defer b.Release()
	for _, r := range rows {
		for i, c := range cols {
			var v types.Value
			switch c.Name {
			case "k", types.KeyField(fields[1]).Name:
				v = r.key
			case "v":
				v = r.value
			case "u":
				v = r.user
			case "s":
				v = "text"
			case types.SequenceNumberName:
				v = r.seq
			case types.ValueKindName:
				v = int64(r.kind)
			}
			if err := types.AppendValue(b.Field(i), c.Type, v); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// rows reads files one after the other, nothing merged.
func (f *fixture) rows(files ...*datafile.Meta) []record {
	f.t.Helper()
	src := run.Source{
		FileIO: f.fs, Format: formats.ByName, Table: f.schema, Mem: f.mem,
		Schema: func(context.Context, int64) (*schema.Schema, error) { return f.schema, nil },
	}
	cols := slices.Clone(fields)
	keyed := f.schema.HasPrimaryKey()
	if keyed {
		cols = append(cols, types.SequenceNumberField(), types.ValueKindField())
	}
	var out []record
	for _, file := range files {
		r, err := src.Open(context.Background(), f.dir(), file, run.Request{Columns: cols})
		if err != nil {
			f.t.Fatal(err)
		}
		for {
			rec, err := r.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				f.t.Fatal(err)
			}
			for i := range int(rec.NumRows()) {
				row := record{
					value: rec.Column(0).(*array.Int64).Value(i), key: int64(rec.Column(1).(*array.Int32).Value(i)),
				}
				if u := rec.Column(2).(*array.Int32); u.IsValid(i) {
					row.user = int64(u.Value(i))
				}
				if keyed {
					row.seq = rec.Column(4).(*array.Int64).Value(i)
					row.kind = types.RowKind(rec.Column(5).(*array.Int8).Value(i))
				}
				out = append(out, row)
			}
		}
		if err := r.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	return out
}

// live are the rows a read gives: of each key the newest, deletes left out.
func (f *fixture) live(files []*datafile.Meta) map[int64]record {
	f.t.Helper()
	out := map[int64]record{}
	user := f.options().SequenceFields != nil
	for _, r := range f.rows(files...) {
		old, ok := out[r.key]
		if !ok || newer(r, old, user) {
			out[r.key] = r
		}
	}
	for k, r := range out {
		if r.kind.IsRetract() {
			delete(out, k)
		}
	}
	return out
}

func newer(a, b record, user bool) bool {
	if user && a.user != b.user {
		if a.user == nil || b.user == nil {
			return b.user == nil
		}
		return a.user.(int64) > b.user.(int64)
	}
	return a.seq > b.seq
}

func (f *fixture) levels(files []*datafile.Meta, r *Rewriter) *lsm.Levels {
	f.t.Helper()
	l, err := lsm.NewLevels(files, r.KeyTypes(), f.options().NumLevels)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// pickFull takes all files, as a full compaction does.
func (f *fixture) pickFull(r *Rewriter, l *lsm.Levels) (lsm.Unit, bool) {
	f.t.Helper()
	must, err := r.MustRewrite(context.Background(), l.Files())
	if err != nil {
		f.t.Fatal(err)
	}
	return lsm.PickFull(l.Count(), l.Runs(), must)
}
