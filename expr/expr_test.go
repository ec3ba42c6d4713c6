package expr

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func field(t *testing.T, name, typ string) types.Field {
	t.Helper()
	ty, err := types.Parse(typ)
	if err != nil {
		t.Fatal(err)
	}
	return types.Field{Name: name, Type: ty}
}

func rowOf(name string, v types.Value) func(string) types.Value {
	return func(c string) types.Value {
		if c != name {
			panic("column " + c)
		}
		return v
	}
}

// Literals that a column's type cannot hold still compare as numbers do.
func TestLiteralsBeyondTheType(t *testing.T) {
	for _, c := range []struct {
		typ  string
		op   Op
		lit  types.Value
		val  types.Value
		want bool
	}{
		{"TINYINT", Lt, 128, int64(127), true},
		{"TINYINT", Eq, 128, int64(127), false},
		{"TINYINT", Ne, 128, int64(127), true},
		{"TINYINT", Ge, -129, int64(-128), true},
		{"TINYINT", Le, -129, int64(-128), false},
		{"INT", Lt, Number("1.5"), int64(1), true},
		{"INT", Lt, Number("1.5"), int64(2), false},
		{"INT", Ge, Number("1.5"), int64(1), false},
		{"INT", Ge, Number("1.5"), int64(2), true},
		{"INT", Lt, Number("-1.5"), int64(-1), false},
		{"INT", Gt, Number("-1.5"), int64(-1), true},
		{"INT", Eq, Number("1e3"), int64(1000), true},
		{"BIGINT", Lt, Number("1e300"), int64(math.MaxInt64), true},
		{"BIGINT", Gt, Number("9223372036854775806.5"), int64(math.MaxInt64), true},
		{"DECIMAL(4,2)", Eq, "1.50", decimal128.FromI64(150), true},
		{"DECIMAL(4,2)", Eq, Number("1.505"), decimal128.FromI64(150), false},
		{"DECIMAL(4,2)", Gt, Number("1.505"), decimal128.FromI64(150), false},
		{"DECIMAL(4,2)", Gt, Number("1.505"), decimal128.FromI64(151), true},
		{"DECIMAL(4,2)", Lt, 100, decimal128.FromI64(9999), true},
		{"DOUBLE", Gt, 5, math.NaN(), true},
		{"DOUBLE", Eq, "NaN", math.NaN(), true},
		{"DOUBLE", Eq, 0, math.Copysign(0, -1), true},
		{"DATE", Gt, "1969-12-31", int32(0), true},
		{"TIMESTAMP(3)", Lt, "2024-01-01T00:00:00.0005", types.Instant{Millis: 1704067200000}, true},
		{"TIMESTAMP(3)", Eq, "2024-01-01T00:00:00.0005", types.Instant{Millis: 1704067200000}, false},
		{"BOOLEAN", Eq, "TRUE", true, true},
		{"STRING", Lt, "é", "z", true},
		{"BYTES", Ge, []byte{0x80}, []byte{0x7f}, false},
	} {
		f := field(t, "c", c.typ)
		b, err := Bind(Compare{"c", c.op, c.lit}, []types.Field{f})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := b.Match(rowOf("c", c.val)); got != c.want {
			t.Errorf("%v %v %v on %s = %v", c.val, c.op, c.lit, c.typ, got)
		}
	}
}

