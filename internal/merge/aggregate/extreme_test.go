package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// drawn is a column of a type, of values of which many are equal, or extremes.
func drawn(mem memory.Allocator, t types.Type, rnd *rand.Rand, rows int, nulls bool) arrow.Array {
	dt, err := types.ArrowType(t)
	if err != nil {
		panic(err)
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	pick := func(v ...float64) float64 { return v[rnd.IntN(len(v))] }
	for range rows + 1 {
		n := int64(rnd.IntN(5) - 2)
		if nulls && rnd.IntN(3) == 0 {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.Int8Builder:
			b.Append(int8(pick(math.MinInt8, math.MaxInt8, float64(n))))
		case *array.Int16Builder:
			b.Append(int16(pick(math.MinInt16, math.MaxInt16, float64(n))))
		case *array.Int32Builder:
			b.Append(int32(pick(math.MinInt32, math.MaxInt32, float64(n))))
		case *array.Int64Builder:
			b.Append([]int64{math.MinInt64, math.MaxInt64, n}[rnd.IntN(3)])
		case *array.Date32Builder:
			b.Append(arrow.Date32(n))
		case *array.Time32Builder:
			b.Append(arrow.Time32(n))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(n))
		case *array.Float32Builder:
			b.Append(float32(pick(math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), float64(n))))
		case *array.Float64Builder:
			b.Append(pick(math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), float64(n)))
		case *array.Decimal128Builder:
			b.Append(decimal128.FromI64([]int64{999_999_999_999_999_999, -999_999_999_999_999_999, n}[rnd.IntN(3)]))
		case *array.BooleanBuilder:
			b.Append(n > 0)
		case *array.StringBuilder:
			b.Append([]string{"", "a", "a\x00", "eight by", "eight bytes", "eight bytes, more", "eight by\x00"}[rnd.IntN(7)])
		default:
			panic(dt.String())
		}
	}
	all := b.NewArray()
	defer all.Release()
	return array.NewSlice(all, 1, int64(all.Len()))
}

