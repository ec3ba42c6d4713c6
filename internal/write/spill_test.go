package write

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// spillTable has partitions, two buckets and a text, so that rows differ in size.
func spillTable(keyed bool, options map[string]string) schema.Spec {
	s := schema.Spec{
		Fields: []types.Field{
			field("p", types.Int, false), field("k", types.VarChar, false), field("o", types.BigInt, true), field("v", types.VarChar, true),
		},
		PartitionKeys: []string{"p"}, Options: map[string]string{},
	}
	if keyed {
		s.PrimaryKeys = []string{"p", "k"}
		s.Options["bucket"] = "2"
	}
	for k, v := range options {
		s.Options[k] = v
	}
	return s
}

// spillTo gives the fixture's writers a budget and a directory of temporary files.
func (f *fixture) spillTo(limit int64) (*budget.Budget, *spill.Store, *mem.FS) {
	b, fs := budget.New(limit), mem.New(mem.Posix)
	store := spill.NewStore(fs, "/tmp/spill")
	f.cfg.Pool, f.cfg.Spill = NewPool(b, 2), store
	return b, store, fs
}

type spillRow struct {
	p, k, o int64
	v       string
	kind    int8
}

func (f *fixture) spillBatch(keyed bool, rows []spillRow) arrow.RecordBatch {
	var kinds []int8
	values := make([][]types.Value, len(rows))
	for i, r := range rows {
		values[i] = []types.Value{r.p, fmt.Sprintf("a long enough prefix %03d", r.k), r.o, r.v}
		if r.v == "" {
			values[i][3] = nil
		}
		if keyed {
			kinds = append(kinds, r.kind)
		}
	}
	return f.batchOf(kinds, values...)
}

// partition is the directory of a message's bucket.
func (f *fixture) partition(m *commitmsg.Message) string {
	names := layout.NewPartitioner(f.schema.Select(f.schema.PartitionKeys), "", f.cfg.Options.PartitionLegacyName)
	path, err := names.Path(m.Partition)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.cfg.Place.BucketDir(path, m.Bucket)
}

// writeAll writes batches and describes what came of them: the rows of each bucket
// with numbers and kinds, however many files they are in.
func (f *fixture) writeAll(keyed bool, batches [][]spillRow, prepareAfter map[int]bool) (string, error) {
	ctx := context.Background()
	w, err := New(f.cfg)
	if err != nil {
		return "", err
	}
	defer w.Close()
	var out strings.Builder
	for i, rows := range batches {
		rec := f.spillBatch(keyed, rows)
		err := w.Write(ctx, rec)
		rec.Release()
		if err != nil {
			return "", err
		}
		if !prepareAfter[i] && i < len(batches)-1 {
			continue
		}
		messages, err := w.Prepare(ctx)
		if err != nil {
			return "", err
		}
		text := f.describe(messages)
		for _, m := range messages {
			for _, file := range m.ChangelogFiles {
				text += fmt.Sprintf("changelog of bucket %s/%d:\n", f.partition(m), m.Bucket)
				for _, line := range f.lines(f.partition(m), file) {
					text += "  " + line + "\n"
				}
			}
		}
		var kept []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "  ") {
				kept = append(kept, line)
			} else {
				kept = append(kept, strings.SplitN(line, ":", 2)[0]+"\n")
			}
		}
		// One bucket may have several files.
		last := ""
		for _, line := range kept {
			if !strings.HasPrefix(line, "  ") {
				if line == last {
					continue
				}
				last = line
			}
			out.WriteString(line)
		}
	}
	return out.String(), w.Close()
}

// changesOf are the rows of the changelog files of each bucket, however many those are,
// in what writeAll says: all rows that were taken, with their numbers and kinds.
func changesOf(text string) string {
	rows := map[string][]string{}
	bucket := ""
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  ") {
			bucket = line
		} else if strings.HasPrefix(bucket, "changelog") {
			rows[bucket] = append(rows[bucket], line)
		}
	}
	var out strings.Builder
	for _, b := range slices.Sorted(maps.Keys(rows)) {
		slices.Sort(rows[b])
		out.WriteString(b + strings.Join(rows[b], ""))
	}
	return out.String()
}

