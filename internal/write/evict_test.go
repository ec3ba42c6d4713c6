package write

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commitmsg"
)

// unspilled are the options of a table whose writers flush when memory is short.
var unspilled = map[string]string{"write-buffer-spillable": "false"}

// put writes n rows of a partition, with keys from first on.
func (f *fixture) put(w *Writer, partition, first, n int64) {
	f.t.Helper()
	rows := make([]spillRow, n)
	for k := range n {
		rows[k] = spillRow{p: partition, k: first + k, v: "value"}
	}
	rec := f.spillBatch(w.keyed, rows)
	defer rec.Release()
	if err := w.Write(context.Background(), rec); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) prepare(w *Writer) []*commitmsg.Message {
	f.t.Helper()
	messages, err := w.Prepare(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return messages
}

// One partition is written to all the time, others now and then: when memory is short,
// those that were left alone are flushed, in the order in which they were, and the rows
// of the others stay.
func TestOldestBucketsGiveWay(t *testing.T) {
	for _, keyed := range []bool{true, false} {
		t.Run(fmt.Sprint("keyed=", keyed), func(t *testing.T) {
			f := newFixture(t, spillTable(keyed, unspilled))
			defer f.alloc.AssertSize(t, 0)
			b, _, _ := f.spillTo(256 << 10)
			var flushed []string
			f.cfg.Listener = &event.Listener{FlushEnd: func(e event.FlushEnd) {
				if e.RowsIn > 0 && !slices.Contains(flushed, e.Partition) {
					flushed = append(flushed, e.Partition)
				}
			}}
			w := f.writer()
			defer w.Close()
			const hot, cold = 1000, maxOpen + 8
			var keys int64
			for p := range int64(cold) {
				f.put(w, p, 0, 20)
				f.put(w, hot, keys, 20)
				keys += 20
			}
			if len(flushed) != 0 {
				t.Fatalf("%v flushed before memory was short", flushed)
			}
			for len(flushed) == 0 {
				f.put(w, hot, keys, 20)
				keys += 20
			}
			held := w.buffer.rows()
			if slices.Contains(flushed, "p=1000") || len(flushed) < 10 {
				t.Errorf("%v flushed", flushed)
			}
			slices.Sort(flushed)
			var first []string
			for p := range len(flushed) {
				first = append(first, fmt.Sprintf("p=%d", p))
			}
			slices.Sort(first)
			if !slices.Equal(flushed, first) {
				t.Errorf("%v flushed, the oldest are %v", flushed, first)
			}
			if held < int(keys) || b.Used() != w.buffer.bytes {
				t.Errorf("%d rows in %d bytes stay, %d are reserved", held, w.buffer.bytes, b.Used())
			}
			rows := map[string]int64{}
			for _, m := range f.prepare(w) {
				if len(m.NewFiles) != 1 {
					t.Errorf("%d files of %s", len(m.NewFiles), f.partition(m))
				}
				for _, file := range m.NewFiles {
					rows[strings.Split(f.partition(m), "/bucket")[0]] += file.RowCount
				}
			}
			for at, n := range rows {
				want := int64(20)
				if strings.HasSuffix(at, "p=1000") {
					want = keys
				}
				if n != want {
					t.Errorf("%d rows of %s, want %d", n, at, want)
				}
			}
			if len(rows) != cold+1 || b.Used() != 0 {
				t.Errorf("%d partitions, %d bytes are reserved", len(rows), b.Used())
			}
		})
	}
}

// Of two tables the one with the oldest buckets gives way, be it the one that is
// written to.
func TestOldestBucketsOfTwoTables(t *testing.T) {
	pool := NewPool(budget.New(256<<10), 2)
	var flushed []string
	table := func(name string) (*fixture, *Writer) {
		f := newFixture(t, spillTable(true, unspilled))
		f.cfg.Table, f.cfg.Pool = name, pool
		f.cfg.Listener = &event.Listener{FlushEnd: func(e event.FlushEnd) {
			if at := e.Table + " " + e.Partition; !slices.Contains(flushed, at) {
				flushed = append(flushed, at)
			}
		}}
		return f, f.writer()
	}
	fa, a := table("a")
	fb, b := table("b")
	fa.put(a, 1, 0, 600) // left alone from here on
	fb.put(b, 1, 0, 400) // as this one, but later
	for k := int64(0); len(flushed) == 0; k += 10 {
		fa.put(a, 2, k, 10)
	}
	if !slices.Equal(flushed, []string{"a p=1"}) {
		t.Errorf("%v flushed first", flushed)
	}
	flushed = nil
	for k := int64(0); len(flushed) == 0; k += 10 {
		fa.put(a, 3, k, 10)
	}
	if !slices.Equal(flushed, []string{"b p=1"}) {
		t.Errorf("%v flushed then", flushed)
	}
	fa.prepare(a)
	fb.prepare(b)
	for _, w := range []*Writer{a, b} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	fa.alloc.AssertSize(t, 0)
	fb.alloc.AssertSize(t, 0)
}

// What is taken out of a buffer is gone, the rest stays in its order.
func TestBufferLosesGroups(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		b := &buffer{schema: schema, mem: mem}
		total := rapid.IntRange(1, 6).Draw(rt, "groups")
		var owners []uint32
		for at := range rapid.IntRange(1, 12).Draw(rt, "batches") {
			n := rapid.SampledFrom([]int{1, 7, largeRows, largeRows + 5, 2 * joinRows}).Draw(rt, "rows")
			only := rapid.IntRange(-1, total-1).Draw(rt, "only of group") // -1: of all
			out := array.NewRecordBuilder(mem, schema)
			groups := make([]uint32, n)
			for i := range n {
				out.Field(0).(*array.Int64Builder).Append(int64(len(owners)))
				out.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", len(owners)%9))
				if groups[i] = uint32(only); only < 0 {
					groups[i] = uint32((i*7 + at) % total)
				}
				owners = append(owners, groups[i])
			}
			rec := out.NewRecordBatch()
			out.Release()
			if err := b.add(rec, groups, cost(rec), uint64(at)); err != nil {
				rt.Fatal(err)
			}
			rec.Release()
		}
		if err := b.join(); err != nil {
			rt.Fatal(err)
		}
		gone := map[int]bool{}
		var groups []int
		for _, g := range b.present() {
			if gone[g] = rapid.Bool().Draw(rt, "gone"); gone[g] {
				groups = append(groups, g)
			}
		}
		if err := b.remove(groups); err != nil {
			rt.Fatal(err)
		}
		row, bytes := 0, int64(0)
		next := func() int { // the number of the next row that stays
			for row < len(owners) && gone[int(owners[row])] {
				row++
			}
			row++
			return row - 1
		}
		at := 0
		for _, c := range b.chunks {
			bytes += cost(c)
			if c.NumRows() == 0 {
				rt.Error("an empty chunk")
			}
			for i := range int(c.NumRows()) {
				want := next()
				if n := c.Column(0).(*array.Int64).Value(i); n != int64(want) || b.groups[at] != owners[want] {
					rt.Fatalf("row %d of group %d, want %d of %d", n, b.groups[at], want, owners[want])
				}
				at++
			}
		}
		if left := next(); left < len(owners) || at != b.rows() || b.bytes != bytes {
			rt.Errorf("%d rows of %d, row %d is missing; %d bytes of %d", at, b.rows(), left, b.bytes, bytes)
		}
		for g, h := range b.held {
			if n := 0; !gone[g] {
				for _, o := range b.groups {
					if int(o) == g {
						n++
					}
				}
				if h.rows != n {
					rt.Errorf("group %d holds %d rows, %d are counted", g, n, h.rows)
				}
			} else if h != (heldRows{}) {
				rt.Errorf("group %d is gone and holds %+v", g, h)
			}
		}
		b.reset()
	})
}

