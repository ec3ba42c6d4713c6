package types

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/tarnerr"
)

// sample has for each type some values in Go form.
var sample = []struct {
	typ    string
	arrow  string
	values []Value
}{
	{"BOOLEAN", "bool", []Value{true, nil, false}},
	{"TINYINT", "int8", []Value{int64(-128), int64(127)}},
	{"SMALLINT", "int16", []Value{int64(-32768), nil}},
	{"INT", "int32", []Value{int64(math.MinInt32)}},
	{"BIGINT", "int64", []Value{int64(math.MinInt64), int64(math.MaxInt64)}},
	{"FLOAT", "float32", []Value{float32(1.5), nil}},
	{"DOUBLE", "float64", []Value{math.Inf(-1), math.Copysign(0, -1)}},
	{"DECIMAL(38, 3)", "decimal(38, 3)", []Value{decimal128.New(-5, 7), nil}},
	{"CHAR(3)", "utf8", []Value{"a", "äöü"}},
	{"STRING", "utf8", []Value{"", nil, strings.Repeat("x", 100)}},
	{"BINARY(2)", "binary", []Value{[]byte{1, 2}, []byte{}}},
	{"BLOB", "binary", []Value{[]byte{255}}},
	{"GEOMETRY", "binary", []Value{[]byte{1}}},
	{"DATE", "date32", []Value{int32(-1), int32(math.MaxInt32)}},
	{"TIME(6)", "time32[ms]", []Value{int32(86_399_999), int32(-1)}},
	{"TIMESTAMP(0)", "timestamp[ms]", []Value{Instant{math.MinInt64, 0}}},
	{"TIMESTAMP(6)", "timestamp[us]", []Value{Instant{-1, 999_000}, Instant{-62135596800000, 1000}}},
	{"TIMESTAMP(9)", "timestamp[ns]", []Value{Instant{-1, 999_999}, Instant{-9223372036855, 224192}, Instant{9223372036854, 775807}}},
	{"TIMESTAMP_LTZ(3)", "timestamp[ms, tz=UTC]", []Value{Instant{5, 0}, nil}},
	{"ARRAY<INT>", "list<element: int32, nullable>", []Value{[]Value{int64(1), nil}, nil, []Value{}}},
	{"VECTOR<FLOAT NOT NULL, 2>", "fixed_size_list<element: float32>[2]", []Value{[]Value{float32(1), float32(2)}}},
	{"MAP<STRING, ARRAY<INT NOT NULL>>", "map<utf8, list<element: int32>, items_nullable>", []Value{[]Entry{{"k", []Value{int64(1)}}, {"n", nil}}, nil}},
	{"MULTISET<STRING>", "map<utf8, int32, items_non_nullable>", []Value{[]Entry{{"k", int64(3)}}}},
	{"ROW<a INT, b ROW<c STRING>>", "struct<a: int32 nullable, b: struct<c: utf8 nullable> nullable>", []Value{[]Value{int64(1), []Value{"x"}}, nil, []Value{nil, nil}}},
	{"VARIANT", "struct<value: binary, metadata: binary>", []Value{VariantValue{[]byte{1}, []byte{2}}, nil}},
}

func TestArrowRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, c := range sample {
		typ := MustParse(c.typ)
		dt, err := ArrowType(typ)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		if dt.String() != c.arrow {
			t.Errorf("%s is %s, want %s", c.typ, dt, c.arrow)
		}
		b := array.NewBuilder(mem, dt)
		for _, v := range c.values {
			if err := AppendValue(b, typ, v); err != nil {
				t.Errorf("%s: %v", c.typ, err)
			}
		}
		arr := b.NewArray()
		var got []Value
		for i := range arr.Len() {
			got = append(got, ValueAt(typ, arr, i))
		}
		arr.Release()
		b.Release()
		if d := cmp.Diff(c.values, got, cmp.Comparer(func(a, b decimal128.Num) bool { return a == b }), exactFloats); d != "" {
			t.Errorf("%s:\n%s", c.typ, d)
		}
		if ValueAt(typ, nil, 0) != nil {
			t.Errorf("%s: a value out of no array", c.typ)
		}
	}
}

func TestAppendValueRefuses(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, c := range []struct {
		typ  string
		v    Value
		want string
	}{
		{"TINYINT", int64(128), "not of the column's type"},
		{"INT", "1", "not of the column's type"},
		{"STRING", []byte("x"), "not of the column's type"},
		{"TIMESTAMP(9)", Instant{9223372036854, 775808}, "1677"},
		{"TIMESTAMP(9)", Instant{-9223372036855, 224191}, "1677"},
		{"TIMESTAMP(9)", Instant{-62135596800000, 0}, "1677"},
		{"TIMESTAMP(6)", Instant{math.MaxInt64, 0}, "1677"},
		{"ARRAY<INT>", []Value{"x"}, "not of the column's type"},
		{"ARRAY<INT>", "x", "not of the column's type"},
		{"VECTOR<INT, 2>", []Value{int64(1)}, "number of elements"},
		{"MAP<INT, INT>", []Entry{{nil, nil}}, "key"},
		{"ROW<a INT>", []Value{}, "not of the column's type"},
		{"ROW<a INT>", []Value{"x"}, "member=a"},
		{"ROW<a INT>", VariantValue{}, "not of the column's type"},
	} {
		typ := MustParse(c.typ)
		dt, err := ArrowType(typ)
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewBuilder(mem, dt)
		err = AppendValue(b, typ, c.v)
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: %v, want %q in it", c.typ, c.v, err, c.want)
		}
		b.Release()
	}
}

