package compact

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// A bucket is written to and compacted at random: what a read gives stays the
// same, levels stay in order, files that nobody names any more are gone.
func TestCompactionChangesNoRead(t *testing.T) {
	if raceDetector {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			t.Fatal(err)
		}
	}
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				options := map[string]string{"num-sorted-run.compaction-trigger": rapid.SampledFrom([]string{"2", "3", "5"}).Draw(t, "trigger")}
				if rapid.Bool().Draw(t, "user sequence") {
					options["sequence.field"] = "u"
				}
				if rapid.Bool().Draw(t, "thin") {
					options["data-file.thin-mode"] = "true"
				}
				if rapid.Bool().Draw(t, "small files") {
					options["target-file-size"] = "100"
				}
				if rapid.Bool().Draw(t, "force up") {
					options["compaction.force-up-level-0"] = "true"
				}
				if rapid.IntRange(0, 3).Draw(t, "rewrite all") == 0 {
					options["compaction.force-rewrite-all-files"] = "true"
				}
				f := newFixture(t, []string{"k"}, options)
				history(t, f, workers)
				f.mem.AssertSize(t2{t}, 0)
			})
		})
	}
}

// t2 gives a property what a checked allocator asks of a test.
type t2 struct{ *rapid.T }

func (t2) Helper() {}

func history(t *rapid.T, f *fixture, workers int) {
	ctx := context.Background()
	r := f.rewriter(workers)
	u := lsm.Universal{Compaction: f.options().Compaction}
	var memory lsm.Memory
	var increment Increment
	var files []*datafile.Meta
	committed := map[string]bool{}
	seq := int64(0)
	for range rapid.IntRange(1, 14).Draw(t, "steps") {
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		default:
			var rows []record
			for k := int64(0); k < 30; k++ {
				if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
					continue
				}
				row := record{key: k, value: seq, seq: seq, kind: rapid.SampledFrom([]types.RowKind{0, 0, 2, 3}).Draw(t, "kind")}
				if n := rapid.IntRange(0, 4).Draw(t, "user"); n > 0 {
					row.user = int64(n)
				}
				rows = append(rows, row)
				seq++
			}
			if len(rows) == 0 {
				continue
			}
			added := f.flush(0, rows...)
			files = append(files, added...)
			for _, a := range added {
				committed[a.FileName] = true
			}
		case 0, 1, 2:
			levels := f.levels(files, r)
			unit, ok := u.Pick(&memory, f.env.Now(), levels.Count(), levels.Runs())
			if rapid.IntRange(0, 3).Draw(t, "full") == 0 {
				unit, ok = f.pickFull(r, levels)
			}
			if !ok {
				continue
			}
			before := f.live(files)
			drop := levels.DropsDeletes(&unit)
			out, err := r.Rewrite(ctx, Task{Unit: unit, Highest: levels.Count() - 1, DropDeletes: drop})
			if err != nil {
				t.Fatal(err)
			}
			if levels, err = levels.With(out.Before, out.After, r.KeyTypes()); err != nil {
				t.Fatal(err)
			}
			files = levels.Files()
			for _, file := range out.After {
				if int(file.Level) != unit.OutputLevel {
					t.Fatalf("%s is at level %d, not %d", file.FileName, file.Level, unit.OutputLevel)
				}
				if drop && unit.OutputLevel == levels.Count()-1 && *file.DeleteRowCount != 0 {
					t.Fatalf("%s holds deletes", file.FileName)
				}
			}
			if d := cmp.Diff(before, f.live(files), cmp.AllowUnexported(record{})); d != "" {
				t.Fatalf("a compaction changed what is read: %s", d)
			}
			for _, o := range increment.Add(out) {
				if committed[o.FileName] {
					t.Fatalf("%s is obsolete and somebody else's", o.FileName)
				}
				if err := r.Remove(ctx, Bucket{}, []*datafile.Meta{o}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := maps.Clone(committed)
	for _, file := range files {
		want[file.FileName] = true
	}
	got := map[string]bool{}
	for _, p := range f.fs.Paths() {
		got[path.Base(p)] = true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("files: %s", d)
	}
	if err := r.Remove(ctx, Bucket{}, increment.Created()); err != nil {
		t.Fatal(err)
	}
	if n := len(f.fs.Paths()); n != len(committed) {
		t.Fatalf("%d files are left after a retreat, not %d", n, len(committed))
	}
}

// A rewrite says of its files what a flush says of its own.
func TestRewrittenMetadata(t *testing.T) {
	f := newFixture(t, []string{"k"}, map[string]string{
		"file.compression.per.level": "5:none", "metadata.stats-mode.per.level": "5:counts", "num-levels": "6",
	})
	files := slices.Concat(
		f.flush(0, record{key: 1, value: 10, seq: 0}, record{key: 2, value: 20, seq: 1}, record{key: 9, seq: 2, kind: types.Delete}),
		f.flush(0, record{key: 2, value: 21, seq: 3}, record{key: 9, seq: 4, kind: types.Delete}),
	)
	r := f.rewriter(1)
	out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 3, Files: files}, Highest: 5})
	if err != nil {
		t.Fatal(err)
	}
	m := out.After[0]
	if len(out.After) != 1 || m.RowCount != 3 || *m.DeleteRowCount != 1 || m.MinSequence != 0 || m.MaxSequence != 4 ||
		m.Level != 3 || *m.FileSource != datafile.Compact || m.SchemaID != 4 {
		t.Errorf("files that keep deletes: %+v", *m)
	}
	out, err = r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
	if err != nil {
		t.Fatal(err)
	}
	m = out.After[0]
	if len(out.After) != 1 || m.RowCount != 2 || *m.DeleteRowCount != 0 || m.MinSequence != 0 || m.MaxSequence != 3 || m.Level != 5 {
		t.Errorf("files without deletes: %+v", *m)
	}
	if m.ValueStats.Min.IsNull(0) != true || m.ValueStats.NullCounts[0] == nil {
		t.Errorf("statistics of level 5: %+v", m.ValueStats)
	}
	got := f.rows(out.After...)
	want := []record{{key: 1, value: 10, seq: 0}, {key: 2, value: 21, seq: 3}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(record{})); d != "" {
		t.Error(d)
	}
	f.mem.AssertSize(t, 0)
}