func TestNullIsNeverTrue(t *testing.T) {
	fs := []types.Field{field(t, "c", "INT")}
	for _, e := range []Expr{
		Compare{"c", Eq, 1}, Not{Compare{"c", Eq, 1}}, Compare{"c", Ne, 1}, In{"c", []types.Value{1}}, Not{In{"c", []types.Value{1}}},
		Not{And{Compare{"c", Eq, 1}}}, Compare{"c", Ne, Number("1.5")}, Not{IsNull{"c"}}, Or{},
	} {
		b, err := Bind(e, fs)
		if err != nil {
			t.Fatal(err)
		}
		if b.Match(rowOf("c", nil)) {
			t.Errorf("%#v is true for null", e)
		}
	}
	for _, e := range []Expr{Compare{"c", Eq, nil}, Not{In{"c", []types.Value{2, nil}}}} {
		b, err := Bind(e, fs)
		if err != nil {
			t.Fatal(err)
		}
		if b.Match(rowOf("c", int64(1))) {
			t.Errorf("%#v is true: comparison with null is not", e)
		}
	}
	for _, v := range []types.Value{nil, int64(1)} {
		b, err := Bind(Not{In{"c", nil}}, fs)
		if err != nil || !b.Match(rowOf("c", v)) {
			t.Errorf("%v NOT IN () is true, also for null: %v", v, err)
		}
	}
	b, _ := Bind(In{"c", []types.Value{1, nil}}, fs)
	if !b.Match(rowOf("c", int64(1))) {
		t.Error("1 IN (1, NULL) is true")
	}
}

func TestBindErrorsNameTheColumn(t *testing.T) {
	fs := []types.Field{field(t, "i", "INT"), field(t, "s", "STRING"), field(t, "a", "ARRAY<INT>"), field(t, "d", "DATE"), field(t, "b", "BOOLEAN")}
	for _, e := range []Expr{
		Compare{"nope", Eq, 1}, Compare{"i", Eq, "x"}, Compare{"i", Eq, "1/2"}, Compare{"i", Eq, Number("1e999999999")},
		Compare{"s", Eq, 1}, Compare{"a", Eq, 1}, Compare{"d", Eq, "2024-13-01"}, Compare{"b", Eq, 1}, Prefix{"i", "x"},
		In{"d", []types.Value{true}}, IsNull{"nope"}, And{Compare{"nope", Eq, 1}}, Not{},
	} {
		if _, err := Bind(e, fs); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("%#v: %v", e, err)
		}
	}
	_, err := Bind(Compare{"nope", Eq, 1}, fs)
	if !strings.Contains(err.Error(), "column=nope") || !strings.Contains(err.Error(), "columns are i, s, a, d, b") {
		t.Error(err)
	}
	if _, err := Bind(IsNull{"a"}, fs); err != nil {
		t.Errorf("nested columns can be tested for null: %v", err)
	}
}

func TestProjectAndPoints(t *testing.T) {
	fs := []types.Field{field(t, "p", "INT"), field(t, "v", "INT")}
	e := And{
		Compare{"p", Eq, 1},
		Or{Compare{"p", Gt, 0}, Compare{"v", Eq, 2}},
		Or{Compare{"p", Eq, 3}, Compare{"p", Eq, 4}},
		In{"v", []types.Value{5, 6, 5}},
	}
	b, err := Bind(e, fs)
	if err != nil {
		t.Fatal(err)
	}
	p := b.Project(func(c string) bool { return c == "p" })
	if got := p.Columns(); len(got) != 1 || got[0] != "p" {
		t.Errorf("columns %v", got)
	}
	if n := len(p.Conjuncts()); n != 2 {
		t.Errorf("%d conjuncts: an OR over both columns implies nothing of p alone", n)
	}
	if v, ok := b.Points("v"); !ok || len(v) != 2 {
		t.Errorf("points of v: %v", v)
	}
	if v, ok := b.Points("p"); !ok || len(v) != 1 {
		t.Errorf("points of p: %v", v)
	}
	if b.Project(func(string) bool { return false }) != nil {
		t.Error("nothing kept, nothing implied")
	}
	r := b.Rename(func(c string) string { return "_KEY_" + c })
	if got := r.Columns(); got[0] != "_KEY_p" || b.Columns()[0] != "p" {
		t.Errorf("rename: %v, original %v", got, b.Columns())
	}
	var none *Bound
	if !none.Match(nil) || !none.MayMatch(nil, 1) || none.Columns() != nil || All(nil, none) != nil {
		t.Error("nil is the predicate that is always true")
	}
}