// BenchmarkEviction writes more rows than there is memory for to 200 partitions in two
// buckets each, without spilling: files is how many come out.
func BenchmarkEviction(b *testing.B) {
	const batches, rows = 500, 1000
	for _, load := range []string{"even", "skewed"} {
		b.Run(load, func(b *testing.B) {
			f := newFixture(b, spillTable(true, unspilled))
			random := rand.New(rand.NewPCG(1, 2))
			all := make([]arrow.RecordBatch, batches)
			for i := range all {
				part := make([]spillRow, rows)
				for r := range part {
					part[r] = spillRow{p: random.Int64N(200), k: random.Int64N(1e6), v: "some text of a row"}
					if load == "skewed" && r%10 > 0 { // nine of ten go where the time is
						part[r].p = int64(200*i/batches + r%3)
					}
				}
				all[i] = f.spillBatch(true, part)
				defer all[i].Release()
			}
			files := 0
			for b.Loop() {
				f.cfg.Pool = NewPool(budget.New(8<<20), 2)
				w := f.writer()
				for _, rec := range all {
					if err := w.Write(context.Background(), rec); err != nil {
						b.Fatal(err)
					}
				}
				for _, m := range f.prepare(w) {
					files += len(m.NewFiles)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(files)/float64(b.N), "files/op")
		})
	}
}
