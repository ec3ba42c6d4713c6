package types

import (
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestParseValue(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"BOOLEAN", "TRUE", "true"},
		{"BOOLEAN", "0", "false"},
		{"TINYINT", "-128", "-128"},
		{"BIGINT", "9223372036854775807", "9223372036854775807"},
		{"INT", " +7 ", "7"},
		{"FLOAT", "1", "1.0"},
		{"FLOAT", "0.001", "0.001"},
		{"FLOAT", "3.4028235e38", "3.4028235E38"},
		{"DOUBLE", "10000000", "1.0E7"},
		{"DOUBLE", "9999999", "9999999.0"},
		{"DOUBLE", "0.00004", "4.0E-5"},
		{"DOUBLE", "-0", "-0.0"},
		{"DOUBLE", "nan", "NaN"},
		{"DOUBLE", "-Infinity", "-Infinity"},
		{"DOUBLE", "4.9e-324", "5.0E-324"},
		{"DECIMAL(5, 2)", "12.3", "12.30"},
		{"DECIMAL(5, 2)", "-0.05", "-0.05"},
		{"DECIMAL(5, 2)", "12.3000", "12.30"},
		{"DECIMAL(5, 2)", "1e2", "100.00"},
		{"DECIMAL(5, 2)", "0e999999999", "0.00"},
		{"DECIMAL(5, 0)", "-7.", "-7"},
		{"DECIMAL(38, 38)", ".12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"},
		{"DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"},
		{"VARCHAR(2)", "äö", "äö"},
		{"STRING", "", ""},
		{"BYTES", "X'0aFF'", "hex:0aff"},
		{"BINARY(2)", "0x00", "hex:00"},
		{"DATE", "1969-12-31", "1969-12-31"},
		{"DATE", "0000-02-29", "0000-02-29"},
		{"DATE", "-0044-03-15", "-0044-03-15"},
		{"DATE", "+12345-01-01", "+12345-01-01"},
		{"TIME(0)", "23:59", "23:59:00"},
		{"TIME(3)", "00:00:00.120", "00:00:00.12"},
		{"TIME(3)", "ms:-5", "ms:-5"},
		{"TIME(3)", "ms:1000", "00:00:01"},
		{"TIMESTAMP(3)", "1969-12-31 23:59:59.999", "1969-12-31T23:59:59.999"},
		{"TIMESTAMP(9)", "0001-01-01T00:00:00.000000001", "0001-01-01T00:00:00.000000001"},
		{"TIMESTAMP(6)", "2020-02-29", "2020-02-29T00:00:00"},
		{"TIMESTAMP(6)", "2020-02-29T12:00:00.1234560000", "2020-02-29T12:00:00.123456"},
		{"TIMESTAMP_LTZ(3)", "2020-01-01T01:00:00+02:00", "2019-12-31T23:00:00Z"},
		{"TIMESTAMP_LTZ(3)", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"},
		{"TIMESTAMP_LTZ(3)", "2020-01-01 00:00:00 UTC", "2020-01-01T00:00:00Z"},
		{"TIMESTAMP_LTZ(3)", "2020-01-01T00:00-0130", "2020-01-01T01:30:00Z"},
	} {
		typ := MustParse(c.typ)
		v, err := ParseValue(typ, c.in)
		if err != nil || FormatValue(typ, v) != c.want {
			t.Errorf("%s %q = %v (%v), want %s", c.typ, c.in, FormatValue(typ, v), err, c.want)
			continue
		}
		again, err := ParseValue(typ, c.want)
		if err != nil || !cmp.Equal(v, again, exactFloats, cmp.Comparer(func(a, b decimal128.Num) bool { return a == b })) {
			t.Errorf("%s %q does not read back: %v, %v", c.typ, c.want, again, err)
		}
	}
}

var exactFloats = cmp.Comparer(func(a, b float64) bool { return CompareDouble(a, b) == 0 })

