package merge

import (
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

var negative = math.Copysign(0, -1)

// zeroRow is a row whose key or sequence field is a zero: sequence number, two
// key columns, sequence field, payload.
type zeroRow struct {
	seq     int64
	k       float64
	j       int64
	s       float64
	payload int64
}

// TestZeroesAreOne holds merges to what Java 1.4.2 reads from tables of one
// bucket and one commit per run. (Later Java keeps the zeroes apart.)
func TestZeroesAreOne(t *testing.T) {
	for _, root := range []types.Root{types.Float, types.Double} {
		for _, c := range []struct {
			name     string
			keys     []int // columns
			sequence bool
			runs     [][]zeroRow
			want     []string // key, second key, sequence field, payload
		}{
			{"key, 0.0 last", []int{2}, false, [][]zeroRow{{{seq: 0, k: 0, payload: 1}}, {{seq: 1, k: negative, payload: 2}}, {{seq: 2, k: 0, payload: 3}}},
				[]string{"0 0 0 3"}},
			{"key, -0.0 last", []int{2}, false, [][]zeroRow{{{seq: 0, k: -1, payload: 1}, {seq: 1, k: 0, payload: 2}, {seq: 2, k: 1, payload: 3}}, {{seq: 3, k: negative, payload: 4}}},
				[]string{"-1 0 0 1", "-0 0 0 4", "1 0 0 3"}},
			{"key of two columns", []int{2, 3}, false, [][]zeroRow{{{seq: 0, k: 0, j: 1, payload: 1}}, {{seq: 1, k: negative, j: 2, payload: 2}}, {{seq: 2, k: 0, j: 3, payload: 3}}, {{seq: 3, k: negative, j: 1, payload: 4}}},
				[]string{"-0 1 0 4", "-0 2 0 2", "0 3 0 3"}},
			{"sequence field", []int{3}, true, [][]zeroRow{{{seq: 0, s: negative, payload: 1}}, {{seq: 1, s: 0, payload: 2}}, {{seq: 2, s: negative, payload: 3}}},
				[]string{"0 0 -0 3"}},
		} {
			t.Run(fmt.Sprint(root, "/", c.name), func(t *testing.T) {
				if got := mergeZeroes(t, root, c.keys, c.sequence, c.runs); !slices.Equal(got, c.want) {
					t.Errorf("rows %q, want %q", got, c.want)
				}
			})
		}
	}
}

// Java 1.4.2 sorts its write buffer with −0.0 before 0.0, so a file of its may
// hold (−0.0, 2) before (0.0, 1). Such a run is read, not called out of order.
func TestRunThatJavaSortedByZeroes(t *testing.T) {
	for _, root := range []types.Root{types.Float, types.Double} {
		got := mergeZeroes(t, root, []int{2, 3}, false, [][]zeroRow{
			{{seq: 0, k: negative, j: 2, payload: 1}, {seq: 1, k: 0, j: 1, payload: 2}},
			{{seq: 2, k: 5, j: 1, payload: 3}},
		})
		if want := []string{"-0 2 0 1", "0 1 0 2", "5 1 0 3"}; !slices.Equal(got, want) {
			t.Errorf("%v: rows %q, want %q", root, got, want)
		}
	}
}

func mergeZeroes(t *testing.T, root types.Root, keys []int, sequence bool, runs [][]zeroRow) []string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	float := types.Type{Root: root}
	fields := []types.Field{
		types.SequenceNumberField(), types.ValueKindField(),
		{ID: 0, Name: "k", Type: float}, {ID: 1, Name: "j", Type: types.Type{Root: types.Int}},
		{ID: 2, Name: "s", Type: float}, {ID: 3, Name: "p", Type: types.Type{Root: types.Int}},
	}
	value := func(v float64) types.Value {
		if root == types.Float {
			return float32(v)
		}
		return v
	}
	var readers []batch.Reader
	for _, rows := range runs {
		b := array.NewRecordBuilder(mem, arrowSchema(t, fields))
		for _, r := range rows {
			for i, v := range []types.Value{r.seq, int64(0), value(r.k), r.j, value(r.s), r.payload} {
				if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		readers = append(readers, batch.Of(rec.Schema(), rec))
		rec.Release()
	}
	var cols []Column
	for _, k := range keys {
		cols = append(cols, Column{k, fields[k].Type})
	}
	order, err := NewOrder(cols)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Keys: order, SequenceNumber: 0, Kind: 1, Mem: mem, Schema: arrowSchema(t, fields[2:]), Output: []int{2, 3, 4, 5}}
	if sequence {
		cfg.Sequence = []Column{{4, float}}
	}
	r := NewReader(cfg, readers)
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			out = append(out, fmt.Sprint(number(rec.Column(0), i), rec.Column(1).(*array.Int32).Value(i), number(rec.Column(2), i), rec.Column(3).(*array.Int32).Value(i)))
		}
	}
}

func number(a arrow.Array, i int) float64 {
	if f, ok := a.(*array.Float32); ok {
		return float64(f.Value(i))
	}
	return a.(*array.Float64).Value(i)
}
