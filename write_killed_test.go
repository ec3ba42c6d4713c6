package tarn_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// upserterEnv makes TestKilledWhileWriting a process that writes, spills and compacts
// until it is killed: directory, where to die.
const upserterEnv = "TARN_TEST_UPSERTER"

// The tables of the test. Of upserts old rows are looked up, so that compactions write
// changelogs; of inputs flushes do, and nothing is compacted. Another process of its own
// holds rows of others in temporary files all the time.
const (
	upsertTable = "upserts"
	inputTable  = "inputs"
	otherTable  = "others"
)

const killRows = 2400

func openSpilling(ctx context.Context, dir, name string, workers int, c tarn.Components) (*tarn.Runtime, table.Table, error) {
	rt, err := tarn.NewRuntime(tarn.Config{
		Memory: 1 << 20, Durability: fileio.OS, SpillDir: filepath.Join(dir, "spill"), Workers: workers, Components: c,
	})
	if err != nil {
		return nil, nil, err
	}
	cat, err := rt.Open(ctx, filepath.Join(dir, "warehouse"))
	if err != nil {
		return nil, nil, err
	}
	t, err := cat.LoadTable(ctx, table.Identifier{Database: "db", Table: name})
	return rt, t, err
}

// upsertForever goes on with the commits of a stream: commit n sets all keys to n.
// It dies at the point named, in its second commit or later.
func upsertForever(ctx context.Context, dir, point string) error {
	at := slices.IndexFunc(pointsToDie, func(p pointToDie) bool { return p.name == point })
	if at < 0 {
		return fmt.Errorf("no such point: %s", point)
	}
	k, err := newKiller(dir, pointsToDie[at])
	if err != nil {
		return err
	}
	_, t, err := openSpilling(ctx, dir, k.point.table, k.point.workers, tarn.Components{FileIO: k, Listener: k.listener()})
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
	go k.watchTemporaryFiles()
	for n := before + 1; n < before+30; n++ {
		if k.point.workers > 1 { // else each commit has its compactions
			w.WaitForCompaction(n%2 == 0)
		}
		if err := upsert(ctx, t, w, n); err != nil {
			return err
		}
		k.committing()
		if _, err := w.Commit(ctx, n); err != nil {
			return err
		}
		k.committed()
	}
	return fmt.Errorf("it did not get to the point: %s", point)
}

