package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// memoryDisk keeps what is written to it.
type memoryDisk struct {
	bytes.Buffer
	broken bool
}

func (d *memoryDisk) Write(p []byte) (int, error) {
	if d.broken {
		return 0, tarnerr.New(tarnerr.Unavailable, "writing file", "disk is broken")
	}
	return d.Buffer.Write(p)
}
func (d *memoryDisk) Close() error { return nil }
func (d *memoryDisk) Abort() error { d.Reset(); return nil }

// fileOf writes a file with a format that may have written others before.
func fileOf(t testing.TB, f fileformat.Format, d *memoryDisk, fields []types.Field, opts fileformat.WriteOptions, recs ...arrow.RecordBatch) (fileformat.Summary, error) {
	t.Helper()
	w, err := f.NewWriter(d, fields, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(context.Background(), rec); err != nil {
			return fileformat.Summary{}, errors.Join(err, w.Abort())
		}
	}
	return w.Close(context.Background())
}

// A file does not depend on what its format wrote before: neither on its columns and
// options nor on how that ended.
func TestFilesDoNotDependOnEarlierOnes(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	rnd := rand.New(rand.NewPCG(3, 4))
	flat := benchFields()
	nested := []types.Field{
		field(0, "k", "BIGINT NOT NULL"), field(1, "l", "ARRAY<STRING>"), field(2, "m", "MAP<INT NOT NULL, DOUBLE>"), field(3, "b", "BYTES"),
	}
	make := func(fields []types.Field, n int) arrow.RecordBatch {
		distinct := 1 + rnd.IntN(2*n)
		rows := make([][]types.Value, n)
		for i := range rows {
			v := int64(rnd.IntN(distinct))
			if len(fields) == len(nested) {
				rows[i] = []types.Value{v, []types.Value{fmt.Sprint(v), nil}, nil, bytes.Repeat([]byte{byte(v)}, int(v%5))}
				continue
			}
			rows[i] = []types.Value{
				v, v * 7, fmt.Sprintf("category-%d", v), decimalValue(v), v % 1000, float64(v) / 3, strings.Repeat("x", int(v%9)),
				types.Instant{Millis: v}, int32(v % 365), v%2 == 0,
			}
			if v%3 == 0 {
				rows[i][rnd.IntN(9)+1] = nil
			}
		}
		return record(t, alloc, fields, rows)
	}
	options := []fileformat.WriteOptions{
		{}, {ZstdLevel: 3}, {Compression: "none"}, {Workers: 2, Hold: 1 << 20},
		{Options: map[string]string{"parquet.page.size": "2048", "parquet.block.size": "9000", "parquet.dictionary.page.size": "512"}},
		{Options: map[string]string{"parquet.enable.dictionary#cat": "false"}},
	}
	used, files := New(), 120
	if raceDetector {
		files = 30
	}
	for i := range files {
		fields, opts := flat, options[rnd.IntN(len(options))]
		if rnd.IntN(3) == 0 {
			fields = nested
		}
		var recs []arrow.RecordBatch
		for range 1 + rnd.IntN(3) {
			recs = append(recs, make(fields, 1+rnd.IntN(3000)))
		}
		want, got := &memoryDisk{}, &memoryDisk{}
		wantSum, err := fileOf(t, New(), want, fields, opts, recs...)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 5 {
		case 3: // one that fails in between
			if _, err := fileOf(t, used, &memoryDisk{broken: true}, fields, opts, recs...); !errors.Is(err, tarnerr.Unavailable) {
				t.Fatalf("a broken disk: %v", err)
			}
		case 4: // and one that is given up
			w, err := used.NewWriter(&memoryDisk{}, fields, opts)
			if err == nil {
				err = errors.Join(w.Write(context.Background(), recs[0]), w.Abort())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		gotSum, err := fileOf(t, used, got, fields, opts, recs...)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Fatalf("file %d of %d columns, %+v: %d bytes, %d by a new format, or others", i, len(fields), opts, got.Len(), want.Len())
		}
		if w, g := fmt.Sprint(wantSum), fmt.Sprint(gotSum); w != g {
			t.Fatalf("file %d: summary %s, want %s", i, g, w)
		}
		for _, rec := range recs {
			rec.Release()
		}
	}
}

// A finished writer has nothing of what its successor works with.
func TestFinishedWriterStaysFinished(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	ctx := context.Background()
	fields := []types.Field{field(0, "k", "BIGINT")}
	rec := record(t, alloc, fields, [][]types.Value{{int64(1)}, {int64(2)}})
	defer rec.Release()
	f, d := New(), &memoryDisk{}
	old, err := f.NewWriter(d, fields, fileformat.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Close(ctx); err != nil {
		t.Fatal(err)
	}
	size := old.Size()
	young, err := f.NewWriter(&memoryDisk{}, fields, fileformat.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := young.Write(ctx, rec); err != nil {
		t.Fatal(err)
	}
	if err := old.Write(ctx, rec); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("writing after Close: %v", err)
	}
	if _, err := old.Close(ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("closing twice: %v", err)
	}
	if err := old.Abort(); err != nil || d.Len() == 0 || old.Size() != size {
		t.Errorf("Abort after Close: %v, %d bytes left; size %d, was %d", err, d.Len(), old.Size(), size)
	}
	if s, err := young.Close(ctx); err != nil || s.RowCount != 2 {
		t.Errorf("%d rows, %v", s.RowCount, err)
	}
}

// smallFile is what one of 400 buckets gets of a commit of 200 000 rows.
const smallFile = 500

func smallRecord(t testing.TB) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([][]types.Value, smallFile)
	for i := range rows {
		var d types.Value
		if r.IntN(10) > 0 {
			d = r.Float64() * 1000
		}
		rows[i] = []types.Value{
			int64(i) * 3, r.Int64N(1 << 40), fmt.Sprintf("category-%02d", r.IntN(100)), decimalValue(r.Int64N(1_000_000)),
			int64(r.IntN(1000)), d, fmt.Sprintf("%08x%08x", r.Uint32(), r.Uint32()), types.Instant{Millis: 1_700_000_000_000 + r.Int64N(1<<34)},
			int32(19_000 + r.IntN(365)), r.IntN(2) == 0,
		}
	}
	return record(t, memory.NewGoAllocator(), benchFields(), rows)
}

// A small file allocates little but what its metadata are made of.
func TestAllocationsOfSmallFiles(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget, so that allocations vary")
	}
	rec := smallRecord(t)
	defer rec.Release()
	f, d := New(), &memoryDisk{}
	n := testing.AllocsPerRun(50, func() {
		d.Reset()
		if _, err := fileOf(t, f, d, benchFields(), fileformat.WriteOptions{}, rec); err != nil {
			t.Fatal(err)
		}
	})
	if n > smallFileAllocations {
		t.Errorf("%v allocations for a file of %d columns, at most %d", n, len(benchFields()), smallFileAllocations)
	}
}

const smallFileAllocations = 220

func BenchmarkSmallFiles(b *testing.B) {
	rec := smallRecord(b)
	f := New()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		d := &memoryDisk{}
		for b.Loop() {
			d.Reset()
			if _, err := fileOf(b, f, d, benchFields(), fileformat.WriteOptions{}, rec); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(d.Len()), "bytes/file")
	})
	b.Run("read", func(b *testing.B) {
		fs, _ := write(b, benchFields(), fileformat.WriteOptions{}, rec)
		b.ReportAllocs()
		for b.Loop() {
			readAll(b, fs, fileformat.ReadRequest{Columns: benchFields()})
		}
	})
}
