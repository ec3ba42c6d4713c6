package compact

import (
	"context"
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/schema"
)

// runsOf are two runs of n rows with the same keys.
func runsOf(f *fixture, n int64) []*datafile.Meta {
	var files []*datafile.Meta
	for i := range int64(2) {
		rows := make([]record, n)
		for k := range n {
			rows[k] = record{key: k, value: k * i, seq: i*n + k}
		}
		files = append(files, f.flush(0, rows...)...)
	}
	return files
}

// A unit of two files costs so many storage calls, and reads and writes each byte of
// files once; moving a file costs none.
func TestRequestsOfAUnit(t *testing.T) {
	f := newFixture(t, []string{"k"}, nil)
	files := runsOf(f, 1000)
	moved := layer.Count(f.fs)
	counted := faultio.New(moved, nil)
	f.fio = counted
	r := f.rewriter(1)
	out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := moved.BytesWritten(); len(out.After) != 1 || n != out.After[0].FileSize || n > size(files) {
		t.Errorf("%d bytes written of files %v", n, out.After)
	}
	if n := moved.BytesRead(); n != size(files) {
		t.Errorf("%d bytes read of %d", n, size(files))
	}
	// Of each file two reads; creating, writing and closing the new one.
	const want = 2*2 + 3
	if n := counted.Count(); n != want {
		t.Errorf("%d storage calls, want %d", n, want)
	}
	before := counted.Count()
	if _, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 3, Files: files[:1]}, Highest: 5}); err != nil {
		t.Fatal(err)
	}
	if n := counted.Count() - before; n != 0 {
		t.Errorf("%d storage calls to move a file", n)
	}
}

// A rewrite allocates per batch and page, not per row. A change that is meant to
// cost more or less changes the figure.
func TestAllocationsPerRow(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget, so that allocations vary")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools, and allocations vary
	for _, c := range []struct {
		options map[string]string
		want    float64
	}{
		{nil, 808},
		{map[string]string{"merge-engine": "partial-update"}, 802},
		{map[string]string{"changelog-producer": "lookup"}, 2974}, // of each key a -U and a +U
		{map[string]string{"merge-engine": "partial-update", "changelog-producer": "lookup"}, 2853},
	} {
		f := newFixture(t, []string{"k"}, c.options)
		r, err := New(Config{
			Table: "db.t", FileIO: f.fs, Place: f.place, Schema: f.schema, Options: f.options(), Format: formats.ByName, Env: f.env,
			SchemaByID: func(context.Context, int64) (*schema.Schema, error) { return f.schema, nil }, Mem: memory.NewGoAllocator(),
		})
		if err != nil {
			t.Fatal(err)
		}
		rewrite := func(n int64) float64 {
			files := runsOf(f, n)
			if c.options["changelog-producer"] != "" {
				files[0].Level = 5 // one above it is looked up there
			}
			return testing.AllocsPerRun(1, func() {
				out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
				if err != nil {
					t.Fatal(err)
				}
				var told int64
				for _, f := range out.Changelog {
					told += f.RowCount
				}
				if want := 2 * n; told != want && (told != 0 || c.options["changelog-producer"] != "") {
					t.Fatalf("%d changes of %d keys", told, n)
				}
				if err := r.Remove(context.Background(), Bucket{}, slices.Concat(out.After, out.Changelog)); err != nil {
					t.Fatal(err)
				}
			})
		}
		const step = 32 << 10
		more := rewrite(3*step) - rewrite(step)
		if math.Abs(more-c.want) > 4 { // by some slices grow once more
			t.Errorf("%v: %v allocations for %d rows more that go in, want %v", c.options, more, 2*2*step, c.want)
		}
	}
}
