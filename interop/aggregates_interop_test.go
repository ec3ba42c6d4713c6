//go:build interop

package interop

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/merge/aggregate/aggregatetest"
)

// aggregateCases are functions with types and options, and values they take.
var aggregateCases = []struct {
	function, column string
	options          map[string]string
	value            func(*rand.Rand) string
}{
	{"sum", "TINYINT", nil, integers(8)},
	{"sum", "SMALLINT", nil, integers(16)},
	{"sum", "INT", nil, integers(32)},
	{"sum", "BIGINT", nil, integers(64)},
	{"sum", "FLOAT", nil, floats},
	{"sum", "DOUBLE", nil, floats},
	{"sum", "DECIMAL(3, 1)", nil, decimals(3, 1)},
	{"sum", "DECIMAL(18, 2)", nil, decimals(18, 2)},
	{"sum", "DECIMAL(38, 5)", nil, decimals(38, 5)},
	{"product", "TINYINT", nil, integers(8)},
	{"product", "SMALLINT", nil, integers(16)},
	{"product", "INT", nil, integers(32)},
	{"product", "BIGINT", nil, integers(64)},
	{"product", "FLOAT", nil, floats},
	{"product", "DOUBLE", nil, floats},
	{"product", "DECIMAL(6, 2)", nil, decimals(3, 2)},
	{"product", "DECIMAL(38, 10)", nil, decimals(20, 10)},
	{"max", "INT", nil, integers(32)},
	{"min", "BIGINT", nil, integers(64)},
	{"max", "DOUBLE", nil, floats},
	{"min", "FLOAT", nil, floats},
	{"max", "DECIMAL(20, 3)", nil, decimals(20, 3)},
	{"min", "STRING", nil, words},
	{"max", "VARBINARY(9)", nil, hexes},
	{"min", "DATE", nil, oneOf(`"2020-01-02"`, `"1969-12-31"`, `"2020-01-01"`)},
	{"max", "TIMESTAMP(3)", nil, instants},
	{"min", "TIMESTAMP(6) WITH LOCAL TIME ZONE", nil, func(r *rand.Rand) string { s := instants(r); return s[:len(s)-1] + `Z"` }},
	{"max", "TIME(3)", nil, oneOf(`"00:00:01"`, `"23:59:59.999"`)},
	{"bool_and", "BOOLEAN", nil, oneOf("true", "false")},
	{"bool_or", "BOOLEAN", nil, oneOf("true", "false")},
	{"first_value", "INT", nil, integers(8)},
	{"first_non_null_value", "STRING", nil, words},
	{"first_not_null_value", "INT", nil, integers(8)},
	{"last_value", "ARRAY<INT>", nil, lists(integers(4))},
	{"last_non_null_value", "INT", nil, integers(8)},
	{"primary-key", "INT", nil, integers(8)},
	{"max", "INT", ignoreRetract, integers(32)},
	{"last_non_null_value", "INT", ignoreRetract, integers(8)},
	{"sum", "INT", ignoreRetract, integers(8)},
	{"first_value", "INT", ignoreRetract, integers(8)},
	{"listagg", "STRING", nil, words},
	{"listagg", "STRING", map[string]string{"fields.v.list-agg-delimiter": "--"}, words},
	{"listagg", "STRING", map[string]string{"fields.v.distinct": "true"}, words},
	{"listagg", "STRING", map[string]string{"fields.v.distinct": "true", "fields.v.list-agg-delimiter": "aa"}, words},
	{"listagg", "STRING", map[string]string{"fields.v.distinct": "true", "fields.v.list-agg-delimiter": ""}, words},
	{"listagg", "STRING", ignoreRetract, words},
	{"collect", "ARRAY<INT>", nil, lists(integers(4))},
	{"collect", "ARRAY<INT>", ignoreRetract, lists(integers(4))},
	{"collect", "ARRAY<INT>", distinct, lists(integers(8))},
	{"collect", "ARRAY<INT>", distinctIgnoring, lists(integers(8))},
	{"collect", "ARRAY<BIGINT>", distinct, lists(integers(40))},
	{"collect", "ARRAY<STRING>", distinct, lists(words)},
	{"collect", "ARRAY<DOUBLE>", distinct, lists(floats)},
	{"collect", "ARRAY<FLOAT>", distinct, lists(floats)},
	{"collect", "ARRAY<BOOLEAN>", distinct, lists(oneOf("true", "false"))},
	{"collect", "ARRAY<DATE>", distinct, lists(oneOf(`"2020-01-02"`, `"1969-12-31"`, `"2020-01-01"`))},
	{"collect", "ARRAY<TIMESTAMP(3)>", distinct, lists(instants)},
	{"collect", "ARRAY<TIMESTAMP(6)>", distinct, lists(instants)},
	{"collect", "ARRAY<DECIMAL(9, 3)>", distinct, lists(decimals(9, 3))},
	{"collect", "ARRAY<DECIMAL(30, 3)>", distinct, lists(decimals(30, 3))},
	// Nulls among nested elements make Java fail, nulls within them differ from themselves.
	{"collect", "ARRAY<ROW<id INT, v STRING>>", distinct, solid(rows)},
	{"collect", "ARRAY<ROW<id INT, v STRING>>", distinctIgnoring, solid(rows)},
	{"collect", "ARRAY<ROW<id INT, v STRING>>", nil, lists(rows)},
	{"collect", "ARRAY<ARRAY<INT>>", distinct, solid(solid(integers(2)))},
	{"merge_map", "MAP<STRING, INT>", nil, maps(words, integers(8))},
	{"merge_map", "MAP<INT, STRING>", ignoreRetract, maps(integers(5), words)},
	{"merge_map_with_keytime", "MAP<STRING, ROW<id INT, v STRING>>", nil, maps(words, rows)},
	{"merge_map_with_keytime", "MAP<INT, ROW<v STRING, id INT>>", map[string]string{"fields.v.ts-field": "v", "fields.v.ignore-retract": "true"}, maps(integers(3), swapped)},
	{"nested_update", "ARRAY<ROW<id INT, v STRING>>", nil, lists(rows)},
	{"nested_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.nested-key": "id"}, lists(rows)},
	{"nested_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.nested-key": "v, id", "fields.v.count-limit": "7"}, lists(rows)},
	{"nested_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.count-limit": "4"}, lists(rows)},
	{"nested_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.nested-key": "id", "fields.v.ignore-retract": "true"}, lists(rows)},
	{"nested_partial_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.nested-key": "id"}, lists(rows)},
	{"nested_partial_update", "ARRAY<ROW<a INT, id INT, v STRING>>", map[string]string{"fields.v.nested-key": "id, a"}, lists(wider)},
	{"nested_partial_update", "ARRAY<ROW<id INT, v STRING>>", map[string]string{"fields.v.nested-key": "v", "fields.v.ignore-retract": "true"}, lists(rows)},
}

