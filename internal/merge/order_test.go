package merge

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// edges are values near which normalised forms go wrong.
var edges = []struct {
	t types.Type
	v []types.Value
}{
	{types.Type{Root: types.Boolean}, []types.Value{false, true}},
	{types.Type{Root: types.TinyInt}, []types.Value{int64(-128), int64(-1), int64(0), int64(1), int64(127)}},
	{types.Type{Root: types.SmallInt}, []types.Value{int64(-32768), int64(-1), int64(0), int64(300)}},
	{types.Type{Root: types.Int}, []types.Value{int64(math.MinInt32), int64(-1), int64(0), int64(math.MaxInt32)}},
	{types.Type{Root: types.BigInt}, []types.Value{int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(math.MaxInt64)}},
	{types.Type{Root: types.Float}, []types.Value{float32(math.Inf(-1)), float32(-1), float32(math.Copysign(0, -1)), float32(0), float32(-1e-40), float32(1e-40), float32(math.Inf(1)), float32(math.NaN())}},
	{types.Type{Root: types.Double}, []types.Value{math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, -5e-324, 5e-324, math.Inf(1), math.NaN()}},
	{types.Type{Root: types.Decimal, Precision: 18, Scale: 2}, []types.Value{decimal128.FromI64(-999999999999999999), decimal128.FromI64(-1), decimal128.FromI64(0), decimal128.FromI64(7)}},
	{types.Type{Root: types.Decimal, Precision: 38}, []types.Value{
		decimal128.New(-1<<40, 0), decimal128.New(-1, 0), decimal128.New(-1, math.MaxUint64), decimal128.FromI64(0),
		decimal128.New(0, 1<<63), decimal128.New(0, math.MaxInt64), decimal128.New(1, 0), decimal128.New(1<<40, 3)}},
	{types.Type{Root: types.VarChar, Length: 99}, []types.Value{"", "\x00", "a", "a\x00", "abcdefgh", "abcdefgh\x00", "abcdefghi", "é", "\U0001F600"}},
	{types.Type{Root: types.Char, Length: 9}, []types.Value{"a", "a ", "b"}},
	{types.Type{Root: types.VarBinary, Length: 99}, []types.Value{[]byte{}, []byte{0x7f}, []byte{0x80}, []byte{0xff, 0}}},
	{types.Type{Root: types.Date}, []types.Value{int32(-719528), int32(0), int32(20000)}},
	{types.Type{Root: types.Time, Precision: 3}, []types.Value{int32(0), int32(86399999)}},
	{types.Type{Root: types.Timestamp, Precision: 3}, []types.Value{types.Instant{Millis: -1}, types.Instant{}, types.Instant{Millis: 1}}},
	{types.Type{Root: types.TimestampLTZ, Precision: 9}, []types.Value{types.Instant{Millis: -1, NanoOfMilli: 999999}, types.Instant{}, types.Instant{NanoOfMilli: 1}}},
}

// TestPrefixNeverContradictsOrder draws keys of one to four columns and checks
// prefix and comparison against types.CompareInMerge.
func TestPrefixNeverContradictsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fields []types.Field
		var cols []Column
		var values [][]types.Value
		for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
			e := rapid.SampledFrom(edges).Draw(t, "type")
			e.t.Nullable = rapid.Bool().Draw(t, "nullable")
			if e.t.Nullable {
				e.v = append([]types.Value{nil}, e.v...)
			}
			fields = append(fields, types.Field{ID: i, Name: fmt.Sprint("c", i), Type: e.t})
			cols = append(cols, Column{i, e.t})
			values = append(values, e.v)
		}
		o, err := NewOrder(cols)
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema(t, fields))
		defer b.Release()
		n := rapid.IntRange(2, 12).Draw(t, "rows")
		rows := make([][]types.Value, n)
		for r := range rows {
			for c := range cols {
				v := rapid.SampledFrom(values[c]).Draw(t, "value")
				rows[r] = append(rows[r], v)
				if err := types.AppendValue(b.Field(c), fields[c].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		full := b.NewRecordBatch()
		defer full.Release()
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		rec := full.NewSlice(int64(from), int64(n))
		defer rec.Release()
		var k keys
		if err := k.load(o, rec); err != nil {
			t.Fatal(err)
		}
		for i := range rows[from:] {
			for j := range rows[from:] {
				want := compareRows(cols, rows[from+i], rows[from+j])
				if got := compareColumns(k.cols, i, k.cols, j); got != want {
					t.Fatalf("%v and %v compare as %d, want %d", rows[from+i], rows[from+j], got, want)
				}
				a, b := k.prefix[i], k.prefix[j]
				if (a < b && want >= 0) || (a > b && want <= 0) {
					t.Fatalf("%v and %v: prefixes %x and %x contradict %d", rows[from+i], rows[from+j], a, b, want)
				}
				if o.Exact() && a == b && want != 0 {
					t.Fatalf("%v and %v have one prefix %x, said to be exact", rows[from+i], rows[from+j], a)
				}
			}
		}
	})
}

func compareRows(cols []Column, a, b []types.Value) int {
	for i, c := range cols {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return -1
		case b[i] == nil:
			return 1
		}
		if d := types.CompareInMerge(c.Type, a[i], b[i]); d != 0 {
			return d
		}
	}
	return 0
}

func TestExactOrders(t *testing.T) {
	typ := func(r types.Root) Column { return Column{Type: types.Type{Root: r}} }
	for _, c := range []struct {
		cols []Column
		want bool
	}{
		{[]Column{typ(types.BigInt)}, true},
		{[]Column{typ(types.Int), typ(types.Date)}, true},
		{[]Column{typ(types.Int), typ(types.Int), typ(types.Boolean)}, false},
		{[]Column{typ(types.BigInt), typ(types.BigInt)}, false},
		{[]Column{{Type: types.Type{Root: types.BigInt, Nullable: true}}}, false},
		{[]Column{typ(types.VarChar)}, false},
		{[]Column{typ(types.Float)}, true},
		{[]Column{typ(types.Double)}, true},
		{[]Column{typ(types.Int), typ(types.Float)}, true},
		{[]Column{typ(types.Float), typ(types.Int)}, false},
		{nil, true},
	} {
		o, err := NewOrder(c.cols)
		if err != nil {
			t.Fatal(err)
		}
		if o.Exact() != c.want {
			t.Errorf("%v: exact is %v", c.cols, o.Exact())
		}
	}
	if _, err := NewOrder([]Column{typ(types.Map)}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("a map as key: %v", err)
	}
}
