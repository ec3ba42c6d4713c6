package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// runFields are the columns of the runs in these tests: sequence number, kind,
// key, user sequence, payload.
var runFields = []types.Field{
	types.SequenceNumberField(), types.ValueKindField(),
	{ID: 0, Name: "k", Type: types.Type{Root: types.Int}},
	{ID: 1, Name: "u", Type: types.Type{Root: types.Int, Nullable: true}},
	{ID: 2, Name: "p", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}},
}

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func arrowSchema(t failer, fields []types.Field) *arrow.Schema {
	s, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// row is a row of a run and names itself by its payload.
type row struct {
	seq     int64
	kind    types.RowKind
	key     int64
	user    types.Value
	payload string
}

// runOf makes a run of batches of at most size rows.
func runOf(t failer, mem memory.Allocator, rows []row, size int) batch.Reader {
	schema := arrowSchema(t, runFields)
	var recs []arrow.RecordBatch
	for part := range slices.Chunk(rows, size) {
		b := array.NewRecordBuilder(mem, schema)
		for _, r := range part {
			for i, v := range []types.Value{r.seq, int64(r.kind), r.key, r.user, r.payload} {
				if err := types.AppendValue(b.Field(i), runFields[i].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		recs = append(recs, b.NewRecordBatch())
		b.Release()
	}
	r := batch.Of(schema, recs...)
	for _, rec := range recs {
		rec.Release()
	}
	return r
}

func testConfig(t failer, mem memory.Allocator) Config {
	keys, err := NewOrder([]Column{{2, runFields[2].Type}})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Keys: keys, SequenceNumber: 0, Kind: 1, Mem: mem,
		Schema: arrowSchema(t, []types.Field{runFields[4], runFields[1]}), Output: []int{4, 1},
	}
}

// payloads reads r to its end and closes it.
func payloads(t failer, r batch.Reader) (out []string, sizes []int) {
	t.Helper()
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out, sizes
		}
		if err != nil {
			t.Fatal(err)
		}
		p := rec.Column(0).(*array.String)
		for i := range p.Len() {
			out = append(out, p.Value(i)+types.RowKind(rec.Column(1).(*array.Int8).Value(i)).String())
		}
		sizes = append(sizes, p.Len())
	}
}

// TestTiesComeOutAsInJava replays groups that Java 1.4.2's LoserTree gave for
// random runs whose sequence numbers repeat.
func TestTiesComeOutAsInJava(t *testing.T) {
	datadriven.RunTest(t, "testdata/ties.txt", func(t *testing.T, d *datadriven.TestData) string {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		cfg := testConfig(t, mem)
		var leaves []*leaf
		for line := range strings.Lines(d.Input) {
			var rows []row
			for _, w := range strings.Fields(line)[1:] {
				var r row
				if _, err := fmt.Sscanf(w, "%d:%d", &r.key, &r.seq); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, r)
			}
			run := runOf(t, mem, rows, 2)
			defer run.Close()
			leaves = append(leaves, &leaf{reader: run, source: -1})
		}
		tr := newTree(leaves, cfg.Keys.Exact(), seqOrder{})
		for i := len(leaves) - 1; i >= 0; i-- {
			if err := leaves[i].load(context.Background(), &cfg); err != nil {
				t.Fatal(err)
			}
			tr.settle(i)
		}
		var groups []string
		for !leaves[tr.winner()].done {
			l := leaves[tr.winner()]
			key := runKey(l)
			var order []string
			for !tr.grouped() {
				if k := runKey(leaves[tr.winner()]); k != key {
					t.Errorf("key %d in the group of %d", k, key)
				}
				order = append(order, fmt.Sprint(tr.winner()))
				tr.take()
			}
			groups = append(groups, fmt.Sprintf("%d=%s", key, strings.Join(order, ",")))
			for tr.grouped() {
				w := tr.winner()
				if err := leaves[w].skip(context.Background(), &cfg, 1); err != nil {
					t.Fatal(err)
				}
				tr.renew(w)
				tr.settle(w)
			}
		}
		if len(groups) == 0 {
			groups = []string{"none"}
		}
		return strings.Join(groups, " ") + "\n"
	})
}