func TestParseValueRefuses(t *testing.T) {
	for _, c := range []struct{ typ, in string }{
		{"BOOLEAN", "maybe"}, {"TINYINT", "128"}, {"SMALLINT", "-32769"}, {"INT", "2147483648"}, {"BIGINT", "9223372036854775808"},
		{"INT", "1.0"}, {"INT", ""}, {"INT", "1_000"}, {"INT", "0x10"},
		{"FLOAT", "3.5e38"}, {"DOUBLE", "1e309"}, {"DOUBLE", "0x1p3"}, {"DOUBLE", "1_0"}, {"DOUBLE", ""}, {"DOUBLE", "one"},
		{"DECIMAL(5, 2)", "1.234"}, {"DECIMAL(5, 2)", "1000"}, {"DECIMAL(5, 2)", "1e999999999"}, {"DECIMAL(5, 2)", "1e99999999999"},
		{"DECIMAL(5, 2)", "NaN"}, {"DECIMAL(5, 2)", "."}, {"DECIMAL(5, 2)", "-"}, {"DECIMAL(5, 2)", "1 2"}, {"DECIMAL(5, 2)", "--1"},
		{"DECIMAL(38, 0)", "100000000000000000000000000000000000000"},
		{"CHAR(2)", "abc"}, {"VARCHAR(1)", "\xff"}, {"STRING", "a\xc3"},
		{"BYTES", "abc"}, {"BYTES", "hex:0"}, {"BYTES", "hex:zz"}, {"BINARY(1)", "hex:0000"},
		{"DATE", "2023-02-29"}, {"DATE", "2023-1-1"}, {"DATE", "23-01-01"}, {"DATE", "12345-01-01"}, {"DATE", "2023-13-01"},
		{"DATE", "2023-01-01T00:00"}, {"DATE", "+9999999-01-01"}, {"DATE", ""},
		{"TIME(3)", "24:00:00"}, {"TIME(3)", "1:00"}, {"TIME(3)", "00:60"}, {"TIME(3)", "00:00:00.0001"}, {"TIME(3)", "00:00:00."}, {"TIME(3)", "ms:x"},
		{"TIMESTAMP(3)", "2020-01-01T00:00:00.0001"}, {"TIMESTAMP(6)", "2020-01-01T00:00:00.0000001"},
		{"TIMESTAMP(9)", "2020-01-01T00:00:00.0000000001"}, {"TIMESTAMP(3)", "2020-01-01T00:00:00Z"},
		{"TIMESTAMP(3)", "2020-01-01T"}, {"TIMESTAMP(3)", "now"}, {"TIMESTAMP_LTZ(3)", "2020-01-01T00:00:00+19:00"}, {"TIMESTAMP_LTZ(3)", "2020-01-01T00:00:00 Mars"},
	} {
		v, err := ParseValue(MustParse(c.typ), c.in)
		if !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("%s %q = %v, %v; want it refused", c.typ, c.in, v, err)
		}
	}
	if _, err := ParseValue(MustParse("ARRAY<INT>"), "[1]"); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("nested value: %v", err)
	}
}

func TestFormatNested(t *testing.T) {
	typ := MustParse("ROW<a ARRAY<DOUBLE>, m MAP<STRING, DATE>, s MULTISET<INT>, r ROW<`q\"` FLOAT>, b BYTES, n INT>")
	v := []Value{
		[]Value{1.0, math.NaN(), nil},
		[]Entry{{"b", int32(1)}, {"a\n", nil}},
		[]Entry{{int64(7), int64(2)}},
		[]Value{float32(0.1)},
		[]byte{1}, nil,
	}
	want := `{"a":[1.0,"NaN",null],"m":[["a\u000a",null],["b","1970-01-02"]],"s":[[7,2]],"r":{"q\"":0.1},"b":"hex:01","n":null}`
	if got := FormatValue(typ, v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCalendarAgreesWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int32().Draw(t, "days")
		text := string(AppendDate(nil, days))
		v, err := ParseValue(Type{Root: Date}, text)
		if err != nil || v != days {
			t.Fatalf("%d -> %s -> %v, %v", days, text, v, err)
		}
	})
	for text, days := range map[string]int32{"1970-01-01": 0, "2000-03-01": 11017, "1900-02-28": -25509, "0001-01-01": -719162, "9999-12-31": 2932896} {
		if got := string(AppendDate(nil, days)); got != text {
			t.Errorf("day %d = %s, want %s", days, got, text)
		}
	}
}

func TestFloatsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		v, err := ParseValue(Type{Root: Double}, FormatValue(Type{Root: Double}, d))
		if err != nil || CompareDouble(v.(float64), d) != 0 && d == d {
			t.Fatalf("%v -> %v, %v", d, v, err)
		}
		f := math.Float32frombits(rapid.Uint32().Draw(t, "bits32"))
		v, err = ParseValue(Type{Root: Float}, FormatValue(Type{Root: Float}, f))
		if err != nil || v.(float32) != f && f == f {
			t.Fatalf("%v -> %v, %v", f, v, err)
		}
	})
}

func TestInstantsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := Type{Root: Timestamp, Precision: 9}
		in := Instant{rapid.Int64Range(-1e15, 1e15).Draw(t, "ms"), int32(rapid.IntRange(0, 999_999).Draw(t, "ns"))}
		v, err := ParseValue(typ, FormatValue(typ, in))
		if err != nil || v != in {
			t.Fatalf("%v -> %s -> %v, %v", in, FormatValue(typ, in), v, err)
		}
	})
}

func TestCompare(t *testing.T) {
	ascending := func(typ string, vs ...Value) {
		t.Helper()
		for i, a := range vs {
			for j, b := range vs {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := Compare(MustParse(typ), a, b); got != want {
					t.Errorf("%s: Compare(%v, %v) = %d, want %d", typ, a, b, got, want)
				}
			}
		}
	}
	ascending("BOOLEAN", false, true)
	ascending("BIGINT", int64(math.MinInt64), int64(-1), int64(0), int64(math.MaxInt64))
	ascending("DATE", int32(-1), int32(0), int32(1))
	ascending("STRING", "", "a", "a\x00", "b", "é", "\U0001F600")
	ascending("BYTES", []byte{}, []byte{0}, []byte{127}, []byte{128})
	ascending("DOUBLE", math.Inf(-1), -1.0, math.Copysign(0, -1), 0.0, 1.0, math.Inf(1), math.NaN())
	ascending("FLOAT", float32(math.Inf(-1)), float32(math.Copysign(0, -1)), float32(0), float32(math.NaN()))
	ascending("DECIMAL(38, 1)", decimal128.New(-1, 0), decimal128.FromI64(-1), decimal128.FromI64(0), decimal128.New(1, 0))
	ascending("TIMESTAMP(9)", Instant{-1, 999_999}, Instant{0, 0}, Instant{0, 1}, Instant{1, 0})
}

func FuzzParseValue(f *testing.F) {
	for _, typ := range []string{"BOOLEAN", "INT", "DOUBLE", "DECIMAL(10, 2)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)"} {
		for _, text := range []string{"1", "2020-01-01T00:00:00.1+01:00", "-1e5", "hex:00", "ms:1"} {
			f.Add(typ, text)
		}
	}
	f.Fuzz(func(t *testing.T, typ, text string) {
		parsed, err := Parse(typ)
		if err != nil {
			return
		}
		v, err := ParseValue(parsed, text)
		if err != nil {
			return
		}
		again, err := ParseValue(parsed, FormatValue(parsed, v))
		if err != nil || Compare(parsed, v, again) != 0 {
			t.Fatalf("%s %q -> %q -> %v, %v", typ, text, FormatValue(parsed, v), again, err)
		}
	})
}
