package binaryrow

import (
	"encoding/hex"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

func dec(s string) decimal128.Num {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic("not a number: " + s)
	}
	return decimal128.FromBigInt(n)
}

func ints(n int) (vs []types.Value) {
	for i := range n {
		if i%3 == 0 {
			vs = append(vs, nil)
		} else {
			vs = append(vs, int64(i))
		}
	}
	return vs
}

func repeat(s string, n int) (out []string) {
	for range n {
		out = append(out, s)
	}
	return out
}

func list(vs ...types.Value) []types.Value { return vs }

var (
	oddNaN32 = math.Float32frombits(0x7fc00001)
	oddNaN64 = math.Float64frombits(0xfff8000000000001)
)

const innerRow = "ROW<a INT, b DECIMAL(38,2), c TIMESTAMP(9), d STRING>"

func tinyInts33() []types.Value {
	vs := make([]types.Value, 33)
	for i := range 32 {
		vs[i] = int64(i)
	}
	return vs
}

// javaRows are the rows of testdata/rows.txt, by name.
var javaRows = map[string]struct {
	types  []string
	values []types.Value
}{
	"scalars": {[]string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(3)"},
		list(true, int64(-2), int64(-300), int64(-70000), int64(-5000000000), float32(-1.5), 2.25, int32(-1), int32(86399999))},
	"nan": {[]string{"FLOAT", "DOUBLE"}, list(oddNaN32, oddNaN64)},
	"strings": {[]string{"STRING", "STRING", "CHAR(8)", "BYTES", "BINARY(9)", "STRING"},
		list("", "1234567", "12345678", []byte{0, 0xff}, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, "grüße 😀")},
	"decimals": {[]string{"DECIMAL(18,2)", "DECIMAL(19,2)", "DECIMAL(38,0)", "DECIMAL(38,10)", "DECIMAL(19,0)"},
		list(dec("-123456789012345678"), dec("-128"), dec("99999999999999999999999999999999999999"), dec("-999999999999999999999999999999999999"), dec("0"))},
	"decimal-edges": {[]string{"DECIMAL(38,0)", "DECIMAL(38,0)", "DECIMAL(38,0)", "DECIMAL(38,0)"}, list(dec("127"), dec("128"), dec("-128"), dec("-129"))},
	"timestamps": {[]string{"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
		list(types.Instant{Millis: -1}, types.Instant{Millis: 1700000000123, NanoOfMilli: 456000}, types.Instant{Millis: -62135596800000, NanoOfMilli: 999999},
			types.Instant{Millis: 253402300799999}, types.Instant{Millis: -1, NanoOfMilli: 1})},
	"nulls": {[]string{"BOOLEAN", "INT", "STRING", "DECIMAL(18,2)", "DECIMAL(19,2)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9) WITH LOCAL TIME ZONE", "ARRAY<INT>", "STRING"},
		list(nil, nil, nil, nil, nil, nil, nil, nil, nil, "after the room")},
	"arity-57": {repeat("INT", 57), ints(57)},
	"arity-56": {repeat("INT", 56), ints(56)},
	"empty":    {nil, nil},
	"array": {[]string{"ARRAY<INT>", "ARRAY<STRING>", "ARRAY<BOOLEAN>", "ARRAY<SMALLINT>", "ARRAY<BIGINT>"},
		list(list(int64(1), nil, int64(3)), list("a", nil, "longer than seven"), list(true, false, nil), list(int64(1), int64(2)), list())},
	"array-wide": {[]string{"ARRAY<DECIMAL(38,2)>", "ARRAY<TIMESTAMP(9)>", "ARRAY<TIMESTAMP(3)>", "ARRAY<DECIMAL(5,2)>", "ARRAY<DOUBLE>", "ARRAY<FLOAT>"},
		list(list(dec("100"), nil), list(types.Instant{Millis: 5, NanoOfMilli: 6}, nil), list(types.Instant{Millis: 5}, nil), list(dec("125"), nil),
			list(oddNaN64, 0.5), list(math.Float32frombits(0xffc00001)))},
	"array-33": {[]string{"ARRAY<TINYINT>"}, list(tinyInts33())},
	"maps": {[]string{"MAP<STRING, BIGINT>", "MULTISET<STRING>"},
		list([]types.Entry{{Key: "k", Value: int64(1)}, {Key: "a longer key", Value: nil}}, []types.Entry{{Key: "x", Value: int64(2)}})},
	"rows": {[]string{innerRow, innerRow, "ARRAY<" + innerRow + ">"},
		list(list(int64(7), nil, nil, "seven seven"), list(nil, dec("100"), types.Instant{Millis: 1, NanoOfMilli: 2}, nil), list(list(int64(1), nil, nil, nil), nil))},
	"variant": {[]string{"VARIANT"}, list(types.VariantValue{Value: []byte{12, 5}, Metadata: []byte{1, 0, 0}})},
}

// The rows Java 1.4.2 makes of the same values: bytes, hashes, and back again.
// testdata/README.md tells how they were made.
func TestRowsOfJava(t *testing.T) {
	data, err := os.ReadFile("testdata/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		cols := strings.Split(line, "\t")
		name, want := cols[0], cols[1]
		c, ok := javaRows[name]
		if !ok {
			t.Fatalf("no values for row %q", name)
		}
		seen++
		ts := typesOf(c.types...)
		row, err := Encode(ts, c.values)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := hex.EncodeToString(row); got != want {
			t.Errorf("%s: bytes\n%s, want\n%s", name, got, want)
		}
		if got := strconv.Itoa(int(row.Hash())); got != cols[2] {
			t.Errorf("%s: hash %s, want %s", name, got, cols[2])
		}
		if cols[3] != "same" && name != "variant" {
			t.Errorf("%s: Java's generated projection gives other bytes: %s", name, cols[3])
		}
		back, err := Decode(row, ts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.values, back, equalNaNs, decimals, emptyAsNil); diff != "" {
			t.Errorf("%s: decoded (-want +got):\n%s", name, diff)
		}
		checkArrow(t, name, ts, c.values, row)
	}
	if seen != len(javaRows) {
		t.Errorf("%d rows of Java's, %d of ours", seen, len(javaRows))
	}
}

var (
	equalNaNs = cmp.Options{
		cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b }),
		cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b }),
	}
	decimals   = cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })
	emptyAsNil = cmp.Transformer("nil", func(v []types.Value) []types.Value {
		if len(v) == 0 {
			return nil
		}
		return v
	})
)

