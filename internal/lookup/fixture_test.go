package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/spill"
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

var (
	values = []types.Field{
		{ID: 0, Name: "v", Type: types.Type{Root: types.BigInt, Nullable: true}},
		{ID: 1, Name: "a", Type: types.Type{Root: types.VarChar, Length: types.MaxLength}},
		{ID: 2, Name: "b", Type: types.Type{Root: types.Int}},
		{ID: 3, Name: "l", Type: types.Type{Root: types.Array, Nullable: true, Element: &types.Type{Root: types.Int, Nullable: true}}},
	}
	keyFields = []types.Field{values[1], values[2]}
)

// row is a row of the table: its key is (a, b).
type row struct {
	a    string
	b    int64
	v    int64
	kind types.RowKind
}

func (r row) key() string { return fmt.Sprintf("%s/%d", r.a, r.b) }

// fixture is a bucket of a table in memory, and a store of local files.
type fixture struct {
	t       failer
	mem     *memory.CheckedAllocator
	fs      *mem.FS
	fio     fileio.FileIO // of the table
	local   fileio.FileIO // of local files
	env     env.Env
	names   *layout.Namer
	schema  *schema.Schema
	old     map[int64]*schema.Schema
	options map[string]string
	budget  *budget.Budget
	store   *Store
	warned  []string
	always  bool // local files are read whatever that costs
}

const dir = "/w/db.db/t/bucket-0"

func newFixture(t failer, options map[string]string) *fixture {
	e := env.Seeded(1, time.Unix(1700000000, 0))
	fs := mem.New(mem.Posix)
	all := map[string]string{"bucket": "1", "changelog-producer": "lookup"}
	maps.Copy(all, options)
	return &fixture{
		t: t, mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), fs: fs, fio: fs, local: fs, env: e, names: layout.NewNamer(e),
		schema:  &schema.Schema{ID: 4, Version: schema.Version, Fields: values, PrimaryKeys: []string{"a", "b"}, Options: all},
		options: all, old: map[int64]*schema.Schema{}, budget: budget.New(64 << 20), always: true,
	}
}

// open makes the store, once.
func (f *fixture) open() *Store {
	if f.store == nil {
		f.store = NewStore(spill.NewStore(f.local, "/tmp/x"), f.budget, f.env)
	}
	return f.store
}

// close ends the test: nothing may be left in memory.
func (f *fixture) close() {
	f.t.Helper()
	if f.store != nil {
		f.store.Close()
	}
	if n := f.budget.Used(); n != 0 {
		f.t.Fatalf("%d bytes of the budget are held", n)
	}
	if n := f.mem.CurrentAlloc(); n != 0 {
		f.t.Fatalf("%d bytes of memory are left", n)
	}
}