// When all rows are deletes nothing is written.
func TestNothingIsLeft(t *testing.T) {
	f := newFixture(t, []string{"k"}, nil)
	files := f.flush(0, record{key: 1, seq: 0, kind: types.Delete})
	r := f.rewriter(1)
	out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
	if err != nil || len(out.Before) != 1 || len(out.After) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if n := len(f.fs.Paths()); n != 1 {
		t.Errorf("%d files", n)
	}
}

// Every storage call fails once: the rewrite fails, and leaves nothing behind.
func TestRewriteFaults(t *testing.T) {
	for _, workers := range []int{1, 2} {
		faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After, faultio.Halfway}, func(t *testing.T, plan faultio.Plan) int {
			f := newFixture(t, []string{"k"}, map[string]string{"target-file-size": "600"})
			var files []*datafile.Meta
			for i := range int64(2) {
				var rows []record
				for k := range int64(1500) {
					rows = append(rows, record{key: k, value: k * i, seq: i*1500 + k})
				}
				files = append(files, f.flush(0, rows...)...)
			}
			before := slices.Clone(f.fs.Paths())
			faulty := faultio.New(f.fs, plan)
			f.fio = faulty
			_, err := f.rewriter(workers).Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
			if err != nil {
				if kind := tarnerr.KindOf(err); kind != tarnerr.Unavailable {
					t.Errorf("%v: %v", kind, err)
				}
				if d := cmp.Diff(before, f.fs.Paths()); d != "" {
					t.Errorf("files after %v: %s", err, d)
				}
			}
			f.mem.AssertSize(t, 0)
			return faulty.Count()
		})
	}
}

func TestCancelledRewrite(t *testing.T) {
	f := newFixture(t, []string{"k"}, nil)
	files := f.flush(0, record{key: 1, seq: 0})
	files = append(files, f.flush(0, record{key: 1, seq: 1})...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, workers := range []int{1, 2} {
		_, err := f.rewriter(workers).Rewrite(ctx, Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
		if err == nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	f.mem.AssertSize(t, 0)
}
