//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnsql"
)

func big(w *world) table.Table {
	t := w.table("big", "id INT NOT NULL, s STRING", "id", map[string]string{"bucket": "4"})
	for range 3 {
		var lines strings.Builder
		for i := range 8000 {
			fmt.Fprintf(&lines, `{"id":%d,"s":"a text that is longer than twelve bytes %d"}`+"\n", i*3, i)
		}
		w.write(t, lines.String())
	}
	return t
}

// countdown is a context that ends after it has been asked n times whether it
// has: a place that no clock decides.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   chan struct{}
}

func cancelAfter(n int) *countdown {
	ctx, cancel := context.WithCancel(context.Background())
	c := &countdown{ctx, cancel, make(chan struct{}, n)}
	for range n {
		c.left <- struct{}{}
	}
	return c
}

func (c *countdown) Err() error {
	select {
	case <-c.left:
	default:
		c.cancel()
	}
	return c.Context.Err()
}

// goroutines are the stacks of all goroutines but those that only stand for a
// thread of DuckDB's pool: Go keeps one per C thread that has ever called it,
// until that thread ends.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	all := strings.Split(strings.TrimSpace(string(buf[:runtime.Stack(buf, true)])), "\n\n")
	return slices.DeleteFunc(all, func(stack string) bool {
		_, frames, _ := strings.Cut(stack, "\n")
		return strings.HasPrefix(frames, "runtime.goexit(")
	})
}