// What spills, and is merged from disk in one pass or several, is what stays in
// memory: the same rows, numbers and kinds. Where the disk is full or must not be
// used, and buckets are flushed in between, all rows are taken once and in order.
func TestSpilledRowsAreEqual(t *testing.T) {
	var spills atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		keyed := rapid.IntRange(0, 3).Draw(rt, "keyed") > 0
		kinds := []int8{0, 0, 0, 2, 3}
		options := map[string]string{
			"local-sort.max-num-file-handles": rapid.SampledFrom([]string{"2", "3", "128"}).Draw(rt, "handles"),
			"spill-compression":               rapid.SampledFrom([]string{"zstd", "lz4", "none"}).Draw(rt, "codec"),
		}
		if keyed {
			switch rapid.IntRange(0, 3).Draw(rt, "sequence") {
			case 1:
				options["sequence.field"] = "o"
			case 2:
				options["sequence.field"], options["sequence.field.sort-order"] = "o", "descending"
			}
			engine := rapid.SampledFrom([]string{"deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"}).Draw(rt, "engine")
			switch options["merge-engine"] = engine; engine {
			case "first-row":
				delete(options, "sequence.field")
				delete(options, "sequence.field.sort-order")
				kinds = kinds[:3]
			case "partial-update":
				kinds = kinds[:4]
				if rapid.Bool().Draw(rt, "groups") {
					delete(options, "sequence.field")
					delete(options, "sequence.field.sort-order")
					options["fields.o.sequence-group"] = "v"
				}
			case "aggregation":
				options["fields.v.aggregate-function"], options["fields.v.ignore-retract"] = "listagg", "true"
				if options["sequence.field"] == "" {
					options["fields.o.aggregate-function"] = "sum"
				}
			}
		} else if rapid.Bool().Draw(rt, "for append") {
			options["write-buffer-for-append"] = "true"
		} else {
			options["write-max-writers-to-spill"] = "1"
		}
		partitions := rapid.Int64Range(1, 5).Draw(rt, "partitions")
		rowsOf := rapid.Custom(func(rt *rapid.T) spillRow {
			return spillRow{
				p: rapid.Int64Range(1, partitions).Draw(rt, "p"), k: rapid.Int64Range(0, 60).Draw(rt, "k"), o: rapid.Int64Range(0, 5).Draw(rt, "o"),
				v: strings.Repeat("x", rapid.IntRange(0, 40).Draw(rt, "v")), kind: rapid.SampledFrom(kinds).Draw(rt, "kind"),
			}
		})
		var batches [][]spillRow
		prepare := map[int]bool{}
		for i := range rapid.IntRange(1, 8).Draw(rt, "batches") {
			one := rapid.SliceOfN(rowsOf, 1, 8).Draw(rt, "rows")
			for range rapid.IntRange(0, 6).Draw(rt, "doubled") {
				one = append(one, one...)
			}
			batches = append(batches, one)
			prepare[i] = rapid.IntRange(0, 4).Draw(rt, "prepare") == 0
		}
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		var changelog fileformat.Format
		disk := "1 tb"
		if keyed {
			disk = rapid.SampledFrom([]string{"1 tb", "1 tb", "6 kb", "none"}).Draw(rt, "disk")
		}
		if keyed && (disk != "1 tb" || rapid.Bool().Draw(rt, "changelog")) {
			changelog = parquet.New()
		}

		plain := newFixture(t, spillTable(keyed, options))
		plain.cfg.Workers, plain.cfg.Changelog = workers, changelog
		want, err := plain.writeAll(keyed, batches, prepare)
		if err != nil {
			rt.Fatal(err)
		}
		if disk == "none" {
			options["write-buffer-spillable"] = "false"
		} else if keyed {
			options["write-buffer-spill.max-disk-size"] = disk
		}
		f := newFixture(t, spillTable(keyed, options))
		f.cfg.Workers, f.cfg.Changelog = workers, changelog
		b, store, fs := f.spillTo(rapid.Int64Range(24<<10, 64<<10).Draw(rt, "budget"))
		f.cfg.Listener = &event.Listener{SpillEnd: func(i event.SpillEnd) {
			if i.Err != nil {
				rt.Errorf("spilling: %v", i.Err)
			}
			spills.Add(1)
		}}
		got, err := f.writeAll(keyed, batches, prepare)
		if err != nil {
			rt.Fatal(err)
		}
		if disk != "1 tb" { // files are flushed in between, so that keys come again
			got, want = changesOf(got), changesOf(want)
		}
		if got != want {
			rt.Errorf("spilled:\n%s\nin memory:\n%s", got, want)
		}
		if n := b.Used(); n != 0 {
			rt.Errorf("%d bytes stay reserved", n)
		}
		if n := len(fs.Paths()); n != 0 || store.Bytes() != 0 {
			rt.Errorf("%d temporary files of %d bytes are left", n, store.Bytes())
		}
		plain.alloc.AssertSize(t, 0)
		f.alloc.AssertSize(t, 0)
	})
	if spills.Load() == 0 && !testing.Short() { // few draws may all fit
		t.Error("nothing was spilled")
	}
}

