package paimon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// compactSpec is a key table of one bucket without partitions.
func compactSpec(options map[string]string) schema.Spec {
	s := appendSpec()
	s.PartitionKeys = nil
	s.Fields[1].Type.Nullable = false
	s.PrimaryKeys = []string{"id"}
	s.Options = map[string]string{"bucket": "1"}
	for k, v := range options {
		s.Options[k] = v
	}
	return s
}

// live are the files of the latest snapshot of a table of one bucket.
func (f *fixture) live(fs *mem.FS) []*datafile.Meta {
	f.Helper()
	place := layout.Table{Dir: dir}
	latest, err := snapshot.NewStore(fs, place).Latest(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fs, Table: place})
	if err != nil {
		f.Fatal(err)
	}
	var merged manifest.Merger
	for _, list := range []string{latest.BaseManifestList, latest.DeltaManifestList} {
		metas, err := manifests.ReadList(f.ctx, list, nil)
		if err != nil {
			f.Fatal(err)
		}
		for entries, err := range manifests.ReadManifests(f.ctx, metas, manifest.EntryFilter{}) {
			if err != nil {
				f.Fatal(err)
			}
			for _, e := range entries {
				if err := merged.Add(e); err != nil {
					f.Fatal(err)
				}
			}
		}
	}
	var out []*datafile.Meta
	for _, e := range merged.Entries() {
		out = append(out, e.File)
	}
	return out
}

// sortedRuns checks the tree (INV-TREE-1) and returns its runs.
func (f *fixture) sortedRuns(fs *mem.FS) []lsm.LeveledRun {
	f.Helper()
	levels, err := lsm.NewLevels(f.live(fs), []types.Type{{Root: types.BigInt}}, 1)
	if err != nil {
		f.Fatal(err)
	}
	return levels.Runs()
}

func pairs(model map[int]string) []string {
	var out []string
	for id, v := range model {
		out = append(out, fmt.Sprintf("d|%d|%s", id, v))
	}
	slices.Sort(out)
	return out
}

// A batch write compacts as Java's does and waits for it: never many sorted runs,
// every commit reads as the rows written, no file but those of snapshots is left.
func TestBatchWritesCompact(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(nil))
	tbl := f.open(fs)
	model := map[int]string{}
	rnd := rand.New(rand.NewSource(1))
	compactions := 0
	for n := range 24 {
		var some []int
		for range 1 + rnd.Intn(40) {
			id := rnd.Intn(100)
			some = append(some, id)
			model[id] = fmt.Sprint("v", n)
		}
		r := f.mustWrite(tbl, ids("d", fmt.Sprint("v", n), some...))
		if r.Compaction != "" {
			t.Fatal(r.Compaction)
		}
		compactions += len(r.Snapshots) - 1
		f.want(f.rows(tbl, table.Scan{}), pairs(model)...)
		if runs := f.sortedRuns(fs); len(runs) > 5 {
			t.Errorf("%d sorted runs after commit %d", len(runs), n)
		}
	}
	if compactions < 4 {
		t.Errorf("%d compactions in 24 commits", compactions)
	}
}

// Nothing is compacted where the table is write-only.
func TestWriteOnlyDoesNotCompact(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(map[string]string{"write-only": "true", "commit.force-compact": "true"}))
	tbl := f.open(fs)
	for n := range 9 {
		if r := f.mustWrite(tbl, ids("d", "v", n)); len(r.Snapshots) != 1 {
			t.Fatalf("%+v", r)
		}
	}
	if runs := f.sortedRuns(fs); len(runs) != 9 {
		t.Errorf("%d sorted runs", len(runs))
	}
}

