package tarn_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// upserterEnv makes TestKilledWhileWriting a process that writes, spills and compacts
// until it is killed: directory, phase to die in.
const upserterEnv = "TARN_TEST_UPSERTER"

var upsertTable = table.Identifier{Database: "db", Table: "upserts"}

const killRows = 3000

func openSpilling(ctx context.Context, dir string, l *event.Listener) (*tarn.Runtime, table.Table, error) {
	rt, err := tarn.NewRuntime(tarn.Config{
		Memory: 1 << 20, Durability: fileio.OS, SpillDir: filepath.Join(dir, "spill"), Workers: 2,
		Components: tarn.Components{Listener: l},
	})
	if err != nil {
		return nil, nil, err
	}
	cat, err := rt.Open(ctx, filepath.Join(dir, "warehouse"))
	if err != nil {
		return nil, nil, err
	}
	t, err := cat.LoadTable(ctx, upsertTable)
	return rt, t, err
}

// upsertForever goes on with the commits of a stream: commit n sets all keys to n.
// It dies at the second event of the phase, or of those that the phase says.
func upsertForever(ctx context.Context, dir, phase string) error {
	seen, last := 0, 2
	if phase == "told later" { // each commit has two snapshots: the rows, and what was looked up
		last = 3
	}
	die := func(now string) {
		if now != phase {
			return
		}
		if seen++; seen == last {
			kill()
		}
	}
	var spills atomic.Int64
	switch phase {
	case "spilling": // a temporary file has begun
		go whenSpilled(dir, func(file int64) bool { return file >= 2 })
	case "merging": // one more than buffers make: of several of them, or of a compaction
		go whenSpilled(dir, func(file int64) bool { return file > spills.Load()+1 })
	}
	_, t, err := openSpilling(ctx, dir, &event.Listener{
		SpillEnd:   func(event.SpillEnd) { spills.Add(1); die("spill") },
		FlushEnd:   func(event.FlushEnd) { die("flush") },
		CompactEnd: func(event.CompactEnd) { die("compacted") },
		StorageCall: func(i event.StorageCall) {
			switch {
			case i.Method == "write" && strings.Contains(i.Path, "/changelog-"):
				die("changelog")
			case i.Method == "write" && strings.Contains(i.Path, "/bucket-"):
				die("write")
			case i.Method == "create-if-absent" && strings.Contains(i.Path, "/snapshot/snapshot-"):
				die("told later")
			}
		},
		CommitBegin: func(event.CommitBegin) { die("commit") },
		CommitEnd:   func(event.CommitEnd) { die("committed") },
	})
	if err != nil {
		return err
	}
	w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: "job"})
	if err != nil {
		return err
	}
	before, _, err := w.LastCommitted(ctx)
	if err != nil {
		return err
	}
	for n := before + 1; n < before+30; n++ {
		w.WaitForCompaction(n%2 == 0)
		if err := upsert(ctx, t, w, n); err != nil {
			return err
		}
		if _, err := w.Commit(ctx, n); err != nil {
			return err
		}
	}
	return fmt.Errorf("nothing of the phase %q came", phase)
}

func kill() {
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	select {}
}

// whenSpilled kills the process as soon as there is a temporary file with such a number.
func whenSpilled(dir string, now func(file int64) bool) {
	for {
		files, _ := filepath.Glob(filepath.Join(dir, "spill", "*", "*"))
		for _, f := range files {
			var number int64
			if _, err := fmt.Sscanf(filepath.Base(f), "spill-%d.arrow", &number); err == nil && now(number) {
				kill()
			}
		}
		runtime.Gosched()
	}
}

// upsert sets all keys to n.
func upsert(ctx context.Context, t table.Table, w table.StreamWrite, n int64) error {
	for from := 0; from < killRows; from += 500 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
		for i := range 500 {
			b.Field(0).(*array.Int64Builder).Append(int64((from + i) * 7919 % killRows))
			b.Field(1).(*array.Int64Builder).Append(n)
			b.Field(2).(*array.StringBuilder).Append(strings.Repeat("text ", 160))
		}
		rec := b.NewRecordBatch()
		b.Release()
		err := w.Write(ctx, rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// A writer that is killed while it spills, flushes, looks up, compacts or commits leaves
// the last commit readable in full; the next one goes on from there, tells of all that
// the dead one did not, once, and removes what it had spilled.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv(upserterEnv); dir != "" { // the process to be killed
		t.Fatal(upsertForever(t.Context(), dir, os.Getenv(upserterEnv+"_PHASE")))
	}
	ctx, dir := t.Context(), t.TempDir()
	cat, err := tarn.Open(ctx, filepath.Join(dir, "warehouse"), tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "db", false); err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateTable(ctx, upsertTable, schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "n", Type: types.MustParse("BIGINT")},
			{Name: "text", Type: types.MustParse("STRING")},
		},
		PrimaryKeys: []string{"id"}, Options: map[string]string{
			"bucket": "2", "num-sorted-run.compaction-trigger": "2", "local-sort.max-num-file-handles": "2", "changelog-producer": "lookup",
		},
	}, false); err != nil {
		t.Fatal(err)
	}
	phases := []string{"spilling", "spill", "merging", "flush", "write", "changelog", "compacted", "commit", "told later", "committed"}
	from := int64(1)
	heard := upsertsHeard{next: 1, commits: map[int64]int64{}}
	for _, phase := range phases {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledWhileWriting$")
		cmd.Env = append(os.Environ(), upserterEnv+"="+dir, upserterEnv+"_PHASE="+phase)
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || len(out) > 0 {
			t.Fatalf("%s: the process was not killed: %v\n%s", phase, err, out)
		}
		from = checkUpserts(t, dir, phase, from, &heard)
	}
}