func (f *fixture) parsed() option.Options {
	f.t.Helper()
	o, err := option.Parse(f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func (f *fixture) source() *run.Source {
	return &run.Source{
		FileIO: f.fio, Format: formats.ByName, Table: f.schema, Mem: f.mem,
		Schema: func(_ context.Context, id int64) (*schema.Schema, error) {
			if s := f.old[id]; s != nil {
				return s, nil
			}
			return f.schema, nil
		},
	}
}

func (f *fixture) config() Config {
	return Config{
		Source: f.source(), Columns: append(slices.Clone(f.schema.Fields), types.SequenceNumberField(), types.ValueKindField()),
		Key: keyFields, Asked: []int{0, 1}, Mem: f.mem,
	}
}

// reader looks up with local files.
func (f *fixture) reader() *Reader {
	f.t.Helper()
	cfg := f.config()
	cfg.Files = f.open().Files("/w/db.db/t", f.parsed().LookupFiles, func(doing string, err error) { f.warned = append(f.warned, doing+": "+err.Error()) })
	cfg.Files.always = f.always
	return f.readerOf(cfg)
}

func (f *fixture) readerOf(cfg Config) *Reader {
	f.t.Helper()
	r, err := New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func order(x, y row) int {
	if x.a != y.a {
		if x.a < y.a {
			return -1
		}
		return 1
	}
	return int(x.b - y.b)
}

// flush writes rows to a file of a level.
func (f *fixture) flush(level int32, rows ...row) []*datafile.Meta {
	f.t.Helper()
	o := f.parsed()
	spec, err := run.SpecOf(f.schema, &o, 0, datafile.Append)
	if err != nil {
		f.t.Fatal(err)
	}
	if spec.Format, err = formats.ByName(o.FormatAt(0)); err != nil {
		f.t.Fatal(err)
	}
	spec.FileIO, spec.Env, spec.Mem, spec.Names, spec.Ending = f.fs, f.env, f.mem, f.names, spec.Format.Name()
	slices.SortFunc(rows, order)
	w := run.NewRollingWriter(&spec, dir, 0)
	rec := f.batch(spec.Fields(), rows)
	defer rec.Release()
	if err := w.Write(context.Background(), rec); err != nil {
		f.t.Fatal(err)
	}
	out, err := w.Close(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range out {
		m.Level = level
	}
	return out
}

func (f *fixture) batch(cols []types.Field, rows []row) arrow.RecordBatch {
	f.t.Helper()
	sc, err := types.ArrowSchema(cols)
	if err != nil {
		f.t.Fatal(err)
	}
	b := array.NewRecordBuilder(f.mem, sc)
	defer b.Release()
	for i, r := range rows {
		for c, field := range cols {
			var v types.Value
			switch field.Name {
			case "a", types.KeyField(values[1]).Name:
				v = r.a
			case "b", types.KeyField(values[2]).Name:
				v = r.b
			case "v":
				v = r.v
			case "l":
				if r.v%3 != 0 {
					v = []types.Value{r.v % 1000, nil}
				}
			case types.SequenceNumberName:
				v = int64(i)
			case types.ValueKindName:
				v = int64(r.kind)
			}
			if err := types.AppendValue(b.Field(c), field.Type, v); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// keys are the keys of rows, which must ascend, in two sources.
func (f *fixture) keys(rows []row) (Keys, func()) {
	f.t.Helper()
	if !slices.IsSortedFunc(rows, order) {
		f.t.Fatal("the test asks for keys out of order")
	}
	half := len(rows) / 2
	out := Keys{Sources: []arrow.RecordBatch{f.batch(keyFields, rows[:half]), f.batch(keyFields, rows[half:])}}
	out.Refs = batch.AppendRange(batch.AppendRange(nil, 0, 0, half), 1, 0, len(rows)-half)
	return out, func() {
		for _, s := range out.Sources {
			s.Release()
		}
	}
}

// get looks rows up by their keys: values of those found, deletes as "-".
func (f *fixture) get(b *Bucket, rows ...row) map[string]string {
	f.t.Helper()
	keys, release := f.keys(rows)
	defer release()
	found, err := b.Get(context.Background(), keys)
	if err != nil {
		f.t.Fatal(err)
	}
	defer found.Release()
	return f.texts(rows, found)
}

func (f *fixture) texts(rows []row, found *Rows) map[string]string {
	f.t.Helper()
	if len(found.Refs) != len(rows) {
		f.t.Fatalf("%d refs of %d keys", len(found.Refs), len(rows))
	}
	out := map[string]string{}
	for i, ref := range found.Refs {
		if ref == None {
			continue
		}
		rec := found.Batches[ref.Source()]
		key := row{a: rec.Column(1).(*array.String).Value(ref.Row()), b: int64(rec.Column(2).(*array.Int32).Value(ref.Row()))}
		if key.key() != rows[i].key() {
			f.t.Fatalf("key %s gave %s", rows[i].key(), key.key())
		}
		v := rec.Column(0).(*array.Int64).Value(ref.Row())
		text := fmt.Sprint(v)
		if types.RowKind(rec.Column(5).(*array.Int8).Value(ref.Row())).IsRetract() {
			text += "-"
		}
		l := rec.Column(3).(*array.List)
		if want := v%3 != 0; l.IsValid(ref.Row()) != want {
			f.t.Fatalf("list of %d is valid: %v", v, !want)
		} else if want {
			from, _ := l.ValueOffsets(ref.Row())
			if got := l.ListValues().(*array.Int32).Value(int(from)); int64(got) != v%1000 {
				f.t.Fatalf("list of %d begins with %d", v, got)
			}
		}
		out[key.key()] = text
	}
	return out
}

// owe makes the files worth local ones.
func (f *fixture) owe(r *Reader, files ...*datafile.Meta) {
	for _, m := range files {
		r.cfg.Files.spent(dir+"/"+m.FileName, r.layout, m, 10*priceOf(m), 0)
	}
}

// many are n rows with every step-th key.
func many(n, step int, v int64) []row {
	rows := make([]row, n)
	for i := range rows {
		k := i * step
		rows[i] = row{a: fmt.Sprintf("key %03d", k/1000), b: int64(k % 1000), v: v + int64(k)}
	}
	return rows
}

func closeBucket(t failer, b *Bucket) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// negative says that rows with negative values do not count.
func negative(rec arrow.RecordBatch) []bool {
	v := rec.Column(0).(*array.Int64)
	keep := make([]bool, v.Len())
	for i := range keep {
		keep[i] = v.Value(i) >= 0
	}
	return keep
}
