package orc

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

func bind(t testing.TB, e expr.Expr, fields []types.Field) *expr.Bound {
	t.Helper()
	b, err := expr.Bind(e, fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func instant(millis int64) types.Instant { return types.Instant{Millis: millis} }

// TestStripesRead counts the stripes, of three with 50 rows each, that a
// predicate leaves.
func TestStripesRead(t *testing.T) {
	const day = 86_400_000
	fields := pyFields("scalars")
	base := int64(-31*day - 2_000) // 1969-11-30T23:59:58
	for _, c := range []struct {
		name    string
		where   expr.Expr
		stripes int64
	}{
		{"nothing", nil, 3},
		{"one", expr.Compare{Column: "id", Op: expr.Eq, Value: 70}, 1},
		{"two", expr.Compare{Column: "id", Op: expr.Ge, Value: 99}, 2},
		{"none", expr.Compare{Column: "id", Op: expr.Gt, Value: 149}, 0},
		{"tinyint", expr.Compare{Column: "i8", Op: expr.Lt, Value: -40}, 1},
		{"smallint", expr.Compare{Column: "i16", Op: expr.Lt, Value: -20000}, 1},
		{"float", expr.Compare{Column: "f", Op: expr.Lt, Value: -1.0}, 1},
		{"double", expr.Compare{Column: "d", Op: expr.Lt, Value: 60.0}, 1},
		{"string", expr.Compare{Column: "s", Op: expr.Eq, Value: "grün-98"}, 1},
		{"prefix", expr.Prefix{Column: "s", Prefix: "grün-98"}, 1},
		{"date", expr.Compare{Column: "day", Op: expr.Lt, Value: int32(-719162 + 24000*50)}, 1},
		{"timestamp", expr.Compare{Column: "ts", Op: expr.Gt, Value: instant(base + 105*3*day)}, 1},
		{"timestamp before 1970", expr.Compare{Column: "ts", Op: expr.Lt, Value: instant(base - 2*day)}, 0},
		{"decimal", expr.Compare{Column: "dec9", Op: expr.Lt, Value: decimal128.FromI64(-2000 + 31*50)}, 1},
		{"all null", expr.Compare{Column: "none", Op: expr.Eq, Value: 1}, 0},
		{"is null", expr.IsNull{Column: "full"}, 0},
		{"is not null", expr.Not{Child: expr.IsNull{Column: "none"}}, 0},
		{"some nulls", expr.IsNull{Column: "i32"}, 3},
		{"no bounds for bytes", expr.Compare{Column: "y", Op: expr.Eq, Value: []byte{99}}, 3},
		{"instant", expr.Compare{Column: "tz", Op: expr.Gt, Value: instant(base + 105*3*day)}, 1},
		{"instant, less than a day off", expr.Compare{Column: "tz", Op: expr.Gt, Value: instant(base + 99*3*day + day/2)}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := testFile(t, "scalars-stripes.orc", checked(t))
			req := fileformat.ReadRequest{Columns: fields, Where: bind(t, c.where, fields)}
			got := jsonl(t, f, req)
			if f.StripesRead() != c.stripes {
				t.Errorf("%d stripes read, want %d", f.StripesRead(), c.stripes)
			}
			for _, line := range got { // what is read is read right
				if !strings.Contains("\n"+string(testBytes(t, "scalars.jsonl")), "\n"+line+"\n") {
					t.Fatalf("no such row: %s", line)
				}
			}
		})
	}
}

// TestNothingIsLost: rows that match a predicate are read, whatever is skipped.
func TestNothingIsLost(t *testing.T) {
	for _, name := range []string{"scalars-stripes.orc", "scalars-dictionary.orc", "scalars-zstd.orc"} {
		f := testFile(t, name, checked(t))
		fields := pyFields(name)
		want := lines(testBytes(t, "scalars.jsonl"))
		for row := 0; row < 150; row++ {
			where := bind(t, expr.Compare{Column: "id", Op: expr.Eq, Value: row}, fields)
			got := jsonl(t, f, fileformat.ReadRequest{Columns: fields, Where: where, BatchRows: 7})
			found := false
			for _, line := range got {
				found = found || line == want[row]
			}
			if !found {
				t.Fatalf("%s: row %d was skipped", name, row)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	f := &File{meta: footer{writer: 0, calendar: calendarJulian}, post: postScript{writerVersion: 9}}
	ints := bounds[int64]{min: -3, max: 5, hasMin: true, hasMax: true}
	texts := bounds[string]{min: "a", max: "b", hasMin: true, hasMax: true}
	stamps := func(min, max int64) *columnStats {
		return &columnStats{utcMillis: bounds[int64]{min: min, max: max, hasMin: true, hasMax: true}}
	}
	decimals := func(min, max string) *columnStats {
		return &columnStats{decimals: bounds[string]{min: min, max: max, hasMin: true, hasMax: true}}
	}
	dec := func(v int64) types.Value { return decimal128.FromI64(v) }
	for _, c := range []struct {
		name     string
		kind     kind
		typ      string
		stats    *columnStats
		min, max types.Value
	}{
		{"integers", kindInt, "BIGINT", &columnStats{ints: ints}, int64(-3), int64(5)},
		{"days in integers", kindInt, "DATE", &columnStats{ints: ints}, int32(-3), int32(5)},
		{"days", kindDate, "DATE", &columnStats{dates: ints}, int32(-3), int32(5)},
		{"strings", kindString, "STRING", &columnStats{texts: texts}, "a", "b"},
		{"strings as bytes", kindString, "BYTES", &columnStats{texts: texts}, []byte("a"), []byte("b")},
		{"CHAR", kindChar, "CHAR(3)", &columnStats{texts: texts}, nil, nil},
		{"booleans", kindBoolean, "BOOLEAN", &columnStats{hasBuckets: true, trues: 2, values: 3}, false, true},
		{"all true", kindBoolean, "BOOLEAN", &columnStats{hasBuckets: true, trues: 3, values: 3}, true, true},
		{"all false", kindBoolean, "BOOLEAN", &columnStats{hasBuckets: true, trues: 0, values: 3}, false, false},
		{"floats", kindFloat, "FLOAT", &columnStats{doubles: bounds[float64]{min: 1.5, max: 2, hasMin: true, hasMax: true}}, float32(1.5), float32(2)},
		{"NaN", kindDouble, "DOUBLE", &columnStats{doubles: bounds[float64]{min: math.NaN(), max: 2, hasMin: true, hasMax: true}}, nil, nil},
		{"decimals", kindDecimal, "DECIMAL(5,2)", decimals("-1.5", "3"), dec(-150), dec(300)},
		{"decimals without a zero", kindDecimal, "DECIMAL(5,2)", decimals("-.5", "0.25"), dec(-50), dec(25)},
		{"decimals of more digits", kindDecimal, "DECIMAL(5,2)", decimals("-1.555", "1e9"), nil, nil},
		{"no decimals", kindDecimal, "DECIMAL(5,2)", decimals("", "-"), nil, nil},
		{"timestamps", kindTimestamp, "TIMESTAMP(6)", stamps(100, 200_000_000), instant(100), types.Instant{Millis: 200_000_000, NanoOfMilli: 999_999}},
		{"around 1970", kindTimestamp, "TIMESTAMP(3)", stamps(-1, -1), instant(-86_400_001), types.Instant{Millis: 86_399_999, NanoOfMilli: 999_999}},
		{"Julian days", kindTimestamp, "TIMESTAMP(3)", stamps(gregorianStart*1000-1, gregorianStart*1000-1), nil, nil},
		{"instants", kindInstant, "TIMESTAMP(3) WITH LOCAL TIME ZONE", stamps(1, 2), instant(1 - 86_400_000), types.Instant{Millis: 86_400_002, NanoOfMilli: 999_999}},
		{"nothing known", kindInt, "INT", &columnStats{}, nil, nil},
	} {
		flt := &filter{file: f}
		min, max := flt.bounds(filterColumn{node: &fileNode{typeInfo: typeInfo{kind: c.kind}}, typ: types.MustParse(c.typ)}, c.stats)
		if diff := cmp.Diff([]types.Value{c.min, c.max}, []types.Value{min, max}, cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	f.post.writerVersion = soundStamps - 1
	flt := &filter{file: f}
	if min, max := flt.bounds(filterColumn{node: &fileNode{typeInfo: typeInfo{kind: kindTimestamp}}, typ: types.MustParse("TIMESTAMP(3)")}, stamps(1, 2)); min != nil || max != nil {
		t.Errorf("statistics of old writers: %v, %v", min, max)
	}
}