// A writer that reached its share of the disk writes data files and goes on.
func TestSpillIsBounded(t *testing.T) {
	f := newFixture(t, spillTable(true, map[string]string{"write-buffer-spill.max-disk-size": "2 kb", "spill-compression": "none"}))
	defer f.alloc.AssertSize(t, 0)
	_, store, _ := f.spillTo(48 << 10)
	const mostDisk = 2 << 10
	var flushes, spills int
	var largest int64
	over := 0 // buffers that were spilled since the last flush though the share was used up
	f.cfg.Listener = &event.Listener{
		FlushEnd: func(event.FlushEnd) { flushes, over = flushes+1, 0 },
		SpillEnd: func(i event.SpillEnd) {
			spills, largest = spills+1, max(largest, i.Bytes)
			before := store.Bytes() - i.Bytes
			if before >= mostDisk { // a flush begins, and has no memory to merge with
				over++
			}
			if over > 1 || before >= mostDisk+largest {
				t.Errorf("%d bytes are spilled to %d on disk", i.Bytes, before)
			}
		},
	}
	var batches [][]spillRow
	for i := range int64(40) {
		var rows []spillRow
		for k := range int64(60) {
			rows = append(rows, spillRow{p: 1, k: 1000*i + k, v: "value"})
		}
		batches = append(batches, rows)
	}
	got, err := f.writeAll(true, batches, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got, "\n  "); n != 40*60 {
		t.Errorf("%d rows came out", n)
	}
	if spills < 2 || flushes < 4 {
		t.Errorf("%d spills, %d flushes", spills, flushes)
	}
}

// Of writers that hold a good part of the budget the one whose rows were left alone the
// longest gives way first. All rows of who asks are young, but not its buckets, where it
// would give up some. Then, of small buffers, the largest, however old.
func TestWhoGivesWayFirst(t *testing.T) {
	p := NewPool(budget.New(100*share), 1)
	names := map[*Writer]string{}
	add := func(name string, held int64, last uint64) *Writer {
		w := new(Writer)
		names[w], p.members[w] = name, &member{held: held, last: last, whole: !strings.Contains(name, "buckets")}
		return w
	}
	asks := add("asks", 900, 1)
	add("large, older", 100, 3)
	add("large, newer", 500, 9)
	add("small, old", 10, 2)
	buckets := add("buckets, in between", 300, 5)
	small := add("small, largest, newest", 99, 20)
	add("small, as large, older", 99, 12)
	add("small, middle", 50, 4)
	for _, c := range []struct {
		w    *Writer
		want []string
	}{
		{asks, []string{"large, older", "buckets, in between", "large, newer", "asks", "small, as large, older", "small, largest, newest", "small, middle", "small, old"}},
		{small, []string{"asks", "large, older", "buckets, in between", "large, newer", "small, as large, older", "small, largest, newest", "small, middle", "small, old"}},
		{buckets, []string{"asks", "large, older", "buckets, in between", "large, newer", "small, as large, older", "small, largest, newest", "small, middle", "small, old"}},
		{nil, []string{"asks", "large, older", "buckets, in between", "large, newer", "small, as large, older", "small, largest, newest", "small, middle", "small, old"}},
	} {
		var got []string
		for _, w := range p.victims(c.w) {
			got = append(got, names[w])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q asks: %q", names[c.w], got)
		}
	}
}

// A table with many partitions writes one file of each bucket, however often its
// buffer was full, with keys and without.
func TestSpillAvoidsSmallFiles(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprint("keyed=", keyed), func(t *testing.T) { spillAvoidsSmallFiles(t, keyed) })
	}
}

