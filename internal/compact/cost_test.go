package compact

import (
	"context"
	"fmt"
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

// unitCost is what compactions of one unit of two sorted runs cost that have the same keys,
// of which the older is on the highest level.
type unitCost struct {
	options map[string]string
	below   bool  // the older is no part of the unit: it is looked up
	told    int64 // changes of each key
	calls   int   // to the storage
	written int64 // bytes, of 1000 keys and without compression
	allocs  float64
}

func (c unitCost) String() string { return fmt.Sprint(c.options, c.below) }

func unitCosts() []unitCost {
	const lookup, full = "lookup", "full-compaction"
	engine := func(name, producer string) map[string]string {
		out := map[string]string{"merge-engine": name, "changelog-producer": producer}
		if name == "aggregation" {
			out["fields.v.aggregate-function"], out["fields.u.aggregate-function"] = "sum", "max"
		}
		return out
	}
	return []unitCost{
		{options: engine("deduplicate", "none"), calls: 7, written: 25297, allocs: 5},
		{options: engine("partial-update", "none"), calls: 7, written: 25297, allocs: 23},
		{options: engine("aggregation", "none"), calls: 7, written: 25297, allocs: 40},
		{options: engine("first-row", "none"), calls: 7, written: 17327, allocs: 166},
		{options: engine("first-row", "none"), below: true, calls: 4, allocs: 151},
		{options: engine("deduplicate", lookup), told: 2, calls: 10, written: 66450, allocs: 342},
		{options: engine("deduplicate", lookup), below: true, told: 2, calls: 7, written: 41153, allocs: 455},
		{options: engine("partial-update", lookup), told: 2, calls: 10, written: 66450, allocs: 332},
		{options: engine("partial-update", lookup), below: true, told: 2, calls: 10, written: 66450, allocs: 458},
		{options: engine("aggregation", lookup), told: 2, calls: 10, written: 66450, allocs: 360},
		{options: engine("aggregation", lookup), below: true, told: 2, calls: 10, written: 66450, allocs: 486},
		{options: engine("first-row", lookup), calls: 7, written: 17327, allocs: 167},
		{options: engine("first-row", lookup), below: true, calls: 4, allocs: 151},
		{options: engine("deduplicate", full), told: 2, calls: 10, written: 66450, allocs: 342},
		{options: engine("partial-update", full), told: 2, calls: 10, written: 66450, allocs: 332},
		{options: engine("aggregation", full), told: 2, calls: 10, written: 66450, allocs: 360},
	}
}

// unit is the task of rewriting files, of which the first is the older.
func (c unitCost) unit(f *fixture, r *Rewriter, files []*datafile.Meta) Task {
	files[0].Level = 5
	u := lsm.Unit{OutputLevel: 5, Files: files}
	if c.below {
		u = lsm.Unit{OutputLevel: 4, Files: files[1:]}
	}
	l := f.levels(files, r)
	return Task{Unit: u, Highest: 5, DropDeletes: l.DropsDeletes(&u), Below: Below(l, &u)}
}

// made are the files that a rewrite has written.
func made(r Result) []*datafile.Meta {
	var out []*datafile.Meta
	for _, f := range slices.Concat(r.After, r.Changelog) {
		if !slices.ContainsFunc(r.Before, func(b *datafile.Meta) bool { return b.FileName == f.FileName }) {
			out = append(out, f)
		}
	}
	return out
}

// A unit costs so many storage calls, reads each byte of its files once, and of those that
// are looked up, and writes so many.
func TestRequestsOfAUnit(t *testing.T) {
	for _, c := range unitCosts() {
		f := newFixture(t, []string{"k"}, c.options)
		f.schema.Options["file.compression"], f.schema.Options["num-levels"] = "none", "6"
		files := runsOf(f, 1000)
		bytes := layer.Count(f.fs)
		counted := faultio.New(bytes, nil)
		f.fio = counted
		r := f.rewriter(1)
		out, err := r.Rewrite(context.Background(), c.unit(f, r, files))
		if err != nil {
			t.Fatal(err)
		}
		var told int64
		for _, f := range out.Changelog {
			told += f.RowCount
		}
		if told != 1000*c.told {
			t.Errorf("%v: %d changes of 1000 keys", c, told)
		}
		if n := bytes.BytesWritten(); n != size(made(out)) || n != c.written {
			t.Errorf("%v: %d bytes written, want %d", c, n, c.written)
		}
		if n := bytes.BytesRead(); n != size(files) {
			t.Errorf("%v: %d bytes read of %d", c, n, size(files))
		}
		if n := counted.Count(); n != c.calls {
			t.Errorf("%v: %d storage calls, want %d", c, n, c.calls)
		}
	}
}

// Moving a file costs no storage call.
func TestRequestsToMove(t *testing.T) {
	f := newFixture(t, []string{"k"}, nil)
	files := runsOf(f, 1000)
	counted := faultio.New(f.fs, nil)
	f.fio = counted
	if _, err := f.rewriter(1).Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 3, Files: files[:1]}, Highest: 5}); err != nil {
		t.Fatal(err)
	}
	if n := counted.Count(); n != 0 {
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
	for _, c := range unitCosts() {
		f := newFixture(t, []string{"k"}, c.options)
		f.schema.Options["num-levels"] = "6"
		r, err := New(Config{
			Table: "db.t", FileIO: f.fs, Place: f.place, Schema: f.schema, Options: f.options(), Format: formats.ByName, Env: f.env,
			SchemaByID: func(context.Context, int64) (*schema.Schema, error) { return f.schema, nil }, Mem: memory.NewGoAllocator(),
		})
		if err != nil {
			t.Fatal(err)
		}
		rewrite := func(n int64) float64 {
			task := c.unit(f, r, runsOf(f, n))
			least := math.Inf(1)
			for range 3 { // maps that grow another way allocate once more
				least = min(least, testing.AllocsPerRun(1, func() {
					out, err := r.Rewrite(context.Background(), task)
					if err != nil {
						t.Fatal(err)
					}
					var told int64
					for _, f := range out.Changelog {
						told += f.RowCount
					}
					if told != n*c.told {
						t.Fatalf("%v: %d changes of %d keys", c, told, n)
					}
					if err := r.Remove(context.Background(), Bucket{}, made(out)); err != nil {
						t.Fatal(err)
					}
				}))
			}
			return least
		}
		const step = 4 << 10
		if more := rewrite(3*step) - rewrite(step); more != c.allocs {
			t.Errorf("%v: %v allocations for %d keys more, want %v", c, more, 2*step, c.allocs)
		}
	}
}