func runKey(l *leaf) int32 { return l.keys.cols[0].i32[l.row] }

// expected merges rows the plain way: sort, then keep the last of each key.
func expected(cfg Config, runs [][]row, withUser bool) []string {
	byKey := map[int64][]row{}
	for _, r := range slices.Concat(runs...) {
		byKey[r.key] = append(byKey[r.key], r)
	}
	var keys []int64
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out []string
	for _, k := range keys {
		rows := byKey[k]
		slices.SortFunc(rows, func(a, b row) int {
			if withUser {
				switch {
				case a.user == nil && b.user == nil:
				case a.user == nil:
					return -1
				case b.user == nil:
					return 1
				default:
					if c := cmp.Compare(a.user.(int64), b.user.(int64)); c != 0 {
						if cfg.Descending {
							return -c
						}
						return c
					}
				}
			}
			return cmp.Compare(a.seq, b.seq)
		})
		if cfg.IgnoreDelete && len(rows) > 1 {
			rows = slices.DeleteFunc(rows, func(r row) bool { return r.kind.IsRetract() })
			if len(rows) == 0 {
				continue
			}
		}
		if last := rows[len(rows)-1]; cfg.KeepDeletes || !last.kind.IsRetract() {
			out = append(out, last.payload+last.kind.String())
		}
	}
	return out
}

func TestMergeEqualsSortAndKeepLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		seq := int64(0)
		var runs [][]row
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			var rows []row
			key := rapid.Int64Range(0, 40).Draw(t, "first")
			step := rapid.SampledFrom([]int64{1, 3, 20}).Draw(t, "step")
			for range rapid.IntRange(0, 30).Draw(t, "rows") {
				seq++
				r := row{seq: seq, key: key, payload: fmt.Sprintf("%d@%d", key, seq)}
				if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
					r.kind = rapid.SampledFrom([]types.RowKind{types.Delete, types.UpdateBefore, types.UpdateAfter}).Draw(t, "kind")
				}
				if rapid.Bool().Draw(t, "user") {
					r.user = rapid.Int64Range(0, 2).Draw(t, "u")
				}
				rows = append(rows, r)
				key += rapid.Int64Range(1, step).Draw(t, "gap")
			}
			runs = append(runs, rows)
		}
		cfg := testConfig(t, mem)
		cfg.KeepDeletes, cfg.IgnoreDelete = rapid.Bool().Draw(t, "keep"), rapid.Bool().Draw(t, "ignore")
		if rapid.Bool().Draw(t, "ranked") {
			cfg.Ranked, cfg.SequenceNumber = true, -1
		}
		withUser := rapid.Bool().Draw(t, "with user sequence")
		if withUser {
			cfg.Sequence = []Column{{3, runFields[3].Type}}
			cfg.Descending = rapid.Bool().Draw(t, "descending")
		}
		cfg.BatchRows = rapid.IntRange(1, 20).Draw(t, "batch rows")
		var readers []batch.Reader
		for _, rows := range runs {
			readers = append(readers, runOf(t, mem, rows, rapid.IntRange(1, 12).Draw(t, "run batch")))
		}
		got, _ := payloads(t, NewReader(cfg, readers))
		want := expected(cfg, runs, withUser)
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// stretchOf is rows of consecutive keys.
func stretchOf(from, n int, seq int64) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{seq: seq + int64(i), key: int64(from + i), payload: fmt.Sprintf("%d@%d", from+i, seq+int64(i))}
	}
	return rows
}

// ways are the two ways to walk keys: in Java's tree, and in a race of runs whose
// age is known.
func ways(cfg Config) map[string]Config {
	ranked := cfg
	ranked.Ranked, ranked.SequenceNumber = true, -1
	return map[string]Config{"tree": cfg, "race": ranked}
}