// checkArrow encodes the row from Arrow columns, in the middle of a slice.
func checkArrow(t *testing.T, name string, ts []types.Type, vs []types.Value, want Row) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	if len(ts) == 0 {
		return
	}
	fields, cols := make([]types.Field, len(ts)), make([]int, len(ts))
	for i := range ts {
		fields[i], cols[i] = types.Field{ID: i, Name: "c" + strconv.Itoa(i), Type: ts[i]}, i
	}
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i, v := range vs {
		for _, x := range []types.Value{nil, v, v} {
			if err := types.AppendValue(b.Field(i), ts[i], x); err != nil {
				if strings.Contains(err.Error(), "1677") {
					return // nanosecond timestamps hold no year 1
				}
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	part := rec.NewSlice(1, 3)
	defer part.Release()
	enc := NewEncoder(fields)
	for i := range 2 {
		got, err := enc.Row(part, cols, i)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if string(got) != string(want) {
			t.Errorf("%s: from Arrow\n%x, want\n%x", name, got, want)
		}
	}
	if err := enc.Bind(part, cols); err != nil {
		t.Fatal(err)
	}
	for _, ty := range ts {
		if ty.IsNested() {
			return
		}
	}
	scratch := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(20, func() { scratch = enc.AppendRow(scratch[:0], 1) }); n != 0 {
		t.Errorf("%s: %v allocations per row", name, n)
	}
}