var (
	ignoreRetract    = map[string]string{"fields.v.ignore-retract": "true"}
	distinct         = map[string]string{"fields.v.distinct": "true"}
	distinctIgnoring = map[string]string{"fields.v.distinct": "true", "fields.v.ignore-retract": "true"}
)

var updateFolds = flag.Bool("update-folds", false, "write a few groups and what Java makes of them to the testdata of package aggregate")

// Random values are added, added late, taken back and set, here and by Java: the
// results are the same, and so are the refusals.
func TestAggregatesAreJavas(t *testing.T) {
	j := judge(t)
	values, refusals := 0, 0
	var folds strings.Builder
	for i, c := range aggregateCases {
		rnd := rand.New(rand.NewPCG(uint64(i), 3))
		call := aggregatetest.Call{Function: c.function, Type: c.column, Options: c.options}
		for range 300 {
			call.Groups = append(call.Groups, randomGroup(rnd, c.value))
		}
		want, err := j.Aggregate(t.Context(), c.function, c.column, c.options, call.Groups)
		if err != nil {
			t.Fatalf("%s of %s: %v", c.function, c.column, err)
		}
		if *updateFolds {
			writeFolds(t, &folds, call, want)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got, errs, err := call.FoldEach(mem, 1+i%3)
		if err != nil {
			t.Fatalf("%s of %s: %v", c.function, c.column, err)
		}
		mem.AssertSize(t, 0)
		differ := 0
		for g := range call.Groups {
			switch {
			case (want[g].Error != "") != (errs[g] != nil), want[g].Error == "" && got[g] != want[g].Value:
				if differ++; differ <= 2 {
					text, _ := json.Marshal(call.Groups[g])
					t.Errorf("%s of %s with %v\n rows %s\n Java %s %s\n ours %s %v", c.function, c.column, c.options,
						text, want[g].Value, want[g].Error, got[g], errs[g])
				}
			case errs[g] != nil:
				refusals++
			default:
				values++
			}
		}
		if differ > 2 {
			t.Errorf("%s of %s with %v: %d groups differ", c.function, c.column, c.options, differ)
		}
	}
	if *updateFolds {
		if err := os.WriteFile("../internal/merge/aggregate/testdata/java.jsonl", []byte(folds.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d values, %d refusals", values, refusals)
	if values < 10000 || refusals < 1000 {
		t.Error("the groups do not reach what they are for")
	}
}

// writeFolds writes the largest of the short groups that have a value, and the values.
func writeFolds(t *testing.T, out *strings.Builder, c aggregatetest.Call, folded []Folded) {
	kept := aggregatetest.Folded{Call: c}
	kept.Groups = nil
	for i, g := range c.Groups {
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept.Groups) < 4 && folded[i].Error == "" && len(g) > 3 && len(text) < 700 {
			kept.Groups, kept.Values = append(kept.Groups, g), append(kept.Values, folded[i].Value)
		}
	}
	line, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(append(line, '\n'))
}

func randomGroup(rnd *rand.Rand, value func(*rand.Rand) string) []aggregatetest.Row {
	weights := [...]string{"+", "+", "+", "+", "+", "-", "~", "="}
	ops := weights[:[...]int{5, 5, 6, 7, 8}[rnd.IntN(5)]]
	rows := make([]aggregatetest.Row, 1+rnd.IntN(9))
	for i := range rows {
		v := "null"
		if rnd.IntN(6) > 0 {
			v = value(rnd)
		}
		rows[i] = aggregatetest.Row{Op: ops[rnd.IntN(len(ops))], Value: json.RawMessage(v)}
	}
	return rows
}

func oneOf(values ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

// integers are numbers of some bits, of which many lie near the ends.
func integers(bits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		largest := int64(math.MaxInt64) >> (64 - bits)
		switch r.IntN(6) {
		case 0:
			return fmt.Sprint(largest)
		case 1:
			return fmt.Sprint(-largest - 1)
		case 2:
			return fmt.Sprint(r.Int64()>>(64-bits) - largest/2)
		}
		return fmt.Sprint(min(max(int64(r.IntN(7))-3, -largest-1), largest))
	}
}

func floats(r *rand.Rand) string {
	return oneOf("0.0", `-0.0`, "1.5", "-2.25", "3.0E10", "1.0E-5", `0.1`, `7.0`)(r)
}

func decimals(precision, scale int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		digits := 1 + r.IntN(precision)
		text := make([]byte, digits)
		for i := range text {
			text[i] = '0' + byte(r.IntN(10))
		}
		if r.IntN(4) == 0 {
			text = []byte(strings.Repeat("9", digits))
		}
		for len(text) <= scale {
			text = append([]byte{'0'}, text...)
		}
		s := strings.TrimLeft(string(text[:len(text)-scale]), "0")
		if s == "" {
			s = "0"
		}
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		return `"` + s + "." + string(text[len(text)-scale:]) + `"`
	}
}

func words(r *rand.Rand) string {
	return oneOf(`"a"`, `"b"`, `"a"`, `""`, `"a,b"`, `"b,,a"`, `"aaa"`, `"é"`, `"longer than eight"`, `"x y"`, `","`,
		`"a--"`, `"z"`, `"2020"`, `"`+string(rune('a'+r.IntN(26)))+string(rune('a'+r.IntN(26)))+`"`)(r)
}

func hexes(r *rand.Rand) string {
	return oneOf(`"hex:00"`, `"hex:ff00"`, `"hex:"`, `"hex:7f"`, `"hex:80"`)(r)
}

func instants(r *rand.Rand) string {
	return oneOf(`"2020-01-02T03:04:05"`, `"1969-12-31T23:59:59.999"`, `"2020-01-02T03:04:05.001"`, `"1970-01-01T00:00:00"`,
		`"2031-05-05T05:05:05.500"`)(r)
}

func lists(element func(*rand.Rand) string) func(*rand.Rand) string {
	return solid(func(r *rand.Rand) string {
		if v := element(r); r.IntN(8) > 0 {
			return v
		}
		return "null"
	})
}

// solid are lists without nulls.
func solid(element func(*rand.Rand) string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		n := r.IntN(5)
		if r.IntN(10) == 0 {
			n = 20
		}
		out := make([]string, n)
		for i := range out {
			out[i] = element(r)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
}

func maps(key, value func(*rand.Rand) string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		var out []string
		seen := map[string]bool{}
		for range r.IntN(6) {
			k, v := key(r), value(r)
			if seen[k] {
				continue
			}
			seen[k] = true
			if r.IntN(6) == 0 {
				v = "null"
			}
			out = append(out, "["+k+","+v+"]")
		}
		return "[" + strings.Join(out, ",") + "]"
	}
}

// rows are ROW<id INT, v STRING>.
func rows(r *rand.Rand) string {
	id, v := integers(4)(r), words(r)
	if r.IntN(5) == 0 {
		id = "null"
	}
	if r.IntN(5) == 0 {
		v = "null"
	}
	return `{"id":` + id + `,"v":` + v + `}`
}

// wider are ROW<a INT, id INT, v STRING>, with many different ids.
func wider(r *rand.Rand) string {
	return `{"a":` + oneOf("1", "null")(r) + `,"id":` + integers(6)(r) + `,"v":` + oneOf(`"x"`, `"y"`, "null")(r) + `}`
}

// swapped are ROW<v STRING, id INT>.
func swapped(r *rand.Rand) string {
	v := oneOf(`"2020"`, `"2021"`, `"10"`, `"9"`, `"é"`, `"\uffee"`, `"😀"`, "null")(r)
	return `{"v":` + v + `,"id":` + integers(4)(r) + `}`
}