func spillAvoidsSmallFiles(t *testing.T, keyed bool) {
	write := func(options map[string]string) (files, buckets int) {
		f := newFixture(t, spillTable(keyed, options))
		defer f.alloc.AssertSize(t, 0)
		f.spillTo(96 << 10)
		w := f.writer()
		defer w.Close()
		for i := range int64(60) {
			var rows []spillRow
			for p := range int64(3 * maxOpen) {
				rows = append(rows, spillRow{p: p, k: i, v: "value"})
			}
			rec := f.spillBatch(keyed, rows)
			err := w.Write(context.Background(), rec)
			rec.Release()
			if err != nil {
				t.Fatal(err)
			}
		}
		messages, err := w.Prepare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			files += len(m.NewFiles)
		}
		return files, len(messages)
	}
	if files, buckets := write(nil); files != buckets || buckets < 3*maxOpen || !keyed && buckets > 3*maxOpen {
		t.Errorf("%d files of %d buckets in %d partitions", files, buckets, 3*maxOpen)
	}
	if files, buckets := write(map[string]string{"write-buffer-spillable": "false"}); files <= buckets {
		t.Errorf("%d files of %d buckets without spilling: the test does not fill the buffer", files, buckets)
	}
}

// Many writers, most of them idle at any time, share a budget far smaller than what
// they write: all get on, and all rows come out.
func TestWritersShareABudget(t *testing.T) {
	const writers, rounds, perRound = 12, 20, 40
	b := budget.New(128 << 10)
	pool := NewPool(b, 2)
	fs := mem.New(mem.Posix)
	store := spill.NewStore(fs, "/tmp/spill")
	var spills atomic.Int64
	var all sync.WaitGroup
	for n := range writers {
		f := newFixture(t, spillTable(n%3 > 0, nil))
		f.cfg.Pool, f.cfg.Workers = pool, 2
		if n%4 != 3 {
			f.cfg.Spill = store
		}
		f.cfg.Listener = &event.Listener{SpillEnd: func(event.SpillEnd) { spills.Add(1) }}
		all.Go(func() {
			ctx := context.Background()
			w, err := New(f.cfg)
			if err != nil {
				t.Error(err)
				return
			}
			rows := int64(0)
			for r := range int64(rounds) {
				var part []spillRow
				for i := range int64(perRound) {
					part = append(part, spillRow{p: i % 7, k: perRound*r + i, v: strings.Repeat("y", int(i))})
				}
				rec := f.spillBatch(n%3 > 0, part)
				err := w.Write(ctx, rec)
				rec.Release()
				if err != nil {
					t.Errorf("writer %d: %v", n, err)
					return
				}
				if r%8 == 7 || r == rounds-1 {
					messages, err := w.Prepare(ctx)
					if err != nil {
						t.Errorf("writer %d: %v", n, err)
						return
					}
					for _, m := range messages {
						for _, file := range m.NewFiles {
							rows += file.RowCount
						}
					}
				}
			}
			if rows != rounds*perRound {
				t.Errorf("writer %d: %d rows of %d", n, rows, rounds*perRound)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			f.alloc.AssertSize(t, 0)
		})
	}
	all.Wait()
	if b.Used() != 0 || len(fs.Paths()) != 0 {
		t.Errorf("%d bytes and %d files are left", b.Used(), len(fs.Paths()))
	}
	if spills.Load() == 0 {
		t.Error("nothing was spilled")
	}
}

// The buffer of a writer that nobody calls gives way: to another writer, and to
// someone who just waits for memory.
func TestIdleBuffersGiveWay(t *testing.T) {
	b := budget.New(64 << 10)
	pool := NewPool(b, 2)
	store := spill.NewStore(mem.New(mem.Posix), "/tmp/spill")
	var spilled []string
	idle := func(name string) (*fixture, *Writer) {
		f := newFixture(t, spillTable(true, nil))
		f.cfg.Table, f.cfg.Pool, f.cfg.Spill = name, pool, store
		f.cfg.Listener = &event.Listener{SpillEnd: func(i event.SpillEnd) { spilled = append(spilled, i.Table) }}
		return f, f.writer()
	}
	put := func(f *fixture, w *Writer, n int64) {
		t.Helper()
		var rows []spillRow
		for k := range n {
			rows = append(rows, spillRow{p: 1, k: k, v: "v"})
		}
		rec := f.spillBatch(true, rows)
		defer rec.Release()
		if err := w.Write(context.Background(), rec); err != nil {
			t.Fatal(err)
		}
	}
	fa, a := idle("a")
	fb, c := idle("b")
	put(fa, a, 150)
	put(fb, c, 150)
	for len(spilled) == 0 {
		put(fb, c, 50)
	}
	if spilled[0] != "a" {
		t.Errorf("%v gave way, not the one that was left alone", spilled)
	}
	if b.Used() == 0 {
		t.Fatal("nothing is held")
	}
	r, err := b.Reserve(context.Background(), b.Limit())
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	for _, w := range []*Writer{a, c} {
		if _, err := w.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	fa.alloc.AssertSize(t, 0)
	fb.alloc.AssertSize(t, 0)
}

// A writer that gives way to others does not wait for memory, which they may hold,
// even when it may not spill any more and has to merge what it has spilled.
func TestWhoGivesWayDoesNotWait(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, spillTable(true, map[string]string{"write-buffer-spill.max-disk-size": "2 kb", "spill-compression": "none"}))
	defer f.alloc.AssertSize(t, 0)
	b, store, fs := f.spillTo(64 << 10)
	var spills, flushes int
	f.cfg.Listener = &event.Listener{
		SpillEnd: func(event.SpillEnd) { spills++ }, FlushEnd: func(event.FlushEnd) { flushes++ },
	}
	w := f.writer()
	defer w.Close()
	put := func(from int64) {
		t.Helper()
		var rows []spillRow
		for k := range int64(60) {
			rows = append(rows, spillRow{p: 1, k: from + k, v: "value"})
		}
		rec := f.spillBatch(true, rows)
		defer rec.Release()
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	if gave, err := f.cfg.Pool.evict(ctx, nil); !gave || err != nil || store.Bytes() < 2<<10 {
		t.Fatalf("%v, %v with %d bytes on disk", gave, err, store.Bytes())
	}
	put(100)
	held, err := b.Reserve(ctx, b.Limit()-b.Used())
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	b.OnWait(func(ctx context.Context) bool {
		if waits++; waits > 1 { // the one who was to give way
			held.Release()
			return false
		}
		gave, err := f.cfg.Pool.evict(ctx, nil)
		return gave && err == nil
	})
	r, err := b.Reserve(ctx, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	if waits != 1 {
		t.Error("an eviction waits for the budget")
	}
	if flushes == 0 {
		t.Errorf("%d spills and no flush: the test does not show what it should", spills)
	}
	r.Release()
	held.Release()
	messages, err := w.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(f.describe(messages), "\n  "); n != 120 {
		t.Errorf("%d rows came out", n)
	}
	if b.Used() != 0 || len(fs.Paths()) != 0 {
		t.Errorf("%d bytes and %d files are left", b.Used(), len(fs.Paths()))
	}
}

// A fault of the disk that holds temporary files either stops the write, or costs
// no row; no file and no memory is left in either case.
func TestFaultsWhileSpilling(t *testing.T) {
	var batches [][]spillRow
	for i := range int64(12) {
		var rows []spillRow
		for k := range int64(50) {
			rows = append(rows, spillRow{p: k % 3, k: (i*37 + k) % 90, v: "value"})
		}
		batches = append(batches, rows)
	}
	want := map[bool]int{}
	for _, keyed := range []bool{true, false} {
		options := map[string]string{"local-sort.max-num-file-handles": "3", "write-buffer-for-append": "true"}
		t.Run(fmt.Sprintf("keyed=%v", keyed), func(t *testing.T) {
			whens := []faultio.When{faultio.Before}
			if !raceDetector {
				whens = append(whens, faultio.Halfway, faultio.After)
			}
			faultio.Sweep(t, whens, func(t *testing.T, plan faultio.Plan) int {
				f := newFixture(t, spillTable(keyed, options))
				defer f.alloc.AssertSize(t, 0)
				b, _, inner := f.spillTo(40 << 10)
				disk := faultio.New(inner, plan)
				store := spill.NewStore(disk, "/tmp/spill")
				f.cfg.Spill = store
				got, err := f.writeAll(keyed, batches, nil)
				if err != nil && !errors.Is(err, tarnerr.Unavailable) {
					t.Errorf("an error of another kind: %v", err)
				}
				if err == nil {
					n := strings.Count(got, "\n  ")
					if want[keyed] == 0 {
						want[keyed] = n
					}
					// Rows flushed in between for want of a disk have their keys again later.
					if n < want[keyed] || !keyed && n != want[keyed] {
						t.Errorf("%d rows, want %d", n, want[keyed])
					}
				}
				if b.Used() != 0 {
					t.Errorf("%d bytes stay reserved", b.Used())
				}
				disk.SetPlan(faultio.None())
				calls := disk.Count()
				if err := store.Close(); err != nil || len(inner.Paths()) != 0 {
					t.Errorf("%d temporary files are left: %v", len(inner.Paths()), err)
				}
				return calls
			})
		})
	}
}
