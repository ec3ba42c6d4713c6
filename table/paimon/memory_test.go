package paimon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/types"
)

// narrow is a process with a budget far below what its tables' files need to be
// read, and several tables under it.
type narrow struct {
	*fixture
	components paimon.Components
	spills     *mem.FS
}

func newNarrow(t *testing.T, memory int64, workers int) *narrow {
	f := newFixture(t)
	// A guard against waiting for ever, not a measure.
	ctx, cancel := context.WithTimeout(f.ctx, 2*time.Minute)
	t.Cleanup(cancel)
	f.ctx, f.budget = ctx, budget.New(memory)
	n := &narrow{fixture: f, spills: mem.New(mem.Posix)}
	n.components = f.components(mem.New(mem.Posix))
	n.components.Workers, n.components.Pool = workers, write.NewPool(f.budget, workers)
	n.components.Spill = spill.NewStore(n.spills, "/spill")
	t.Cleanup(func() {
		if left := n.spills.Paths(); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
		if peak := f.budget.Peak(); peak > memory {
			t.Errorf("%d bytes of %d were taken", peak, memory)
		}
	})
	return n
}

// table makes a key table in two buckets.
func (n *narrow) table(name string, options map[string]string) table.Table {
	n.Helper()
	spec := schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "v", Type: types.MustParse("STRING")},
		},
		PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"},
	}
	for k, v := range options {
		spec.Options[k] = v
	}
	at := "/w/db.db/" + name
	if _, err := schema.NewStore(n.components.FileIO, at, n.components.Env).Create(n.ctx, spec); err != nil {
		n.Fatal(err)
	}
	t, err := paimon.Open(n.ctx, n.components, table.Identifier{Database: "db", Table: name}, at)
	if err != nil {
		n.Fatal(err)
	}
	return t
}

// fill commits rows so often that each key is in several files of some size.
func (n *narrow) fill(t table.Table, commits, rows int) {
	n.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for c := range commits {
		b := array.NewRecordBuilder(n.alloc, t.ArrowSchema())
		for i := range rows {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			text := make([]byte, 0, 400)
			for range 50 {
				text = fmt.Appendf(text, "%08x", rnd.Uint32())
			}
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint(c, " ", string(text)))
		}
		rec := b.NewRecordBatch()
		b.Release()
		n.commit(t, func(w table.BatchWrite) error { return w.Write(n.ctx, rec) })
		rec.Release()
	}
}

func (n *narrow) commit(t table.Table, write func(table.BatchWrite) error) {
	n.Helper()
	w, err := t.NewBatchWrite(n.ctx, table.WriteOptions{})
	if err != nil {
		n.Fatal(err)
	}
	defer w.Close()
	if err := write(w); err != nil {
		n.Fatal(err)
	}
	if _, err := w.Commit(n.ctx); err != nil {
		n.Fatal(err)
	}
}

// copy takes all batches of a reader, on the goroutine that reads.
func (n *narrow) copy(r table.Reader, take func(arrow.RecordBatch) error) error {
	for {
		rec, err := r.Next(n.ctx)
		if err == io.EOF {
			return r.Close()
		}
		if err == nil {
			err = take(rec)
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
	}
}

func (n *narrow) scan(t table.Table) table.Reader {
	n.Helper()
	r, err := t.Scan(n.ctx, table.Scan{})
	if err != nil {
		n.Fatal(err)
	}
	return r
}

func (n *narrow) count(t table.Table) int {
	n.Helper()
	rows := 0
	if err := n.copy(n.scan(t), func(rec arrow.RecordBatch) error { rows += int(rec.NumRows()); return nil }); err != nil {
		n.Fatal(err)
	}
	return rows
}

const narrowMemory = 8 << 20

// Who copies a table whose files need all of the memory writes on the goroutine that
// reads: neither waits for the other, whatever becomes of full buffers.
func TestCopyInLittleMemory(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for name, options := range map[string]map[string]string{
			"write-only":  {"write-only": "true"},
			"compacting":  {"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "2"},
			"not spilled": {"write-buffer-spillable": "false", "num-sorted-run.compaction-trigger": "2"},
			"changelog":   {"changelog-producer": "input"},
			"looking up":  {"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "2"},
			"aggregating": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
			"many":        {"bucket": "7", "num-sorted-run.compaction-trigger": "2"},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				n := newNarrow(t, narrowMemory, workers)
				const rows = 4000
				from := n.table("a", map[string]string{"write-only": "true"})
				n.fill(from, 6, rows)
				into := n.table("b", options)
				for range 2 {
					n.commit(into, func(w table.BatchWrite) error {
						return n.copy(n.scan(from), func(rec arrow.RecordBatch) error { return w.Write(n.ctx, rec) })
					})
				}
				if got := n.count(into); got != rows {
					t.Errorf("%d rows", got)
				}
			})
		}
	}
}

