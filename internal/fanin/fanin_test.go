package fanin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fields are those of the rows merged: a key, values, then what a merge looks at.
var fields = []types.Field{
	{ID: 0, Name: "k", Type: types.Type{Root: types.BigInt}},
	{ID: 1, Name: "v", Type: types.Type{Root: types.BigInt, Nullable: true}},
	{ID: 2, Name: "s", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}},
	types.SequenceNumberField(), types.ValueKindField(),
}

type row struct {
	key, value, seq int64
	kind            int8
	text            string
}

type fixture struct {
	t      *rapid.T
	alloc  *memory.CheckedAllocator
	schema *arrow.Schema
	cfg    merge.Config
	runs   [][]row
	levels []int32
	open   atomic.Int64 // files that are open, and the most there were
	most   int64
}

func draw(t *rapid.T, runs int) *fixture {
	f := &fixture{t: t, alloc: memory.NewCheckedAllocator(memory.DefaultAllocator)}
	engine := rapid.SampledFrom([]string{"deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"}).Draw(t, "engine")
	options := map[string]string{"bucket": "1", "merge-engine": engine}
	ignore := engine == "first-row" || engine == "partial-update" || rapid.IntRange(0, 3).Draw(t, "ignore") == 0
	if ignore {
		options["ignore-delete"] = "true"
	}
	if engine == "aggregation" {
		options["fields.v.aggregate-function"], options["fields.s.aggregate-function"] = "sum", "last_non_null_value"
		options["fields.s.ignore-retract"] = "true"
	}
	s, err := schema.NewSchema(schema.Spec{Fields: fields[:3], PrimaryKeys: []string{"k"}, Options: options}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := merge.NewRules(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	if f.schema, err = types.ArrowSchema(fields); err != nil {
		t.Fatal(err)
	}
	order, err := merge.NewOrder([]merge.Column{{Index: 0, Type: fields[0].Type}})
	if err != nil {
		t.Fatal(err)
	}
	f.cfg = merge.Config{
		Keys: order, SequenceNumber: 3, Kind: 4, Schema: f.schema, Output: []int{0, 1, 2, 3, 4}, Mem: f.alloc,
		KeepDeletes: rapid.Bool().Draw(t, "keep deletes"), Ranked: rapid.Bool().Draw(t, "ranked"),
	}
	if err := rules.Apply(&f.cfg, fields); err != nil {
		t.Fatal(err)
	}
	seq := int64(0)
	for i := range rapid.IntRange(min(runs, 4), runs).Draw(t, "runs") {
		keys := rapid.SliceOfNDistinct(rapid.Int64Range(0, 60), 1, 30, rapid.ID[int64]).Draw(t, "keys")
		slices.Sort(keys)
		var rows []row
		for _, k := range keys {
			r := row{key: k, value: rapid.Int64Range(0, 9).Draw(t, "value"), seq: seq, text: fmt.Sprintf("text %d of %d", k, i)}
			if engine == "deduplicate" || engine == "aggregation" {
				r.kind = rapid.SampledFrom([]int8{0, 0, 0, 2, 3}).Draw(t, "kind")
			}
			seq++
			rows = append(rows, r)
		}
		f.runs = append(f.runs, rows)
		f.levels = append(f.levels, int32(i%3))
	}
	if !f.cfg.Ranked { // the numbers say what the order does not
		slices.Reverse(f.runs)
	}
	return f
}

func (f *fixture) batch(rows []row) arrow.RecordBatch {
	b := array.NewRecordBuilder(f.alloc, f.schema)
	defer b.Release()
	for _, r := range rows {
		b.Field(0).(*array.Int64Builder).Append(r.key)
		b.Field(1).(*array.Int64Builder).Append(r.value)
		b.Field(2).(*array.StringBuilder).Append(r.text)
		b.Field(3).(*array.Int64Builder).Append(r.seq)
		b.Field(4).(*array.Int8Builder).Append(r.kind)
	}
	return b.NewRecordBatch()
}

// files are the runs, of two files each where they have rows enough.
func (f *fixture) files(size int64) []Run {
	out := make([]Run, len(f.runs))
	for i, rows := range f.runs {
		half := len(rows) / 2
		for part, rows := range [][]row{rows[:half], rows[half:]} {
			if len(rows) == 0 {
				continue
			}
			out[i] = append(out[i], Part{Bytes: size * int64(1+i%4), Level: f.levels[i] + int32(part), Open: func(context.Context) (batch.Reader, error) {
				rec := f.batch(rows)
				defer rec.Release()
				f.most = max(f.most, f.open.Add(1))
				return &counted{Reader: batch.Of(f.schema, rec), open: &f.open}, nil
			}})
		}
	}
	return out
}

type counted struct {
	batch.Reader
	open *atomic.Int64
}

func (c *counted) Close() error {
	if c.open != nil {
		c.open.Add(-1)
		c.open = nil
	}
	return c.Reader.Close()
}

// merged are the rows that come out of a merge, or of a trace, as text.
func (f *fixture) merged(l Limits, trace bool, size int64) ([]string, error) {
	ctx := context.Background()
	set := New(l, f.cfg, f.schema, trace, f.files(size))
	in, err := set.Readers(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(rec arrow.RecordBatch, i int, more ...any) {
		line := fmt.Sprint(more...)
		for _, c := range rec.Columns() {
			line += " " + c.ValueStr(i)
		}
		out = append(out, line)
	}
	if trace {
		tr := merge.NewTrace(f.cfg, in, set.Level)
		for {
			keys, err := tr.Next(ctx)
			if err != nil {
				if e := tr.Close(); err == io.EOF {
					err = e
				}
				return out, err
			}
			for i, r := range keys.Refs {
				add(keys.Sources[r.Source()], r.Row(), keys.Levels[i])
			}
		}
	}
	r := merge.NewReader(f.cfg, in)
	for {
		rec, err := r.Next(ctx)
		if err != nil {
			if e := r.Close(); err == io.EOF {
				err = e
			}
			return out, err
		}
		for i := range int(rec.NumRows()) {
			add(rec, i)
		}
	}
}

// However runs are bounded, what comes out of their merge is the same; no more of
// them are read at one time than may be, and no temporary file is left.
func TestBoundedMergesAreEqual(t *testing.T) {
	runs := 40
	if raceDetector {
		runs = 12
	}
	var spilled atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		f := draw(t, runs)
		trace := rapid.Bool().Draw(t, "trace")
		want, err := f.merged(Limits{Mem: f.alloc}, trace, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.most = 0
		fs := mem.New(mem.Posix)
		store := spill.NewStore(fs, "/tmp")
		l := Limits{Store: store, Codec: spill.NewCodec("lz4", 1), Mem: f.alloc}
		if rapid.Bool().Draw(t, "by runs") {
			l.Runs = rapid.IntRange(2, 12).Draw(t, "most runs")
		} else {
			l.Memory = rapid.Int64Range(100<<10, 3<<20).Draw(t, "memory")
		}
		got, err := f.merged(l, trace, 60<<10)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if l.Runs > 0 && f.most > int64(l.Runs) {
			t.Errorf("%d files were open, %d may be", f.most, l.Runs)
		}
		if f.most < int64(len(f.runs)) {
			spilled.Add(1)
		}
		if n := len(fs.Paths()); n > 0 || store.Bytes() != 0 || f.open.Load() != 0 {
			t.Errorf("%d temporary files of %d bytes are left, %d files are open", n, store.Bytes(), f.open.Load())
		}
		f.alloc.AssertSize(t, 0)
	})
	if spilled.Load() == 0 && !testing.Short() {
		t.Error("nothing was spilled")
	}
}

// A fault of the disk that runs spill to ends the merge; nothing is left of it.
func TestFaultsWhileSpilling(t *testing.T) {
	example := rapid.Custom(func(t *rapid.T) *fixture { return draw(t, 4) }).Example(11)
	faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
		inner := mem.New(mem.Posix)
		disk := faultio.New(inner, plan)
		store := spill.NewStore(disk, "/tmp")
		for _, trace := range []bool{false, true} {
			_, err := example.merged(Limits{Store: store, Codec: spill.NewCodec("none", 1), Runs: 2, Mem: example.alloc}, trace, 1)
			if err != nil && !errors.Is(err, tarnerr.Unavailable) {
				t.Errorf("an error of another kind: %v", err)
			}
		}
		disk.SetPlan(faultio.None())
		calls := disk.Count()
		if err := store.Close(); err != nil || len(inner.Paths()) > 0 || example.open.Load() != 0 {
			t.Errorf("%d temporary files are left, %d files are open: %v", len(inner.Paths()), example.open.Load(), err)
		}
		example.alloc.AssertSize(t, 0)
		return calls
	})
}
