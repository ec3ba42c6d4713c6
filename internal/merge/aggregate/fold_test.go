package aggregate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// model is a function over single values: nil is null.
type model struct {
	add     func(acc, in *int64) *int64
	retract func(acc, in *int64) *int64 // nil: refused
}

func plusOf(f func(a, b int64) int64) func(acc, in *int64) *int64 {
	return func(acc, in *int64) *int64 {
		if acc == nil || in == nil {
			if acc == nil {
				return in
			}
			return acc
		}
		v := f(*acc, *in)
		return &v
	}
}

var models = map[string]model{
	"sum": {add: plusOf(func(a, b int64) int64 { return a + b }), retract: func(acc, in *int64) *int64 {
		switch {
		case in == nil:
			return acc
		case acc == nil:
			v := -*in
			return &v
		}
		v := *acc - *in
		return &v
	}},
	"product": {add: plusOf(func(a, b int64) int64 { return a * b }), retract: func(acc, in *int64) *int64 {
		if acc == nil || in == nil {
			return acc
		}
		v := *acc / *in
		return &v
	}},
	"max":        {add: plusOf(func(a, b int64) int64 { return max(a, b) })},
	"min":        {add: plusOf(func(a, b int64) int64 { return min(a, b) })},
	"last_value": {add: func(_, in *int64) *int64 { return in }, retract: func(_, _ *int64) *int64 { return nil }},
	"last_non_null_value": {
		add: func(acc, in *int64) *int64 {
			if in == nil {
				return acc
			}
			return in
		},
		retract: func(acc, in *int64) *int64 {
			if in == nil {
				return acc
			}
			return nil
		},
	},
}

// Random groups over several sources, sliced and with nulls, are folded as the model
// folds one value after another.
func TestFoldsAreTheModels(t *testing.T) {
	field := types.Field{ID: 1, Name: "v", Type: types.Type{Root: types.BigInt, Nullable: true}}
	for name, m := range models {
		rapid.Check(t, func(t *rapid.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			f, err := New(name, field, nil)
			if err != nil {
				t.Fatal(err)
			}
			sources, values := drawSources(t, mem)
			g := Groups{}
			kinds, late := rapid.Bool().Draw(t, "kinds"), rapid.Bool().Draw(t, "late")
			var want []*int64
			refused := false
			for range rapid.IntRange(0, 6).Draw(t, "groups") {
				var acc *int64
				for range rapid.IntRange(0, 7).Draw(t, "rows") {
					s := rapid.IntRange(0, len(sources)-1).Draw(t, "source")
					r := rapid.IntRange(0, sources[s].Len()-1).Draw(t, "row")
					kind, reversed, in := int8(0), false, values[s][r]
					if kinds {
						kind = rapid.Int8Range(0, Set).Draw(t, "kind")
					}
					if late {
						reversed = rapid.Bool().Draw(t, "reversed")
					}
					g.Refs = append(g.Refs, batch.NewRef(s, r))
					g.Kinds, g.Reversed = append(g.Kinds, kind), append(g.Reversed, reversed)
					switch {
					case kind == Set:
						acc = in
					case kind&1 == 1 && m.retract == nil:
						refused = true
					case kind&1 == 1:
						acc = m.retract(acc, in)
					case reversed:
						acc = m.add(in, acc)
					default:
						acc = m.add(acc, in)
					}
				}
				g.Ends = append(g.Ends, len(g.Refs))
				want = append(want, acc)
			}
			if !kinds {
				g.Kinds = nil
			}
			if !late {
				g.Reversed = nil
			}
			out, err := f.Fold(mem, sources, &g)
			for _, s := range sources {
				s.Release()
			}
			if (err != nil) != refused {
				t.Fatalf("%s: refused %v, got %v", name, refused, err)
			}
			if err == nil {
				got := out.(*array.Int64)
				for i, w := range want {
					if got.IsNull(i) != (w == nil) || w != nil && got.Value(i) != *w {
						t.Fatalf("%s: group %d is %v", name, i, got)
					}
				}
				if got.Len() != len(want) {
					t.Fatalf("%d groups of %d", got.Len(), len(want))
				}
				out.Release()
			}
			if n := mem.CurrentAlloc(); n != 0 {
				t.Fatalf("%d bytes are left", n)
			}
		})
	}
}

