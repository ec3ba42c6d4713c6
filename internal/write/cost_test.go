package write

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// costTable has a text key in two buckets, so that neither order nor routing is the cheapest case.
func costTable(keyed bool, options map[string]string) schema.Spec {
	s := schema.Spec{
		Fields: []types.Field{
			field("k", types.VarChar, false), field("n", types.BigInt, true), field("d", types.Double, true), field("v", types.VarChar, true),
		},
		Options: map[string]string{},
	}
	if keyed {
		s.PrimaryKeys = []string{"k"}
		s.Options["bucket"] = "2"
	}
	maps.Copy(s.Options, options)
	return s
}

// costRows makes n rows whose keys come in no order, a tenth of them twice.
func costRows(f *fixture, n int) arrow.RecordBatch {
	values := make([][]types.Value, n)
	for i := range values {
		k := uint32(i%(n*9/10)) * 2654435761
		values[i] = []types.Value{fmt.Sprintf("key-%010d", k), int64(i), float64(i) / 3, fmt.Sprintf("v%d", i%100)}
	}
	return f.batchOf(nil, values...)
}

// discard is a file format that writes nothing: what is left is the stage itself.
type discard struct{ fileformat.Format }

func (discard) Name() string { return "discard" }
func (discard) NewWriter(w fileio.Writer, fields []types.Field, _ fileformat.WriteOptions) (fileformat.Writer, error) {
	return &discarded{w: w, columns: len(fields)}, nil
}

type discarded struct {
	w       fileio.Writer
	rows    int64
	columns int
}

func (d *discarded) Write(_ context.Context, rec arrow.RecordBatch) error {
	d.rows += rec.NumRows()
	return nil
}
func (d *discarded) Size() int64  { return d.rows }
func (d *discarded) Abort() error { return d.w.Abort() }
func (d *discarded) Close(context.Context) (fileformat.Summary, error) {
	return fileformat.Summary{RowCount: d.rows, Columns: make([]fileformat.ColumnStats, d.columns)}, d.w.Close()
}

// Checking, routing, buffering, sorting, merging and gathering allocate per
// batch and per file, not per row. A change that is meant to cost more or less
// changes the figures.
func TestAllocationsPerRow(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget, so that allocations vary")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools, and allocations vary
	for _, c := range []struct {
		keyed   bool
		options map[string]string
		want    float64 // per flushRows rows
	}{
		{false, nil, 1.5}, // slices grow
		{true, nil, 42.5}, // a gather of five columns, of which two are text
		{true, map[string]string{"changelog-producer": "lookup"}, 42.5},
		{true, map[string]string{"changelog-producer": "input"}, 91.5},
		{true, map[string]string{"merge-engine": "partial-update"}, 55},
		{true, map[string]string{"merge-engine": "partial-update", "changelog-producer": "lookup"}, 55},
	} {
		f := newFixture(t, costTable(c.keyed, c.options))
		f.cfg.Mem = memory.NewGoAllocator()
		f.cfg.Format = discard{}
		if c.options["changelog-producer"] == "input" {
			f.cfg.Changelog = discard{}
		}
		flush := func(n int) float64 {
			rec := costRows(f, n)
			defer rec.Release()
			run := func() {
				f.fs = mem.New(mem.Posix) // whose map of files grows by chance
				f.cfg.FileIO = f.fs
				w := f.writer()
				if err := w.Write(context.Background(), rec); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Prepare(context.Background()); err != nil {
					t.Fatal(err)
				}
				w.Close()
			}
			least := testing.AllocsPerRun(1, run)
			for range 5 { // now and then a goroutine needs a stack of its own
				least = min(least, testing.AllocsPerRun(1, run))
			}
			return least
		}
		const steps = 2
		more := flush(2*steps*flushRows) - flush(steps*flushRows)
		if per := more / steps; per != c.want {
			t.Errorf("keyed=%v %v: %v allocations per %d rows, want %v", c.keyed, c.options, per, flushRows, c.want)
		}
	}
}

// BenchmarkBufferAndFlush takes batches of 8192 rows into the buffer and flushes
// 200 000 rows at a time; the metric is time per row.
func BenchmarkBufferAndFlush(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%v", keyed), func(b *testing.B) {
			f := newFixture(b, costTable(keyed, nil))
			f.cfg.Mem = memory.NewGoAllocator()
			f.cfg.Workers = 2
			const rows = 200_000
			rec := costRows(f, rows)
			defer rec.Release()
			b.ReportAllocs()
			for b.Loop() {
				w := f.writer()
				for at := int64(0); at < rows; at += 8192 {
					part := rec.NewSlice(at, min(rows, at+8192))
					if err := w.Write(context.Background(), part); err != nil {
						b.Fatal(err)
					}
					part.Release()
				}
				if _, err := w.Prepare(context.Background()); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				f.fs.Remove(f.fs.Paths()...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