// A table is written while its changes are followed, and compacted while it is read.
func TestFollowAndCompactInLittleMemory(t *testing.T) {
	n := newNarrow(t, narrowMemory, 2)
	const rows = 4000
	from := n.table("a", map[string]string{"write-only": "true"})
	n.fill(from, 3, rows)
	into := n.table("b", map[string]string{"num-sorted-run.compaction-trigger": "2"})
	f, err := from.Follow(n.ctx, table.FollowOptions{From: table.Start{Mode: table.StartFull, Snapshot: 2}, To: 3})
	if err != nil {
		t.Fatal(err)
	}
	w, err := into.NewStreamWrite(n.ctx, table.WriteOptions{User: "job"})
	if err != nil {
		t.Fatal(err)
	}
	for {
		c, err := f.Next(n.ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := n.copy(c.Rows, func(rec arrow.RecordBatch) error { return w.Write(n.ctx, rec) }); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(n.ctx, c.Snapshot.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := n.count(into); got != rows {
		t.Errorf("%d rows", got)
	}

	r := n.scan(from)
	if _, err := r.Next(n.ctx); err != nil {
		t.Fatal(err)
	}
	report, err := from.Compact(n.ctx, table.CompactOptions{})
	if err != nil || report.Compacted != 2 {
		t.Errorf("%v, %v", report, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := n.count(from); got != rows {
		t.Errorf("%d rows after compaction", got)
	}
}

// opened counts the data files that are open at one time.
type opened struct {
	fileio.FileIO
	now, most atomic.Int64
}

func (o *opened) Open(ctx context.Context, path string) (fileio.File, error) {
	f, err := o.FileIO.Open(ctx, path)
	if err != nil || !strings.Contains(path, "/bucket-") {
		return f, err
	}
	n := o.now.Add(1)
	for {
		most := o.most.Load()
		if n <= most || o.most.CompareAndSwap(most, n) {
			return &openFile{f, o}, nil
		}
	}
}

type openFile struct {
	fileio.File
	in *opened
}

func (f *openFile) Close() error {
	f.in.now.Add(-1)
	return f.File.Close()
}

// Hundreds of files that overlap are read and compacted in little memory: the most of
// them go to temporary files first, whatever the merge engine.
func TestManyRunsInLittleMemory(t *testing.T) {
	runs, perRun := 500, 40
	if raceDetector {
		runs = 150
	}
	for engine, options := range map[string]map[string]string{
		"deduplicate":    nil,
		"aggregation":    {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
		"lookup":         {"changelog-producer": "lookup"},
		"by their count": {"sort-spill-threshold": "4"},
	} {
		t.Run(engine, func(t *testing.T) {
			n := newNarrow(t, narrowMemory, 2)
			fs := &opened{FileIO: n.components.FileIO}
			n.components.FileIO = fs
			set := map[string]string{"bucket": "1", "write-only": "true", "manifest.merge-min-count": "1000"}
			maps.Copy(set, options)
			tbl := n.table("a", set)
			w, err := tbl.NewStreamWrite(n.ctx, table.WriteOptions{User: "job"})
			if err != nil {
				t.Fatal(err)
			}
			for c := range runs {
				b := array.NewRecordBuilder(n.alloc, tbl.ArrowSchema())
				for i := range perRun {
					b.Field(0).(*array.Int64Builder).Append(int64(i * 10))
					b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("%04d", c))
				}
				rec := b.NewRecordBatch()
				b.Release()
				err := w.Write(n.ctx, rec)
				rec.Release()
				if err == nil {
					_, err = w.Commit(n.ctx, int64(c+1))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			check := func(when string) {
				t.Helper()
				rows := n.rows(tbl, table.Scan{})
				if last := fmt.Sprintf("%04d", runs-1); len(rows) != perRun || slices.ContainsFunc(rows, func(r string) bool { return !strings.HasSuffix(r, last) }) {
					t.Errorf("%s: %d rows, such as %s", when, len(rows), rows[0])
				}
			}
			check("before")
			if _, err := tbl.Compact(n.ctx, table.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
			check("after")
			most, limit := fs.most.Load(), int64(narrowMemory/(64<<10))
			if options["sort-spill-threshold"] != "" {
				limit = 4 + 1
			}
			if most > limit || fs.now.Load() != 0 {
				t.Errorf("%d data files were open at once, %d are now", most, fs.now.Load())
			}
		})
	}
}
