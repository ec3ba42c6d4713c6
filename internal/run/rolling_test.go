package run

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var (
	intKey = types.Field{ID: 0, Name: "k", Type: types.Type{Root: types.BigInt}}
	strVal = types.Field{ID: 1, Name: "v", Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}}
	zoned  = time.FixedZone("east", 2*3600)
)

func testSpec(fs *mem.FS, alloc memory.Allocator, keys ...types.Field) *FileSpec {
	e := env.Seeded(1, time.Date(2026, 1, 2, 3, 4, 5, 0, zoned))
	return &FileSpec{
		FileIO: fs, Format: parquet.New(), Env: e, Mem: alloc, Keys: keys, Values: []types.Field{intKey, strVal},
		SchemaID: 7, Source: datafile.Append, Stats: StatsOptions{Mode: StatsTruncate(16), KeepFirstN: -1, Dense: true},
		Encoding: fileformat.WriteOptions{Compression: "none"}, TargetSize: 1 << 30, Names: layout.NewNamer(e), Ending: "parquet",
	}
}

// rows makes a batch of fields; values are given row by row.
func rows(t *testing.T, alloc memory.Allocator, fields []types.Field, values ...[]types.Value) arrow.RecordBatch {
	t.Helper()
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(alloc, schema)
	defer b.Release()
	for _, row := range values {
		for i, v := range row {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

func TestKeyValueMetadata(t *testing.T) {
	for _, thin := range []bool{false, true} {
		t.Run(fmt.Sprintf("thin=%v", thin), func(t *testing.T) {
			alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer alloc.AssertSize(t, 0)
			ctx, fs := context.Background(), mem.New(mem.Posix)
			spec := testSpec(fs, alloc, intKey)
			spec.Thin = thin
			line := func(k, seq, kind int64, v types.Value) []types.Value {
				row := []types.Value{k, seq, kind, k, v}
				if thin {
					row = row[1:]
				}
				return row
			}
			w := NewRollingWriter(spec, "/t/bucket-0", 0)
			for _, part := range [][][]types.Value{
				{line(1, 5, 0, "b"), line(2, 3, 3, nil)},
				{line(4, 4, 2, "averyveryverylongvalue")},
			} {
				rec := rows(t, alloc, spec.Fields(), part...)
				if err := w.Write(ctx, rec); err != nil {
					t.Fatal(err)
				}
				rec.Release()
			}
			files, err := w.Close(ctx)
			if err != nil || len(files) != 1 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			m := files[0]
			key := func(k int64) binaryrow.Row {
				r, err := binaryrow.Encode([]types.Type{intKey.Type}, []types.Value{k})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			str := func(a int64, s string) binaryrow.Row {
				r, err := binaryrow.Encode([]types.Type{intKey.Type, strVal.Type}, []types.Value{a, s})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			info, err := fs.Stat(ctx, "/t/bucket-0/"+m.FileName)
			if err != nil {
				t.Fatal(err)
			}
			zero, one := int64(0), int64(1)
			created := time.Date(2026, 1, 2, 3, 4, 5, 1e6, time.UTC).UnixMilli()
			source := datafile.Append
			want := &datafile.Meta{
				FileName: m.FileName, FileSize: info.Size, RowCount: 3, MinKey: key(1), MaxKey: key(4),
				KeyStats:    datafile.Stats{Min: key(1), Max: key(4), NullCounts: []*int64{&zero}},
				ValueStats:  datafile.Stats{Min: str(1, "averyveryverylon"), Max: str(4, "b"), NullCounts: []*int64{&zero, &one}},
				MinSequence: 3, MaxSequence: 5, SchemaID: 7, ExtraFiles: []string{}, CreationMillis: &created,
				DeleteRowCount: &one, FileSource: &source,
			}
			if d := cmp.Diff(want, m); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAppendMetadataAndRolling(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	ctx, fs := context.Background(), mem.New(mem.Posix)
	spec := testSpec(fs, alloc)
	spec.TargetSize = 20 << 10
	w := NewRollingWriter(spec, "/t/bucket-0", 100)
	const total = 20_000
	var values [][]types.Value
	for i := range total {
		values = append(values, []types.Value{int64(i), fmt.Sprintf("value %x", uint32(i)*2654435761)})
	}
	rec := rows(t, alloc, spec.Fields(), values...)
	defer rec.Release()
	if err := w.Write(ctx, rec); err != nil {
		t.Fatal(err)
	}
	files, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Fatalf("%d files", len(files))
	}
	next, n := int64(100), int64(0)
	for _, f := range files {
		if f.MinSequence != next || f.MaxSequence != next+f.RowCount-1 {
			t.Errorf("%s: sequence %d to %d, want from %d for %d rows", f.FileName, f.MinSequence, f.MaxSequence, next, f.RowCount)
		}
		next += f.RowCount
		n += f.RowCount
		if f.FileSize > 3*spec.TargetSize {
			t.Errorf("%s has %d bytes, the target is %d", f.FileName, f.FileSize, spec.TargetSize)
		}
		if d := cmp.Diff(binaryrow.Empty, f.MinKey); d != "" || len(f.KeyStats.NullCounts) != 0 {
			t.Errorf("an append file has a key: %s", d)
		}
	}
	if n != total || w.Sequence() != next {
		t.Errorf("%d rows, next number %d", n, w.Sequence())
	}
}

func TestAbortRemovesFiles(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	ctx, fs := context.Background(), mem.New(mem.Posix)
	spec := testSpec(fs, alloc)
	spec.TargetSize = 1
	w := NewRollingWriter(spec, "/t/bucket-0", 0)
	for i := range 3 {
		rec := rows(t, alloc, spec.Fields(), []types.Value{int64(i), "x"})
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if len(fs.Paths()) != 3 {
		t.Fatalf("%v", fs.Paths())
	}
	for range 2 {
		if err := w.Abort(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := fs.Paths(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Every storage call fails once: no file is left behind.
func TestRollingFaults(t *testing.T) {
	for _, profile := range mem.Profiles {
		faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After, faultio.Halfway}, func(t *testing.T, plan faultio.Plan) int {
			alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer alloc.AssertSize(t, 0)
			ctx, fs := context.Background(), mem.New(profile)
			faulty := faultio.New(fs, plan)
			spec := testSpec(fs, alloc)
			spec.FileIO, spec.TargetSize = faulty, 1
			w := NewRollingWriter(spec, "/t/bucket-0", 0)
			var failed error
			for i := range 2 {
				rec := rows(t, alloc, spec.Fields(), []types.Value{int64(i), "x"})
				if err := w.Write(ctx, rec); err != nil {
					failed = err
				}
				rec.Release()
				if failed != nil {
					break
				}
			}
			if failed == nil {
				var files []*datafile.Meta
				if files, failed = w.Close(ctx); failed == nil && len(files) != 2 {
					t.Errorf("%d files", len(files))
				}
			}
			if failed == nil {
				return faulty.Count()
			}
			if kind := tarnerr.KindOf(failed); kind != tarnerr.Unavailable {
				t.Errorf("%v: %v", kind, failed)
			}
			if err := w.Abort(ctx); err != nil {
				t.Error(err)
			}
			if left := fs.Paths(); len(left) > 0 {
				t.Errorf("left behind after %v: %v", failed, left)
			}
			return faulty.Count()
		})
	}
}