// upsert sets all keys to n.
func upsert(ctx context.Context, t table.Table, w table.StreamWrite, n int64) error {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	chance := rand.New(rand.NewPCG(uint64(n), 1))
	text := make([]byte, 150)
	for from := 0; from < killRows; from += 200 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
		for i := range 200 {
			for at := range text {
				text[at] = letters[chance.Uint32()%64]
			}
			b.Field(0).(*array.Int64Builder).Append(int64((from + i) * 7919 % killRows))
			b.Field(1).(*array.Int64Builder).Append(n)
			b.Field(2).(*array.StringBuilder).Append(string(text))
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
// the last commit readable in full. The next one goes on from there, tells of all that
// the dead one did not, once, and removes what it had spilled, but nothing of those that
// live. Files of a table that were begun and committed nowhere stay, and no other do.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv(upserterEnv); dir != "" { // the process to be killed
		t.Fatal(upsertForever(t.Context(), dir, os.Getenv(upserterEnv+"_POINT")))
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
	tables := map[string]*upserted{}
	for name, options := range map[string]map[string]string{
		upsertTable: {"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "2", "target-file-size": "64 kb"},
		inputTable:  {"changelog-producer": "input", "write-only": "true"},
		otherTable:  {},
	} {
		options["bucket"], options["local-sort.max-num-file-handles"], options["write-buffer-size"] = "2", "2", "64 kb"
		if err := cat.CreateTable(ctx, table.Identifier{Database: "db", Table: name}, schema.Spec{
			Fields: []types.Field{
				{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
				{Name: "n", Type: types.MustParse("BIGINT")},
				{Name: "text", Type: types.MustParse("STRING")},
			},
			PrimaryKeys: []string{"id"}, Options: options,
		}, false); err != nil {
			t.Fatal(err)
		}
		tables[name] = &upserted{dir: dir, name: name, next: 1, heard: upsertsHeard{next: 1, commits: map[int64]int64{}}, orphans: map[string]bool{}}
	}
	living, other, err := openSpilling(ctx, dir, otherTable, 1, tarn.Components{})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	w, err := other.NewStreamWrite(ctx, table.WriteOptions{User: "job"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := upsert(ctx, other, w, 1); err != nil {
		t.Fatal(err)
	}
	mine := temporaryFiles(t, dir)
	if len(mine) < 3 { // the lock, the directory, what is in it
		t.Fatalf("it has not spilled: %v", mine)
	}
	for _, p := range pointsToDie {
		if testing.Short() && p.workers == 1 { // as under the race detector
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledWhileWriting$")
		cmd.Env = append(os.Environ(), upserterEnv+"="+dir, upserterEnv+"_POINT="+p.name)
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || len(out) > 0 {
			t.Fatalf("%s: the process was not killed: %v\n%s", p.name, err, out)
		}
		if n := len(temporaryFiles(t, dir)) - len(mine); n < 2+p.temporary { // lock and directory
			t.Errorf("%s: %d temporary files are left of it", p.name, n)
		}
		tables[p.table].check(t, p, mine)
		if t.Failed() {
			return
		}
	}
	if _, err := w.Commit(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if got := upserts(t, other, 0); len(got) != 1 || got[1] != killRows {
		t.Errorf("what was spilled all the time became, by commit, %v", got)
	}
}

// temporaryFiles is what lies in the directory for temporary files, locks and
// directories too.
func temporaryFiles(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*", "*/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, "spill", pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, paths...)
	}
	return out
}

// upserted is a table and what is known of it after the processes so far.
type upserted struct {
	dir, name string
	next      int64 // snapshot to look at
	heard     upsertsHeard
	orphans   map[string]bool // files that nobody names, by path
}

// check looks at the files of the table, reads its snapshots, of which each has rows of
// one commit alone, adds a commit, listens on, and looks for temporary files: those of
// another process that lives stay.
func (u *upserted) check(t *testing.T, p pointToDie, living []string) {
	t.Helper()
	ctx := t.Context()
	u.checkFiles(t, p)
	rt, tbl, err := openSpilling(ctx, u.dir, u.name, 2, tarn.Components{})
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
		t.Fatalf("%s: after commit %d the table has, by commit, %v", p.name, last, got)
	}
	if err := upsert(ctx, tbl, w, last+1); err != nil {
		t.Fatal(err)
	}
	locks, err := filepath.Glob(filepath.Join(u.dir, "spill", "*.lock"))
	if err != nil || len(locks) != 2 {
		t.Errorf("%s: two processes spill, %d directories are there: %v", p.name, len(locks), err)
	}
	if _, err := w.Commit(ctx, last+1); err != nil {
		t.Fatal(err)
	}
	if got := upserts(t, tbl, 0); len(got) != 1 || got[last+1] != killRows {
		t.Fatalf("%s: after one more commit the table has, by commit, %v", p.name, got)
	}
	first := u.next
	for s, err := range tbl.Snapshots(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		u.next = max(u.next, s.ID+1)
		if s.ID < first {
			continue
		}
		if got := upserts(t, tbl, s.ID); len(got) != 1 || got[s.CommitIdentifier] != killRows {
			t.Errorf("%s: snapshot %d of commit %d has, by commit, %v", p.name, s.ID, s.CommitIdentifier, got)
		}
	}
	u.heard.listen(t, tbl, p.name, u.next-1)
	for id, n := range u.heard.commits {
		if n != last+1 {
			t.Fatalf("%s: after commit %d it was told of key %d that it is of commit %d", p.name, last+1, id, n)
		}
	}
	if len(u.heard.commits) != killRows {
		t.Errorf("%s: %d keys were told of", p.name, len(u.heard.commits))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if left := temporaryFiles(t, u.dir); !slices.Equal(left, living) {
		t.Errorf("%s: temporary files are\n%v\nof one that lives\n%v", p.name, left, living)
	}
	u.checkFiles(t, pointToDie{name: p.name + ", and one more commit"})
}

// upsertsHeard is what follows the table from its first snapshot on.
type upsertsHeard struct {
	next    int64           // snapshot
	commits map[int64]int64 // by key
}

// listen takes the changes up to a snapshot. Each of them fits what was told before: where
// rows are looked up a new row comes once, an update as the -U of it and right behind it
// the +U of a later commit; else each commit is told of as it came.
func (h *upsertsHeard) listen(t *testing.T, tbl table.Table, phase string, to int64) {
	t.Helper()
	f, err := tbl.Follow(t.Context(), table.FollowOptions{
		From: table.Start{Mode: table.StartAt, Snapshot: h.next}, To: to, Columns: []string{"id", "n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	input := tbl.Name().Table == inputTable
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
					fits = (!there || input && n == before+1) && taken < 0
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
