package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/types"
)

func TestSpellings(t *testing.T) {
	minus := math.Copysign(0, -1)
	nan := math.NaN()
	for _, c := range []struct {
		in, want []types.Value // nil: cannot be listed
	}{
		{[]types.Value{}, []types.Value{}},
		{[]types.Value{int64(0), "0", int32(7)}, []types.Value{int64(0), "0", int32(7)}},
		{[]types.Value{1.5, math.Inf(-1)}, []types.Value{1.5, math.Inf(-1)}},
		{[]types.Value{0.0}, []types.Value{0.0, minus}},
		{[]types.Value{minus, 1.5}, []types.Value{minus, 1.5, 0.0}},
		{[]types.Value{float32(0)}, []types.Value{float32(0), float32(minus)}},
		{[]types.Value{float32(minus)}, []types.Value{float32(minus), float32(0)}},
		{[]types.Value{1.5, nan}, nil},
		{[]types.Value{float32(nan)}, nil},
	} {
		got, ok := spellings(c.in)
		if ok != (c.want != nil) {
			t.Errorf("%v: %v, %v", c.in, got, ok)
		}
		// The signs of zeroes count, repetitions do not.
		if !slices.Equal(distinct(got), distinct(c.want)) {
			t.Errorf("%v: %v, want %v", c.in, distinct(got), distinct(c.want))
		}
	}
}

func distinct(vs []types.Value) []string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%T %[1]v", v))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestBucketsOfFloats: whichever zero is asked for, the buckets of both are kept,
// those that rows are written to; others are left out.
func TestBucketsOfFloats(t *testing.T) {
	for _, typ := range []string{"DOUBLE", "FLOAT"} {
		fields := types.MustParse("ROW<k " + typ + ">").Fields
		value := func(f float64) types.Value {
			if typ == "FLOAT" {
				return float32(f)
			}
			return f
		}
		minus := math.Copysign(0, -1)
		apart := 0
		for total := int32(2); total < 32; total++ {
			zero, negative := bucketOf(t, fields, value(0), total), bucketOf(t, fields, value(minus), total)
			one := bucketOf(t, fields, value(1), total)
			if zero != negative {
				apart++
			}
			for _, c := range []struct {
				where expr.Expr
				want  []int32
			}{
				{expr.Compare{Column: "k", Op: expr.Eq, Value: value(0)}, []int32{zero, negative}},
				{expr.Compare{Column: "k", Op: expr.Eq, Value: value(minus)}, []int32{zero, negative}},
				{expr.In{Column: "k", Values: []types.Value{value(minus), value(1)}}, []int32{zero, negative, one}},
				{expr.Compare{Column: "k", Op: expr.Eq, Value: value(1)}, []int32{one}},
			} {
				b, err := expr.Bind(c.where, fields)
				if err != nil {
					t.Fatal(err)
				}
				f := newBucketFilter(b, "", fields)
				if f == nil {
					t.Fatalf("%s %v: no filter", typ, c.where)
				}
				for n := range total {
					if got, want := f.keep(n, total), slices.Contains(c.want, n); got != want {
						t.Errorf("%s %v: bucket %d of %d is kept: %v, want %v", typ, c.where, n, total, got, want)
					}
				}
			}
		}
		if apart == 0 {
			t.Errorf("%s: both zeroes lie in one bucket each time", typ)
		}
		b, err := expr.Bind(expr.In{Column: "k", Values: []types.Value{value(1), value(math.NaN())}}, fields)
		if err != nil {
			t.Fatal(err)
		}
		if f := newBucketFilter(b, "", fields); f != nil || !f.keep(1, 3) {
			t.Errorf("%s: the buckets of NaN are taken as known", typ)
		}
	}
}

// bucketOf is the bucket that a row with the key v is written to.
func bucketOf(t *testing.T, fields []types.Field, v types.Value, total int32) int32 {
	t.Helper()
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	if err := types.AppendValue(b.Field(0), fields[0].Type, v); err != nil {
		t.Fatal(err)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	a, err := bucket.New("", fields, int(total))
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Assign(rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