// full-compaction.delta-commits compacts everything with each so manieth commit of a
// stream, and with each batch write (copy on write).
func TestFullCompactionOfDeltaCommits(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(map[string]string{"full-compaction.delta-commits": "3", "num-levels": "4"}))
	tbl := f.open(fs)
	w := f.stream(tbl)
	for n := range int64(9) {
		f.put(w, tbl, ids("d", fmt.Sprint("v", n), int(n), 100))
		if _, err := w.Commit(f.ctx, n+1); err != nil {
			t.Fatal(err)
		}
		runs := f.sortedRuns(fs)
		if full := len(runs) == 1 && runs[0].Level == 3; full != ((n+1)%3 == 0) {
			t.Errorf("commit %d leaves %d runs, the oldest on level %d", n+1, len(runs), runs[len(runs)-1].Level)
		}
	}
	f.mustWrite(tbl, ids("d", "batch", 100))
	if runs := f.sortedRuns(fs); len(runs) != 1 || runs[0].Level != 3 {
		t.Errorf("a batch write leaves %d runs", len(runs))
	}
	if got := f.rows(tbl, table.Scan{}); len(got) != 10 || got[1] != "d|100|batch" {
		t.Errorf("rows are %v", got)
	}
}

// CompactFully goes with one commit: it leaves one sorted run in the buckets written to
// and the others as they were.
func TestCompactFully(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(map[string]string{"num-levels": "4"}))
	tbl := f.open(fs)
	w := f.stream(tbl)
	for n := range int64(6) {
		f.put(w, tbl, ids("d", fmt.Sprint("v", n), int(n), 100))
		full := n%3 == 2
		if full {
			if err := w.CompactFully(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Commit(f.ctx, n+1); err != nil {
			t.Fatal(err)
		}
		runs := f.sortedRuns(fs)
		if got := len(runs) == 1 && runs[0].Level == 3; got != full {
			t.Errorf("commit %d leaves %d runs, the oldest on level %d", n+1, len(runs), runs[len(runs)-1].Level)
		}
	}
	f.put(w, tbl, ids("d", "v6", 6))
	if _, err := w.Commit(f.ctx, 7); err != nil {
		t.Fatal(err)
	}
	b, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	rec := f.batch(tbl, ids("d", "batch", 100))
	defer rec.Release()
	if err := b.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	if err := b.CompactFully(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if runs := f.sortedRuns(fs); len(runs) != 1 || runs[0].Level != 3 {
		t.Errorf("a batch write leaves %d runs", len(runs))
	}
	wantKind(t, b.CompactFully(), tarnerr.Closed)
	if got := f.rows(tbl, table.Scan{}); len(got) != 8 || got[1] != "d|100|batch" {
		t.Errorf("rows are %v", got)
	}
}

// Where a write compacts nothing it says so instead of doing nothing.
func TestCompactFullyIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spec schema.Spec
		says string
	}{
		"append":     {spec: appendSpec(), says: "primary key=false"},
		"write-only": {spec: compactSpec(map[string]string{"write-only": "true"}), says: "write-only=true"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w, err := f.open(f.create(c.spec)).NewBatchWrite(f.ctx, table.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			wantKind(t, w.CompactFully(), tarnerr.Unsupported, c.says, "tarn table compact")
		})
	}
}

// commit.force-compact makes each commit of a stream wait for its compaction.
func TestForcedCompactionGoesWithItsCommit(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(map[string]string{"commit.force-compact": "true", "num-sorted-run.compaction-trigger": "2"}))
	tbl := f.open(fs)
	w := f.stream(tbl)
	for n := range int64(8) {
		f.put(w, tbl, ids("d", "v", int(n)))
		r, err := w.Commit(f.ctx, n+1)
		if err != nil {
			t.Fatal(err)
		}
		if runs := f.sortedRuns(fs); len(runs) > 2 || n > 0 && len(r.Snapshots) != 2 && len(runs) == 2 && runs[1].Level == 0 {
			t.Errorf("commit %d leaves %d runs: %+v", n+1, len(runs), r)
		}
	}
}

