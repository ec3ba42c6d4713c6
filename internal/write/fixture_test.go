package write

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// fixture is a table without metadata: a writer and what it needs.
type fixture struct {
	t      testing.TB
	schema *schema.Schema
	fs     *mem.FS
	alloc  *memory.CheckedAllocator
	cfg    Config
	held   heldBuckets
}

// heldBuckets is a Restorer with fixed answers; it counts how often it is asked.
type heldBuckets struct {
	total int32
	max   int64
	calls int
}

func (h *heldBuckets) Restore(_ context.Context, _ int32, buckets []Bucket) ([]Held, error) {
	h.calls++
	out := make([]Held, len(buckets))
	for i := range out {
		out[i] = Held{MaxSequence: h.max, TotalBuckets: h.total}
	}
	return out, nil
}

func newFixture(t testing.TB, spec schema.Spec) *fixture {
	t.Helper()
	s, err := schema.NewSchema(spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, schema: s, fs: mem.New(mem.Posix), alloc: memory.NewCheckedAllocator(memory.NewGoAllocator()), held: heldBuckets{max: -1}}
	f.cfg = Config{
		Table: "db.t", FileIO: f.fs, Place: layout.Table{Dir: "/w/db.db/t"}, Schema: s, Options: opts,
		Format: parquet.New(), Restore: &f.held, Env: env.Seeded(7, time.Unix(1_700_000_000, 0).UTC()), Mem: f.alloc,
	}
	return f
}

func (f *fixture) writer() *Writer {
	f.t.Helper()
	w, err := New(f.cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// batchOf makes a batch of the table's columns and, when kinds is not nil, _kind.
func (f *fixture) batchOf(kinds []int8, values ...[]types.Value) arrow.RecordBatch {
	f.t.Helper()
	fields := f.schema.Fields
	if kinds != nil {
		fields = append([]types.Field{{Name: types.KindColumn, Type: types.Type{Root: types.TinyInt}}}, fields...)
	}
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		f.t.Fatal(err)
	}
	b := array.NewRecordBuilder(f.alloc, sc)
	defer b.Release()
	for r, row := range values {
		if kinds != nil {
			row = append([]types.Value{int64(kinds[r])}, row...)
		}
		for i, v := range row {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// write writes one batch.
func (f *fixture) write(w *Writer, kinds []int8, values ...[]types.Value) error {
	f.t.Helper()
	rec := f.batchOf(kinds, values...)
	defer rec.Release()
	return w.Write(context.Background(), rec)
}

// lines reads a data file: one line per row, system columns last.
func (f *fixture) lines(dir string, file *datafile.Meta) []string {
	f.t.Helper()
	src := run.Source{
		FileIO: f.fs, Table: f.schema, Mem: f.alloc,
		Format: func(string) (fileformat.Format, error) { return parquet.New(), nil },
		Schema: func(context.Context, int64) (*schema.Schema, error) { return f.schema, nil },
	}
	cols := f.schema.Fields
	if f.schema.HasPrimaryKey() {
		cols = append(append([]types.Field{}, cols...), types.SequenceNumberField(), types.ValueKindField())
	}
	r, err := src.Open(context.Background(), dir, file, run.Request{Columns: cols})
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out
		}
		if err != nil {
			f.t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			var b strings.Builder
			for c, field := range f.schema.Fields {
				text := "null"
				if v := types.ValueAt(field.Type, rec.Column(c), i); v != nil {
					text = types.FormatValue(field.Type, v)
				}
				fmt.Fprintf(&b, "%s ", text)
			}
			if n := len(f.schema.Fields); f.schema.HasPrimaryKey() {
				seq := rec.Column(n).(*array.Int64).Value(i)
				kind := types.RowKind(rec.Column(n + 1).(*array.Int8).Value(i))
				fmt.Fprintf(&b, "seq=%d %s", seq, kind)
			}
			out = append(out, strings.TrimSpace(b.String()))
		}
	}
}

// describe prints messages: per file what its metadata says, then its rows.
func (f *fixture) describe(messages []*commitmsg.Message) string {
	f.t.Helper()
	names := layout.NewPartitioner(f.schema.Select(f.schema.PartitionKeys), "", f.cfg.Options.PartitionLegacyName)
	var b strings.Builder
	for _, m := range messages {
		partition, err := names.Path(m.Partition)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, file := range m.NewFiles {
			fmt.Fprintf(&b, "%s of %d: rows=%d deletes=%d seq=%d..%d level=%d\n",
				strings.TrimPrefix(partition+"/"+layout.BucketName(m.Bucket), "/"), *m.TotalBuckets,
				file.RowCount, *file.DeleteRowCount, file.MinSequence, file.MaxSequence, file.Level)
			for _, l := range f.lines(f.cfg.Place.BucketDir(partition, m.Bucket), file) {
				fmt.Fprintf(&b, "  %s\n", l)
			}
		}
	}
	return b.String()
}

func field(name string, root types.Root, nullable bool) types.Field {
	t := types.Type{Root: root, Nullable: nullable}
	if root == types.VarChar {
		t.Length = math.MaxInt32
	}
	return types.Field{Name: name, Type: t}
}

var _ fileio.FileIO = (*mem.FS)(nil)