// checkUpserts reads the snapshots of the table from one on, of which each has rows of
// one commit alone, adds a commit of its own, listens on, and looks for temporary files.
// It returns the next snapshot to look at.
func checkUpserts(t *testing.T, dir, phase string, from int64, heard *upsertsHeard) (next int64) {
	t.Helper()
	ctx := t.Context()
	rt, tbl, err := openSpilling(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tbl.NewStreamWrite(ctx, table.WriteOptions{User: "job"})
	if err != nil {
		t.Fatal(err)
	}
	last, ok, err := w.LastCommitted(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := upserts(t, tbl, 0); ok && (len(got) != 1 || got[last] != killRows) {
		t.Fatalf("%s: after commit %d the table has, by commit, %v", phase, last, got)
	}
	if err := upsert(ctx, tbl, w, last+1); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "spill", "*.lock"))
	if err != nil || len(left) != 1 {
		t.Errorf("%s: one process spills, %d directories are there: %v", phase, len(left), err)
	}
	if _, err := w.Commit(ctx, last+1); err != nil {
		t.Fatal(err)
	}
	if got := upserts(t, tbl, 0); len(got) != 1 || got[last+1] != killRows {
		t.Fatalf("%s: after one more commit the table has, by commit, %v", phase, got)
	}
	for s, err := range tbl.Snapshots(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		next = max(next, s.ID+1)
		if s.ID < from {
			continue
		}
		if got := upserts(t, tbl, s.ID); len(got) != 1 || got[s.CommitIdentifier] != killRows {
			t.Errorf("%s: snapshot %d of commit %d has, by commit, %v", phase, s.ID, s.CommitIdentifier, got)
		}
	}
	heard.listen(t, tbl, phase, next-1)
	for id, n := range heard.commits {
		if n != last+1 {
			t.Fatalf("%s: after commit %d it was told of key %d that it is of commit %d", phase, last+1, id, n)
		}
	}
	if len(heard.commits) != killRows {
		t.Errorf("%s: %d keys were told of", phase, len(heard.commits))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "spill", "*")); len(left) > 0 {
		t.Errorf("%s: temporary files are left: %v", phase, left)
	}
	return next
}

// upsertsHeard is what follows the table from its first snapshot on.
type upsertsHeard struct {
	next    int64           // snapshot
	commits map[int64]int64 // by key
}

// listen takes the changes up to a snapshot. Each of them fits what was told before: a new
// row comes once, an update as the -U of it and right behind it the +U of a later commit.
func (h *upsertsHeard) listen(t *testing.T, tbl table.Table, phase string, to int64) {
	t.Helper()
	f, err := tbl.Follow(t.Context(), table.FollowOptions{
		From: table.Start{Mode: table.StartAt, Snapshot: h.next}, To: to, Columns: []string{"id", "n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		c, err := f.Next(t.Context())
		if err == io.EOF {
			h.next = f.Position()
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		taken := int64(-1) // the key of the -U right before
		for {
			rec, err := c.Rows.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kinds, ids, ns := rec.Column(0).(*array.Int8), rec.Column(1).(*array.Int64), rec.Column(2).(*array.Int64)
			for i := range int(rec.NumRows()) {
				kind, id, n := types.RowKind(kinds.Value(i)), ids.Value(i), ns.Value(i)
				before, there := h.commits[id]
				var fits bool
				switch kind {
				case types.Insert:
					fits = !there && taken < 0
				case types.UpdateBefore:
					fits = there && n == before && taken < 0
				case types.UpdateAfter:
					fits = taken == id && n > before
				}
				if !fits {
					t.Fatalf("%s: snapshot %d: %v of key %d of commit %d, but it is of %d, behind a -U of %d", phase, c.Snapshot.ID, kind, id, n, before, taken)
				}
				if taken = -1; kind == types.UpdateBefore {
					taken = id
				} else {
					h.commits[id] = n
				}
			}
		}
		if taken >= 0 {
			t.Fatalf("%s: snapshot %d ends with a -U of key %d", phase, c.Snapshot.ID, taken)
		}
	}
}

// upserts counts the rows of a snapshot, 0 = the latest, by the commit they are of.
func upserts(t *testing.T, tbl table.Table, snapshot int64) map[int64]int {
	t.Helper()
	r, err := tbl.Scan(t.Context(), table.Scan{SnapshotID: snapshot, Columns: []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[int64]int{}
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range rec.Column(0).(*array.Int64).Int64Values() {
			out[n]++
		}
	}
}
