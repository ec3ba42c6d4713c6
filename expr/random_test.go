package expr

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/types"
)

var randomTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(30,5)", "STRING", "BYTES",
	"DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
}

// drawValue draws from few values per type, so that comparisons meet.
func drawValue(t *rapid.T, ty types.Type) types.Value {
	n := rapid.Int64Range(-3, 3).Draw(t, "n")
	switch ty.Root {
	case types.Boolean:
		return n > 0
	case types.Float:
		return []float32{0, float32(math.Copysign(0, -1)), 1.5, -1.5, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[n+3]
	case types.Double:
		return []float64{0, math.Copysign(0, -1), 1.5, -1.5, math.NaN(), math.Inf(1), math.Inf(-1)}[n+3]
	case types.Decimal:
		return decimal128.FromI64(n)
	case types.VarChar:
		return []string{"", "a", "ab", "abc", "b", "é", "\U0010ffff"}[n+3]
	case types.VarBinary:
		return [][]byte{{}, {0}, {0, 1}, {0x7f}, {0x80}, {0xff}, {0xff, 0xff}}[n+3]
	case types.Date, types.Time:
		return int32(n)
	case types.Timestamp:
		nano := map[int]int32{3: 0, 6: 1000, 9: 1}[ty.Precision]
		return types.Instant{Millis: n, NanoOfMilli: nano * rapid.Int32Range(0, 3).Draw(t, "nano")}
	}
	return n
}

func drawExpr(t *rapid.T, fs []types.Field, depth int) Expr {
	f := rapid.SampledFrom(fs).Draw(t, "column")
	kind := rapid.IntRange(0, 6).Draw(t, "node")
	if depth == 0 && kind < 3 {
		kind += 3
	}
	children := func() []Expr {
		out := make([]Expr, rapid.IntRange(0, 3).Draw(t, "children"))
		for i := range out {
			out[i] = drawExpr(t, fs, depth-1)
		}
		return out
	}
	switch kind {
	case 0:
		return And(children())
	case 1:
		return Or(children())
	case 2:
		return Not{drawExpr(t, fs, depth-1)}
	case 3:
		return IsNull{f.Name}
	case 4:
		var vs []types.Value
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 12}).Draw(t, "values") {
			if rapid.IntRange(0, 9).Draw(t, "null literal") == 0 {
				vs = append(vs, nil)
			} else {
				vs = append(vs, drawValue(t, f.Type))
			}
		}
		return In{f.Name, vs}
	case 5:
		if f.Type.IsString() {
			return Prefix{f.Name, rapid.SampledFrom([]string{"", "a", "ab", "\U0010ffff"}).Draw(t, "prefix")}
		}
	}
	return Compare{f.Name, Op(rapid.IntRange(0, 5).Draw(t, "op")), drawValue(t, f.Type)}
}

// truth evaluates e on one row by SQL's three-valued logic, written apart from
// the code under test: nil is null.
func truth(e Expr, fs map[string]types.Field, row map[string]types.Value) any {
	switch e := e.(type) {
	case And:
		var out any = true
		for _, c := range e {
			switch truth(c, fs, row) {
			case false:
				return false
			case nil:
				out = nil
			}
		}
		return out
	case Or:
		var out any = false
		for _, c := range e {
			switch truth(c, fs, row) {
			case true:
				return true
			case nil:
				out = nil
			}
		}
		return out
	case Not:
		if v := truth(e.Child, fs, row); v != nil {
			return !v.(bool)
		}
		return nil
	case IsNull:
		return row[e.Column] == nil
	case Prefix:
		if s, ok := row[e.Column].(string); ok {
			return len(s) >= len(e.Prefix) && s[:len(e.Prefix)] == e.Prefix
		}
		return nil
	case In:
		var out any = false
		for _, v := range e.Values {
			switch truth(Compare{e.Column, Eq, v}, fs, row) {
			case true:
				return true
			case nil:
				out = nil
			}
		}
		if row[e.Column] == nil && len(e.Values) > 0 {
			return nil
		}
		return out
	case Compare:
		a, b := row[e.Column], e.Value
		if a == nil || b == nil {
			return nil
		}
		c := types.Compare(fs[e.Column].Type, a, b)
		if fmt.Sprint(a) == "-0" && fmt.Sprint(b) == "0" || fmt.Sprint(a) == "0" && fmt.Sprint(b) == "-0" {
			c = 0
		}
		return e.Op.holds(c)
	}
	panic("unreachable")
}

type lookup map[string][3]any

func (l lookup) Column(name string) (types.Value, types.Value, int64, bool) {
	s, ok := l[name]
	if !ok {
		return nil, nil, 0, false
	}
	return s[0], s[1], s[2].(int64), true
}

// Mask and Match agree with the logic of SQL, and statistics never promise away
// a row that matches.
func TestRandomPredicates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		var fs []types.Field
		byName := map[string]types.Field{}
		for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
			ty, err := types.Parse(rapid.SampledFrom(randomTypes).Draw(t, "type"))
			if err != nil {
				t.Fatal(err)
			}
			f := types.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: ty}
			fs, byName[f.Name] = append(fs, f), f
		}
		schema, err := types.ArrowSchema(fs)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, 8).Draw(t, "rows")
		rows := make([]map[string]types.Value, n)
		b := array.NewRecordBuilder(mem, schema)
		for i := range rows {
			rows[i] = map[string]types.Value{}
			for c, f := range fs {
				if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
					b.Field(c).AppendNull()
					continue
				}
				v := drawValue(t, f.Type)
				rows[i][f.Name] = v
				if err := types.AppendValue(b.Field(c), f.Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		e := drawExpr(t, fs, 3)
		bound, err := Bind(e, fs)
		if err != nil {
			t.Fatal(err)
		}
		mask, err := bound.Mask(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		hit := false
		for i, row := range rows {
			want := truth(e, byName, row) == true
			hit = hit || want
			if mask[i] != want {
				t.Fatalf("Mask row %v of %#v = %v", row, e, mask[i])
			}
			if got := bound.Match(func(c string) types.Value { return row[c] }); got != want {
				t.Fatalf("Match row %v of %#v = %v", row, e, got)
			}
			only := bound.Project(func(c string) bool { return c == "c0" })
			if want && !only.Match(func(c string) types.Value { return row[c] }) {
				t.Fatalf("projection of %#v drops row %v", e, row)
			}
		}
		if hit && !bound.MayMatch(statsOf(t, fs, rows), int64(n)) {
			t.Fatalf("statistics prune a matching row: %#v over %v", e, rows)
		}
		rec.Release()
		mem.AssertSize(t, 0)
	})
}

// statsOf computes statistics as writers other than Java do: NaN left out, some unknown.
func statsOf(t *rapid.T, fs []types.Field, rows []map[string]types.Value) lookup {
	out := lookup{}
	for _, f := range fs {
		if rapid.IntRange(0, 5).Draw(t, "no stats") == 0 {
			continue
		}
		var lo, hi types.Value
		nulls := int64(0)
		for _, r := range rows {
			v := r[f.Name]
			if v == nil {
				nulls++
				continue
			}
			if isNaN(v) {
				continue
			}
			if lo == nil || types.Compare(f.Type, v, lo) < 0 {
				lo = v
			}
			if hi == nil || types.Compare(f.Type, v, hi) > 0 {
				hi = v
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "nulls unknown") == 0 {
			nulls = -1
		}
		out[f.Name] = [3]any{lo, hi, nulls}
	}
	return out
}