// TestRowsAreCopied checks that nothing of a batch returned lies in the memory of
// the runs, be it a row among others or a long stretch of one run.
func TestRowsAreCopied(t *testing.T) {
	for name, cfg := range ways(testConfig(t, nil)) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		cfg.Mem = mem
		runs := memory.NewCheckedAllocator(memory.DefaultAllocator)
		updates := []row{{seq: 30000, key: 10000, payload: "new"}}
		r := NewReader(cfg, []batch.Reader{runOf(t, runs, stretchOf(0, 20000, 0), 4096), runOf(t, runs, updates, 10)})
		var got []arrow.RecordBatch
		rows := 0
		for {
			rec, err := r.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			rec.Retain()
			got = append(got, rec)
			rows += int(rec.NumRows())
		}
		r.Close()
		runs.AssertSize(t, 0) // while what was returned is still there
		if want := (20000 + defaultBatchRows - 1) / defaultBatchRows; rows != 20000 || len(got) != want {
			t.Errorf("%s: %d rows in %d batches, want 20000 in %d", name, rows, len(got), want)
		}
		for _, rec := range got {
			rec.Release()
		}
		mem.AssertSize(t, 0)
	}
}

func TestStretchesOfOneRun(t *testing.T) {
	const long = 1024
	for _, n := range []int{streakRows, streakRows + 1, long - 1, long, 3 * long} {
		for _, at := range []int{0, 1, n / 2, n - 1} {
			for _, kind := range []types.RowKind{types.Insert, types.Delete} {
				for name, cfg := range ways(testConfig(t, nil)) {
					mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
					cfg.Mem = mem
					a := stretchOf(0, n, 0)
					a[n-1].kind = types.Delete
					b := []row{{seq: 1 << 20, key: int64(at), kind: kind, payload: "b"}}
					want := expected(cfg, [][]row{a, b}, false)
					for _, size := range []int{1, 64, long, 1 << 20} {
						got, _ := payloads(t, NewReader(cfg, []batch.Reader{runOf(t, mem, a, size), runOf(t, mem, b, 1)}))
						if !slices.Equal(got, want) {
							t.Errorf("%s, %d rows, update of kind %v at %d, batches of %d: %d rows differ from %d", name, n, kind, at, size, len(got), len(want))
						}
					}
					mem.AssertSize(t, 0)
				}
			}
		}
	}
}

func TestBadRunsAreCorrupt(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	good := stretchOf(0, 5, 100)
	for name, bad := range map[string][]row{
		"out of order within a batch":  {{key: 2}, {key: 1}},
		"out of order between batches": {{key: 1}, {key: 2}, {key: 3}, {key: 0}},
		"unknown kind":                 {{key: 1, kind: 9}},
	} {
		r := NewReader(testConfig(t, mem), []batch.Reader{runOf(t, mem, good, 3), runOf(t, mem, bad, 3)})
		var err error
		for err == nil {
			_, err = r.Next(context.Background())
		}
		if !errors.Is(err, tarnerr.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if _, again := r.Next(context.Background()); again != err {
			t.Errorf("%s: error does not stay: %v", name, again)
		}
		r.Close()
		if err := r.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
}

func TestCloseInTheMiddleFreesAll(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	cfg := testConfig(t, mem)
	cfg.BatchRows = 7
	r := NewReader(cfg, []batch.Reader{runOf(t, mem, stretchOf(0, 3000, 0), 2000), runOf(t, mem, stretchOf(5, 50, 9000), 8)})
	for range 5 {
		if _, err := r.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	if _, err := r.Next(context.Background()); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("next after close: %v", err)
	}
}

func TestParseEngine(t *testing.T) {
	for name, want := range map[string]Engine{
		"": Deduplicate, "deduplicate": Deduplicate, "partial-update": PartialUpdate, "aggregation": Aggregation, "first-row": FirstRow,
	} {
		if got, err := ParseEngine(name); got != want || err != nil {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := ParseEngine("last-row"); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "last-row") {
		t.Errorf("last-row: %v", err)
	}
}