// What rows that add give in a hurry is what they give one after the other.
func TestQuickFoldsAreTheSlowOnes(t *testing.T) {
	for _, c := range []struct{ function, types string }{
		{"max", "TINYINT"}, {"max", "SMALLINT"}, {"max", "INT"}, {"max", "BIGINT"}, {"max", "DATE"}, {"max", "TIME"}, {"max", "TIMESTAMP(3)"},
		{"max", "FLOAT"}, {"max", "DOUBLE"}, {"max", "DECIMAL(18, 2)"}, {"max", "STRING"},
		{"min", "TINYINT"}, {"min", "SMALLINT"}, {"min", "INT"}, {"min", "BIGINT"}, {"min", "DATE"}, {"min", "TIME"}, {"min", "TIMESTAMP(3)"},
		{"min", "FLOAT"}, {"min", "DOUBLE"}, {"min", "DECIMAL(18, 2)"}, {"min", "STRING"},
		{"bool_and", "BOOLEAN"}, {"bool_or", "BOOLEAN"},
		{"sum", "TINYINT"}, {"sum", "BIGINT"}, {"sum", "DOUBLE"}, {"sum", "DECIMAL(18, 2)"}, {"sum", "DECIMAL(20, 2)"},
		{"last_value", "INT"}, {"last_non_null_value", "INT"}, {"first_value", "INT"}, {"first_non_null_value", "INT"},
	} {
		rnd := rand.New(rand.NewPCG(1, 7))
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		f, err := New(c.function, types.Field{ID: 1, Name: "v", Type: types.MustParse(c.types)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		quick := &Groups{} // used again, as by those who fold batch after batch
		for round := range 60 {
			var sources []arrow.Array
			for s := range 3 {
				sources = append(sources, drawn(mem, types.MustParse(c.types), rnd, 30, round%3 > 0 && s > 0))
			}
			quick.Reset()
			for range 20 {
				rows := rnd.IntN(6)
				if round%2 == 0 {
					rows++ // no group is empty
				}
				for range rows {
					quick.Refs = append(quick.Refs, batch.NewRef(rnd.IntN(3), rnd.IntN(30)))
				}
				quick.Ends = append(quick.Ends, len(quick.Refs))
			}
			slow := &Groups{Refs: quick.Refs, Ends: quick.Ends, Kinds: make([]int8, len(quick.Refs))}
			got, err := f.Fold(mem, sources, quick)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.Fold(mem, sources, slow)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Len() {
				if got.IsNull(i) != want.IsNull(i) || want.IsValid(i) && got.ValueStr(i) != want.ValueStr(i) {
					t.Fatalf("%s of %s: group %d is %s, want %s", c.function, c.types, i, got.ValueStr(i), want.ValueStr(i))
				}
			}
			got.Release()
			want.Release()
			for _, s := range sources {
				s.Release()
			}
		}
		mem.AssertSize(t, 0)
	}
}

// Sums that leave 64 bits do so in a hurry as they do one after the other: some ten of
// the largest values of either sign, and some of the other sign among them.
func TestSumsNearTheirLimits(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for _, typ := range []string{"DECIMAL(18, 0)", "DECIMAL(18, 2)", "DECIMAL(17, 0)", "DECIMAL(19, 0)"} {
		decimal := types.MustParse(typ)
		f, err := New("sum", types.Field{ID: 1, Name: "v", Type: decimal}, nil)
		if err != nil {
			t.Fatal(err)
		}
		dt, err := types.ArrowType(decimal)
		if err != nil {
			t.Fatal(err)
		}
		limit := decimal128.GetScaleMultiplier(decimal.Precision).Sub(decimal128.FromU64(1))
		b := array.NewDecimal128Builder(mem, dt.(*arrow.Decimal128Type))
		b.AppendValues([]decimal128.Num{limit, limit.Negate(), decimal128.FromI64(1), decimal128.FromI64(-1)}, nil)
		source := b.NewArray()
		b.Release()
		nulls := 0
		for rows := 8; rows <= 14; rows++ {
			for sign := range 2 {
				for others := range 4 { // none, one of the other sign first, one last, a small one last
					g := &Groups{}
					for i := range rows {
						row := sign
						if others == 1 && i == 0 || others == 2 && i == rows-1 {
							row = 1 - sign
						}
						g.Refs = append(g.Refs, batch.NewRef(0, row))
					}
					if others == 3 {
						g.Refs = append(g.Refs, batch.NewRef(0, 2+sign))
					}
					g.Ends = []int{len(g.Refs)}
					slow := &Groups{Refs: g.Refs, Ends: g.Ends, Kinds: make([]int8, len(g.Refs))}
					got, err := f.Fold(mem, []arrow.Array{source}, g)
					if err != nil {
						t.Fatal(err)
					}
					want, err := f.Fold(mem, []arrow.Array{source}, slow)
					if err != nil {
						t.Fatal(err)
					}
					if got.ValueStr(0) != want.ValueStr(0) {
						t.Errorf("%d rows of %s, sign %d, others %d: %s, want %s", rows, typ, sign, others, got.ValueStr(0), want.ValueStr(0))
					}
					nulls += want.NullN()
					got.Release()
					want.Release()
				}
			}
		}
		if decimal.Precision >= 18 && nulls == 0 {
			t.Errorf("no sum of %s is too large", typ)
		}
		source.Release()
	}
}

// A column of nulls may have no buffer of values.
func TestNullsWithoutValues(t *testing.T) {
	const rows = 11
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	zeroes := memory.NewBufferBytes(make([]byte, 2))
	for _, c := range []struct {
		typ       string
		functions []string
	}{
		{"INT", []string{"max", "min", "sum", "product", "last_value", "last_non_null_value", "first_value"}},
		{"BIGINT", []string{"max", "sum"}}, {"DOUBLE", []string{"max", "min", "sum"}},
		{"DECIMAL(10, 2)", []string{"max", "min", "sum", "product"}}, {"BOOLEAN", []string{"bool_and", "bool_or", "last_value"}},
	} {
		dt, err := types.ArrowType(types.MustParse(c.typ))
		if err != nil {
			t.Fatal(err)
		}
		for _, bits := range []*memory.Buffer{zeroes, nil} {
			data := array.NewData(dt, rows, []*memory.Buffer{bits, nil}, nil, rows, 0)
			all := array.MakeFromData(data)
			data.Release()
			column := all
			if bits != nil {
				column = array.NewSlice(all, 1, rows)
				all.Release()
			}
			g := &Groups{Ends: []int{3, 4, rows - 1}}
			for i := range rows - 1 {
				g.Refs = append(g.Refs, batch.NewRef(0, i))
			}
			for _, function := range c.functions {
				f, err := New(function, types.Field{ID: 1, Name: "v", Type: types.MustParse(c.typ)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.Fold(mem, []arrow.Array{column}, g)
				if err != nil {
					t.Fatal(err)
				}
				if got.NullN() != got.Len() || got.Len() != 3 {
					t.Errorf("%s of %s: %v", function, c.typ, got)
				}
				got.Release()
			}
			column.Release()
		}
	}
}