func drawSources(t *rapid.T, mem memory.Allocator) ([]arrow.Array, [][]*int64) {
	var sources []arrow.Array
	var values [][]*int64
	for range rapid.IntRange(1, 3).Draw(t, "sources") {
		b := array.NewInt64Builder(mem)
		b.AppendNull()
		nulls := rapid.Bool().Draw(t, "nulls")
		var vs []*int64
		for range rapid.IntRange(1, 20).Draw(t, "values") {
			v := rapid.OneOf(rapid.Int64(), rapid.Int64Range(1, 9)).Draw(t, "value")
			if v == 0 {
				v = 1 // products are divided by it
			}
			if nulls && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
				b.AppendNull()
				vs = append(vs, nil)
				continue
			}
			b.Append(v)
			vs = append(vs, &v)
		}
		all := b.NewArray()
		sources = append(sources, array.NewSlice(all, 1, int64(all.Len())))
		all.Release()
		b.Release()
		values = append(values, vs)
	}
	return sources, values
}

func TestNames(t *testing.T) {
	names := strings.Join(Names(), " ")
	if strings.Contains(names, primaryKey) || !strings.Contains(names, "theta_sketch") || len(Names()) != len(functions)-1 {
		t.Errorf("names: %s", names)
	}
}

// numbers are groups of three rows of two sources.
func numbers(rows int, build func(i int, b array.Builder), t types.Type) ([]arrow.Array, *Groups) {
	dt, err := types.ArrowType(t)
	if err != nil {
		panic(err)
	}
	var sources []arrow.Array
	for range 2 {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		for i := range rows {
			build(i, b)
		}
		sources = append(sources, b.NewArray())
	}
	g := &Groups{}
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		g.Refs = append(g.Refs, batch.NewRef(rnd.IntN(2), i))
		if i%3 == 2 || i == rows-1 {
			g.Ends = append(g.Ends, i+1)
		}
	}
	return sources, g
}

// A fold of numbers allocates as much for many rows as for few.
func TestAllocationsOfNumbers(t *testing.T) {
	for _, name := range []string{"sum", "product", "max", "last_non_null_value", "first_value"} {
		var counts [2]float64
		for i, rows := range []int{60, 6000} {
			sources, g := numbers(rows, func(i int, b array.Builder) { b.(*array.Int32Builder).Append(int32(i)) }, types.Type{Root: types.Int})
			f, err := New(name, types.Field{ID: 1, Name: "v", Type: types.Type{Root: types.Int}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			counts[i] = testing.AllocsPerRun(20, func() {
				out, err := f.Fold(memory.DefaultAllocator, sources, g)
				if err != nil {
					t.Fatal(err)
				}
				out.Release()
			})
		}
		if counts[1] > counts[0] || counts[0] > 40 {
			t.Errorf("%s: %v allocations for 60 rows, %v for 6000", name, counts[0], counts[1])
		}
	}
}

func BenchmarkFold(b *testing.B) {
	const rows = 8192 * 3
	for _, c := range []struct {
		function string
		t        types.Type
		build    func(i int, b array.Builder)
	}{
		{"sum", types.Type{Root: types.BigInt}, func(i int, b array.Builder) { b.(*array.Int64Builder).Append(int64(i)) }},
		{"sum", types.MustParse("DECIMAL(20, 2)"), func(i int, b array.Builder) {
			b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i)))
		}},
		{"max", types.Type{Root: types.BigInt}, func(i int, b array.Builder) { b.(*array.Int64Builder).Append(int64(i)) }},
		{"last_non_null_value", types.Type{Root: types.BigInt}, func(i int, b array.Builder) { b.(*array.Int64Builder).Append(int64(i)) }},
		{"listagg", types.MustParse("STRING"), func(i int, b array.Builder) { b.(*array.StringBuilder).Append(fmt.Sprint(i)) }},
		{"collect", types.MustParse("ARRAY<INT>"), func(i int, b array.Builder) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2, int32(i)}, nil)
		}},
	} {
		b.Run(c.function+" "+c.t.String(), func(b *testing.B) {
			sources, g := numbers(rows, c.build, c.t)
			f, err := New(c.function, types.Field{ID: 1, Name: "v", Type: c.t}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				out, err := f.Fold(memory.DefaultAllocator, sources, g)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