// Two streams of one table compact the same bucket. Each lands all of its rows; who
// finds that the other was first gives its compaction up, reads the bucket anew and
// compacts again. The tree stays a tree, and no file is left over.
func TestTwoStreamsCompactOneBucket(t *testing.T) {
	f := newFixture(t)
	var mu sync.Mutex
	compacted := 0
	f.events = &event.Listener{CompactEnd: func(i event.CompactEnd) {
		mu.Lock()
		defer mu.Unlock()
		if i.Err == nil {
			compacted++
		}
	}}
	fs := f.create(compactSpec(nil))
	model := map[int]string{}
	var tables [2]table.Table
	var writes [2]table.StreamWrite
	start := func(i int) {
		tables[i] = f.open(fs)
		w, err := tables[i].NewStreamWrite(f.ctx, table.WriteOptions{User: fmt.Sprint("job-", i)})
		if err != nil {
			t.Fatal(err)
		}
		writes[i] = w
	}
	start(0)
	start(1)
	lost, next := 0, [2]int64{}
	rnd := rand.New(rand.NewSource(2))
	for n := range 80 {
		i := n % 2
		if n%29 == 28 { // one restarts now and then
			if err := writes[i].Close(); err != nil {
				t.Fatal(err)
			}
			start(i)
		}
		writes[i].WaitForCompaction(rnd.Intn(2) == 0)
		v := fmt.Sprint("v", n)
		var some []int
		for range 1 + rnd.Intn(10) {
			id := 2*rnd.Intn(40) + i // so that no writer's order decides
			some = append(some, id)
			model[id] = v
		}
		f.put(writes[i], tables[i], ids("d", v, some...))
		next[i]++
		r, err := writes[i].Commit(f.ctx, next[i])
		if err != nil {
			t.Fatal(err)
		}
		if r.Compaction != "" {
			lost++
		}
		f.want(f.rows(tables[i], table.Scan{}), pairs(model)...)
		f.sortedRuns(fs)
	}
	for _, w := range writes {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if lost == 0 || compacted < 10 {
		t.Errorf("%d compactions, %d of them in vain: the test does not show what it should", compacted, lost)
	}
	f.noOrphans(fs)
}

// A stream that is closed or aborted while files are compacted leaves none of them.
func TestCloseGivesUpCompactions(t *testing.T) {
	f := newFixture(t)
	fs := f.create(compactSpec(map[string]string{"num-sorted-run.compaction-trigger": "2"}))
	tbl := f.open(fs)
	for round := range 6 {
		w, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: fmt.Sprint("job-", round)})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(3) {
			f.put(w, tbl, ids("d", "v", int(n)))
			if _, err := w.Commit(f.ctx, n+1); err != nil {
				t.Fatal(err)
			}
		}
		f.put(w, tbl, ids("d", "lost", 1))
		if round%2 == 0 {
			if err := w.Abort(context.Background()); err != nil {
				t.Fatal(err)
			}
			f.put(w, tbl, ids("d", "v", 3))
			if _, err := w.Commit(f.ctx, 4); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f.noOrphans(fs)
		for _, row := range f.rows(tbl, table.Scan{}) {
			if strings.Contains(row, "lost") {
				t.Errorf("a row that was given up is there: %s", row)
			}
		}
	}
}

// One who works alone compacts within its calls, and stops when they are to.
func TestCompactionWithinACallEndsWithIt(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var ends []error
	f.events = &event.Listener{CompactEnd: func(i event.CompactEnd) { ends = append(ends, i.Err) }}
	fs := f.create(compactSpec(map[string]string{"num-sorted-run.compaction-trigger": "2"}))
	c := f.components(faultio.New(fs, faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "open" && strings.Contains(c.Path, "/data-") { // of a compaction
			cancel()
		}
		return faultio.Fault{}
	})))
	c.Workers = 1
	tbl, err := paimon.Open(f.ctx, c, name, dir)
	if err != nil {
		t.Fatal(err)
	}
	w := f.stream(tbl)
	f.put(w, tbl, ids("d", "v", 0))
	if _, err := w.Commit(ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.put(w, tbl, ids("d", "v", 1))
	_, err = w.Commit(ctx, 2)
	wantKind(t, err, tarnerr.Unavailable)
	if len(ends) != 1 || !errors.Is(ends[0], context.Canceled) {
		t.Fatalf("compactions ended with %v", ends)
	}
	if err := w.Abort(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.noOrphans(fs)
}