func TestCancelLeavesNothing(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	big(w)
	w.does("CREATE TABLE heap (id INT, s STRING); INSERT INTO heap SELECT id, s FROM big")
	queries := []string{
		"SELECT * FROM big", "SELECT s, count(*) FROM big GROUP BY s ORDER BY s", "SELECT count(*) FROM big a JOIN heap b ON a.id = b.id",
		"SELECT sum(a.range * b.range) FROM range(20000) a, range(20000) b", "INSERT INTO big SELECT id + 1, s FROM big",
		"SELECT a.s, b.s FROM heap a LEFT JOIN big b ON a.id = b.id + 3 ORDER BY b.s, a.s", "INSERT INTO heap SELECT a.id, b.s FROM big a JOIN heap b USING (id) ORDER BY b.s",
		"SELECT * FROM heap ORDER BY s DESC, id", "SELECT path FROM (SELECT file_path AS path FROM big$files UNION ALL SELECT file_path FROM heap$files)",
	}
	run := func(ctx context.Context, sql string) error {
		res, err := w.db.Exec(ctx, sql)
		if err != nil {
			return err
		}
		defer res.Close()
		if res.Rows == nil {
			return nil
		}
		for {
			if _, err := res.Rows.Next(ctx); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	asked := make([]int, len(queries)) // how often each asks its context
	for i, sql := range queries {
		const enough = 1 << 20
		ctx := cancelAfter(enough)
		if err := run(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		asked[i] = enough - len(ctx.left)
		ctx.cancel()
	}
	before, used := len(goroutines()), w.mem.CurrentAlloc()
	r := rand.New(rand.NewPCG(3, 4))
	cancelled, total, done := map[string]int{}, 0, 0
	snapshots := w.latest("big") + w.latest("heap")
	for i := 0; total < 100; i++ {
		if i == 1000 {
			t.Fatalf("of %d queries only %d could be cancelled: %v", i, total, cancelled)
		}
		sql := queries[i%len(queries)]
		ctx := cancelAfter(r.IntN(asked[i%len(queries)]))
		if strings.Contains(sql, "range(") { // no table asks the context here: end it from beside
			go ctx.cancel()
		}
		err := run(ctx, sql)
		ctx.cancel()
		switch {
		case errors.Is(err, context.Canceled):
			cancelled[sql]++
			total++
			if strings.HasPrefix(sql, "INSERT") != strings.Contains(err.Error(), "Nothing of this INSERT was committed.") {
				t.Errorf("%s: %v", sql, err)
			}
		case err != nil:
			t.Fatalf("%s: %v", sql, err)
		case strings.HasPrefix(sql, "INSERT"):
			done++
		}
	}
	if now := w.latest("big") + w.latest("heap"); now != snapshots+int64(done) {
		t.Errorf("%d snapshots, %d INSERTs ended well, %d snapshots before", now, done, snapshots)
	}
	for _, sql := range queries {
		if cancelled[sql] < 5 {
			t.Errorf("only %d times cancelled: %s", cancelled[sql], sql)
		}
	}
	// A query that is left half read and closed.
	rows, err := w.db.Query(context.Background(), queries[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := rows.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Next of an ended context: %v", err)
	}
	if err := errors.Join(rows.Close(), rows.Close()); err != nil {
		t.Error(err)
	}
	if _, err := rows.Next(context.Background()); err != io.EOF {
		t.Errorf("Next after Close: %v", err)
	}
	if now := w.mem.CurrentAlloc(); now != used {
		t.Errorf("%d bytes are left, %d before", now, used)
	}
	noMoreThan(t, before)
	// INSERTs that were cancelled left no file that no snapshot knows, and nothing is
	// left to spill.
	for _, name := range []string{"big", "heap"} {
		w.knowsAllFiles(name)
	}
	if files := below(t, w.temp); len(files) > 0 {
		t.Errorf("temporary files are left: %v", files)
	}
	// The DB is as good as before.
	w.wants("SELECT count(*) FROM big a JOIN big b USING (id) WHERE a.id < 30 AND a.id % 3 = 0", "10\n")
}

// latest is the id of a table's latest snapshot.
func (w *world) latest(name string) int64 {
	w.Helper()
	s, err := w.load(name).Snapshot(context.Background(), 0)
	if err != nil {
		w.Fatal(err)
	}
	return s.ID
}

// noMoreThan wants at most so many goroutines. Those that have done their work may
// need a moment to end.
func noMoreThan(t *testing.T, before int) {
	t.Helper()
	left := goroutines()
	for tries := 0; len(left) > before && tries < 1000; tries++ {
		time.Sleep(10 * time.Millisecond)
		left = goroutines()
	}
	if len(left) > before {
		t.Errorf("%d goroutines, %d before:\n%s", len(left), before, strings.Join(left, "\n\n"))
	}
}

// Closing a DB leaves no goroutine, no byte and no file of it, be its results read
// or not; a DB is closed when the last of them is.
func TestCloseLeavesNothing(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	big(w)
	ctx := context.Background()
	before, used := len(goroutines()), w.mem.CurrentAlloc()
	temp := t.TempDir()
	for range 3 {
		db := w.open(tarnsql.Options{Database: "shop", TempDir: temp, Threads: 2, Allocator: w.mem})
		if got, err := text(db, "SELECT count(*) FROM big a JOIN big b USING (id)"); err != nil || got != "8000\n" {
			t.Errorf("%q, %v", got, err)
		}
		rows, err := db.Query(ctx, "SELECT * FROM big ORDER BY s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(ctx); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		if err := errors.Join(rows.Close(), <-closed, db.Close()); err != nil {
			t.Error(err)
		}
	}
	noMoreThan(t, before)
	if now := w.mem.CurrentAlloc(); now != used {
		t.Errorf("%d bytes are left, %d before", now, used)
	}
	if files := below(t, temp); len(files) > 0 {
		t.Errorf("temporary files are left: %v", files)
	}
}

// knowsAllFiles wants each data file of shop.name to be one of a snapshot.
func (w *world) knowsAllFiles(name string) {
	w.Helper()
	known := map[string]bool{}
	for s, err := range w.load(name).Snapshots(context.Background()) {
		if err != nil {
			w.Fatal(err)
		}
		paths, err := text(w.db, fmt.Sprintf("SELECT file_path FROM %s$files AT (VERSION => %d)", name, s.ID))
		if err != nil {
			w.Fatal(err)
		}
		for path := range strings.Lines(paths) {
			known[filepath.Base(strings.TrimSpace(path))] = true
		}
	}
	for _, path := range below(w.T, filepath.Join(w.dir, "shop.db", name)) {
		if base := filepath.Base(path); strings.HasPrefix(base, "data-") && !known[base] {
			w.Errorf("%s: no snapshot has %s", name, path)
		}
	}
}

// below are the files under a directory.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestQueriesSideBySide(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	big(w)
	errs := make(chan error)
	for range 4 {
		go func() {
			for range 5 {
				got, err := text(w.db, "SELECT count(*), max(s) FROM big a JOIN big$snapshots s ON s.snapshot_id = 3 WHERE a.id >= 3000")
				if err == nil && got != "7000,a text that is longer than twelve bytes 999\n" && !strings.HasPrefix(got, "7000,") {
					err = errors.New(got)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Memory: 64 << 20, Threads: 1})
	// More than the limit: the sort goes to disk.
	w.wants("SELECT count(*), max(n) FROM (SELECT hash(range) AS h, range AS n, repeat('x', 100) AS s FROM range(1000000) ORDER BY h, s OFFSET 1)", "999999,999999\n")
	// What cannot go to disk says what to raise.
	r, err := w.db.Exec(context.Background(), "SELECT length(string_agg(repeat('x', 1000), '')) FROM range(500000)")
	if err == nil {
		_, err = drain(context.Background(), r.Rows, r.Rows.Fields())
		r.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Raise the memory limit") {
		t.Errorf("more than fits: %v", err)
	}
}
