package cast

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// javaCase is a value of an altered column and what Java 1.4.2 read of it, null
// included, in a zone of UTC.
type javaCase struct {
	from, to types.Type
	value    types.Value
	want     *string
}

func javaCases(t *testing.T) (out []javaCase) {
	data, err := os.ReadFile("testdata/java-1.4.2.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var f []*string
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		c := javaCase{from: types.MustParse(*f[0]), to: types.MustParse(*f[1]), want: f[3]}
		if c.value, err = types.ParseValue(c.from, *f[2]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, c)
	}
	if len(out) < 1000 {
		t.Fatalf("%d cases", len(out))
	}
	return out
}

// TestAsJava converts every value alone and all of a pair of types as one column
// with nulls between.
func TestAsJava(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	cases := javaCases(t)
	for from := 0; from < len(cases); {
		c := cases[from]
		to := from + 1
		for to < len(cases) && cases[to].from.Equal(c.from) && cases[to].to.Equal(c.to) {
			to++
		}
		checkPair(t, alloc, cases[from:to])
		from = to
	}
}

func checkPair(t *testing.T, mem memory.Allocator, cases []javaCase) {
	t.Helper()
	from, to := cases[0].from, cases[0].to
	rule, err := New(from, to)
	if err != nil {
		t.Error(err)
		return
	}
	b := array.NewBuilder(mem, arrowType(t, from))
	defer b.Release()
	b.AppendNull() // cut off below
	for _, c := range cases {
		got, err := rule.Value(c.value)
		if err != nil || text(to, got) != wanted(c) {
			t.Errorf("%s → %s of %q: %q, %v, want %q", from, to, types.FormatValue(from, c.value), text(to, got), err, wanted(c))
		}
		b.AppendNull()
		if err := types.AppendValue(b, from, c.value); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.NewArray()
	defer whole.Release()
	in := array.NewSlice(whole, 1, int64(whole.Len()))
	defer in.Release()
	out, err := rule.Array(mem, in, arrowType(t, to))
	if err != nil {
		t.Errorf("%s → %s: %v", from, to, err)
		return
	}
	defer out.Release()
	if out.Len() != 2*len(cases) {
		t.Fatalf("%s → %s: %d values", from, to, out.Len())
	}
	for i, c := range cases {
		if got := text(to, types.ValueAt(to, out, 2*i+1)); !out.IsNull(2*i) || got != wanted(c) {
			t.Errorf("%s → %s of %q in a column: %q, want %q", from, to, types.FormatValue(from, c.value), got, wanted(c))
		}
	}
}

func arrowType(t *testing.T, typ types.Type) arrow.DataType {
	dt, err := types.ArrowType(typ)
	if err != nil {
		t.Fatal(err)
	}
	return dt
}

func text(t types.Type, v types.Value) string {
	if v == nil {
		return "null"
	}
	return types.FormatValue(t, v)
}

func wanted(c javaCase) string {
	if c.want == nil {
		return "null"
	}
	return *c.want
}

// TestNestedToText: as Java shows them; a length does not cut them.
func TestNestedToText(t *testing.T) {
	n := func(v int64) types.Value { return v }
	for _, c := range []struct {
		from, to string
		value    types.Value
		want     string
	}{
		{"ARRAY<INT>", "STRING", []types.Value{}, "[]"},
		{"ARRAY<INT>", "VARCHAR(2)", []types.Value{n(1), nil, n(3)}, "[1, null, 3]"},
		{"ARRAY<ARRAY<DOUBLE>>", "STRING", []types.Value{[]types.Value{1.5}, nil, []types.Value{}}, "[[1.5], null, []]"},
		{"MAP<INT, STRING>", "STRING", []types.Entry{}, "{}"},
		{"MAP<INT, STRING>", "STRING", []types.Entry{{Key: n(1), Value: "a"}, {Key: n(2)}}, "{1 -> a, 2 -> null}"},
		{"ROW<a INT, b STRING, c ROW<d DATE>>", "STRING", []types.Value{n(1), "x", []types.Value{int32(19723)}}, "{1, x, {2024-01-01}}"},
	} {
		rule, err := New(types.MustParse(c.from), types.MustParse(c.to))
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := rule.Value(c.value); err != nil || got != c.want {
			t.Errorf("%s: %v, %v, want %s", c.from, got, err, c.want)
		}
	}
}

// TestOddTimes: Java gives times before midnight and after it, which its own
// reader of results cannot show.
func TestOddTimes(t *testing.T) {
	for _, c := range []struct {
		from  string
		value types.Value
		want  int32
	}{
		{"TIMESTAMP(3)", types.Instant{Millis: -1}, -1},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", types.Instant{Millis: -1}, 86_399_999},
		{"STRING", "-5", -5},
		{"STRING", "12:34:56.789", 45_296_789},
		{"STRING", "1:2:3.4567", 3_723_457},
		{"STRING", "12:34", 45_240_000},
		{"STRING", "12:00:00+01:30", 48_600_000},
		{"STRING", "12:00:00-02", 36_000_000},
		{"STRING", "25:61:61", 93_721_000},
		{"STRING", "12:00:00.9996", 43_201_000},
	} {
		rule, err := New(types.MustParse(c.from), types.MustParse("TIME(3)"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rule.Value(c.value); err != nil || got != c.want {
			t.Errorf("%s %v: %v, %v, want %d", c.from, c.value, got, err, c.want)
		}
	}
}

// TestBadText: Java's read fails, and so does this one, by name.
func TestBadText(t *testing.T) {
	for to, texts := range map[string][]string{
		"TINYINT":                           {"128", "", "x", "1e3", "--1", "+", "1.x", " 1"},
		"BIGINT":                            {"9223372036854775808"},
		"BOOLEAN":                           {"", "ja", " true"},
		"DOUBLE":                            {"", "x", "nan", "inf", "1_0", "0x1", "--1", "1e", "ff"},
		"DECIMAL(9, 2)":                     {"", ".", "1e", "1 ", "+-1", "NaN", "1e++3", "1e99999999999"},
		"DATE":                              {"", "2024-02-30", "2024-13-01", "x", "10000-01-01", "-"},
		"TIME(3)":                           {"", "a:b", "12:", "12:00:00+x"},
		"TIMESTAMP(3)":                      {"", "2024-02", "2024-02-01T00:00:00", "24-02-01", "2024-13-01", "2024-01-32", "2024-01-01 25:00:00", "2024-01-01 24:00:01", "2024-01-01 1:2"},
		"TIMESTAMP(2)":                      {"12345"},
		"TIMESTAMP(3) WITH LOCAL TIME ZONE": {"12345"},
	} {
		rule, err := New(types.MustParse("STRING"), types.MustParse(to))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range texts {
			if got, err := rule.Value(s); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "type="+to) {
				t.Errorf("%q as %s: %v, %v", s, to, got, err)
			}
		}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(texts[0])
		in := b.NewArray()
		if _, err := rule.Array(memory.DefaultAllocator, in, arrowType(t, types.MustParse(to))); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("%s in a column: %v", to, err)
		}
	}
	nan, err := New(types.MustParse("DOUBLE"), types.MustParse("DECIMAL(9,2)"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nan.Value(math.NaN()); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("NaN as a decimal: %v", err)
	}
}

func TestNoRule(t *testing.T) {
	for _, c := range [][2]string{
		{"DATE", "INT"}, {"BOOLEAN", "DATE"}, {"BYTES", "INT"}, {"TINYINT", "TIMESTAMP(3)"}, {"DOUBLE", "BOOLEAN"}, {"DATE", "VARCHAR(20)"}, {"DATE", "TIME"},
		{"ARRAY<INT>", "ARRAY<BIGINT>"}, {"MULTISET<INT>", "STRING"}, {"ARRAY<MULTISET<INT>>", "STRING"}, {"VARIANT", "STRING"}, {"INT", "BYTES"}, {"STRING", "ARRAY<INT>"},
	} {
		from, to := types.MustParse(c[0]), types.MustParse(c[1])
		if _, err := New(from, to); !errors.Is(err, tarnerr.Unsupported) || Exists(from, to) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// FuzzText reads any text as any type: an error or a value, and never a panic.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "-1.5e3", "2024-02-29 12:34:56.789", "12:34:56+01:30", "1e-2000000000", "0x1p3", "true", "99999999999999999999", "²"} {
		f.Add(s)
	}
	var rules []*Cast
	for _, to := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38,10)", "DECIMAL(1,0)", "CHAR(3)", "VARCHAR(2)", "BINARY(3)", "DATE", "TIME(3)",
		"TIMESTAMP(0)", "TIMESTAMP(9)", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
	} {
		rule, err := New(types.MustParse("STRING"), types.MustParse(to))
		if err != nil {
			f.Fatal(err)
		}
		rules = append(rules, rule)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range rules {
			if v, err := r.Value(s); err != nil && !errors.Is(err, tarnerr.Invalid) {
				t.Errorf("%q as %s: %v, %v", s, r.to, v, err)
			}
		}
	})
}