// Ids as the example in Java's SpecialFields: a column of type
// ARRAY<MAP<INT, ARRAY<INT>>> with id 10.
func TestArrowFieldIDs(t *testing.T) {
	s, err := ArrowSchema([]Field{
		{ID: 10, Name: "a", Type: MustParse("ARRAY<MAP<INT, ARRAY<INT>>>")},
		{ID: 11, Name: "r", Type: Type{Root: Row, Fields: []Field{{ID: 12, Name: "x", Type: MustParse("ARRAY<INT>")}}}},
		{ID: 13, Name: "v", Type: MustParse("VARIANT")},
	})
	if err != nil {
		t.Fatal(err)
	}
	const base = 536870911
	want := map[string]int{
		"a": 10, "a.element": base + 10240 + 1, "a.element.key": base - 10240 - 2, "a.element.value": base + 10240 + 2,
		"a.element.value.element": base + 10240 + 3,
		"r":                       11, "r.x": 12, "r.x.element": base + 12*1024 + 1,
		"v": 13, "v.value": 0, "v.metadata": 1,
	}
	got := map[string]int{}
	for _, f := range s.Fields() {
		collectIDs(got, "", f)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if KeyFieldID(0) != 1073741823 || SequenceNumberID != 2147483646 || ValueKindID != 2147483645 || RowIDID != 2147483642 {
		t.Error("system field ids")
	}
	if f := KeyField(Field{ID: 3, Name: "k", Type: MustParse("INT NOT NULL")}); f.Name != "_KEY_k" || f.ID != 1073741826 || f.Type.Nullable {
		t.Errorf("key field %+v", f)
	}
	for _, n := range []string{"_KEY_a", "_VALUE_KIND", "_SEQUENCE_NUMBER", "_LEVEL", "rowkind", "_ROW_ID"} {
		if !IsSystemName(n) || IsSystemName("x"+n) {
			t.Errorf("IsSystemName(%s)", n)
		}
	}
}

func collectIDs(got map[string]int, path string, f arrow.Field) {
	path += f.Name
	if id, ok := FieldID(f); ok {
		got[path] = id
	}
	switch dt := f.Type.(type) {
	case *arrow.MapType:
		collectIDs(got, path+".", dt.KeyField())
		collectIDs(got, path+".", dt.ItemField())
	case *arrow.ListType:
		collectIDs(got, path+".", dt.ElemField())
	case *arrow.StructType:
		for _, m := range dt.Fields() {
			collectIDs(got, path+".", m)
		}
	}
}

func TestFromArrow(t *testing.T) {
	for _, c := range sample {
		typ := MustParse(c.typ)
		dt, err := ArrowType(typ)
		if err != nil {
			t.Fatal(err)
		}
		back, err := FromArrow(dt, true)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		again, err := ArrowType(back)
		if err != nil || !arrow.TypeEqual(dt, again) {
			t.Errorf("%s -> %s -> %s -> %s, %v", c.typ, dt, back, again, err)
		}
	}
	for want, dt := range map[string]arrow.DataType{
		"DECIMAL(20, 0)":                    arrow.PrimitiveTypes.Uint64,
		"BIGINT":                            arrow.PrimitiveTypes.Uint32,
		"STRING":                            &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.LargeString},
		"BINARY(16)":                        &arrow.FixedSizeBinaryType{ByteWidth: 16},
		"TIMESTAMP(9) WITH LOCAL TIME ZONE": &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"},
		"ARRAY<INT>":                        arrow.LargeListOf(arrow.PrimitiveTypes.Int32),
		"TIME(0)":                           arrow.FixedWidthTypes.Time32s,
		"ROW<`a` ROW<`b` INT>, `c` INT NOT NULL>": arrow.StructOf(
			arrow.Field{Name: "a", Type: arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
			arrow.Field{Name: "c", Type: arrow.PrimitiveTypes.Int32}),
	} {
		got, err := FromArrow(dt, true)
		if err != nil || got.String() != want {
			t.Errorf("%s = %s, %v, want %s", dt, got, err, want)
		}
	}
	for _, dt := range []arrow.DataType{arrow.Null, arrow.FixedWidthTypes.Duration_s, arrow.FixedWidthTypes.MonthInterval,
		arrow.FixedWidthTypes.Time64us, &arrow.Decimal256Type{Precision: 39, Scale: 2}, &arrow.Decimal128Type{Precision: 5, Scale: -1},
		arrow.ListOf(arrow.Null), arrow.MapOf(arrow.Null, arrow.Null)} {
		if _, err := FromArrow(dt, true); !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "arrow=") {
			t.Errorf("%s: %v, want it refused by name", dt, err)
		}
	}
}
