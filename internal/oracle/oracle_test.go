package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// tableOf has the key k, numbers s, g, a, b and text e.
func tableOf(options map[string]string) *Table {
	s := &schema.Schema{PrimaryKeys: []string{"k"}, Options: options}
	for i, column := range []string{"k INT NOT NULL", "s BIGINT", "g BIGINT", "a BIGINT", "b BIGINT", "e STRING"} {
		name, text, _ := strings.Cut(column, " ")
		s.Fields = append(s.Fields, types.Field{ID: i, Name: name, Type: types.MustParse(text)})
	}
	return NewTable(s)
}

// rowsOf reads rows of key 1 such as "-D 5 _ 1 2 x": kind, then s, g, a, b, e.
func rowsOf(t *testing.T, texts []string) (out []Row) {
	t.Helper()
	for _, text := range texts {
		words := strings.Fields(text)
		kind, err := types.ParseRowKind(words[0])
		if err != nil || len(words) != 6 {
			t.Fatal(text, err)
		}
		r := Row{Kind: kind, Values: []types.Value{int64(1)}}
		for i, w := range words[1:] {
			var n int64
			switch _, err := fmt.Sscan(w, &n); {
			case w == "_":
				r.Values = append(r.Values, nil)
			case i == 4:
				r.Values = append(r.Values, w)
			case err != nil:
				t.Fatal(text, err)
			default:
				r.Values = append(r.Values, n)
			}
		}
		out = append(out, r)
	}
	return out
}

// What comes out is what Java Paimon 1.4.2 makes of the same rows.
func TestTable(t *testing.T) {
	partial := map[string]string{"merge-engine": "partial-update"}
	with := func(base map[string]string, more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range base {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name    string
		options map[string]string
		rows    []string
		want    string // "" for no row, else s, g, a, b, e
	}{
		{"newest", nil, []string{"+I 2 _ 1 _ x", "+I 1 _ 2 _ y"}, "1 null 2 null y"},
		{"deleted", nil, []string{"+I 2 _ 1 _ x", "-D 1 _ 2 _ y"}, ""},
		{"by sequence", map[string]string{"sequence.field": "s"}, []string{"+I 2 _ 1 _ x", "+I 1 _ 2 _ y", "+I _ _ 3 _ z"}, "2 null 1 null x"},
		{"by sequence, ties by arrival", map[string]string{"sequence.field": "s"}, []string{"+I 2 _ 1 _ x", "+I 2 _ 2 _ y"}, "2 null 2 null y"},
		{"descending, null first", map[string]string{"sequence.field": "s", "sequence.field.sort-order": "descending"},
			[]string{"+I 2 _ 1 _ x", "+I 1 _ 2 _ y", "+I _ _ 3 _ z"}, "1 null 2 null y"},
		{"delete ignored", map[string]string{"ignore-delete": "true"}, []string{"+I 2 _ 1 _ x", "-D 1 _ 2 _ y", "-U 1 _ 2 _ y"}, "2 null 1 null x"},
		{"update-before ignored", map[string]string{"ignore-update-before": "true"}, []string{"+I 2 _ 1 _ x", "-U 1 _ 2 _ y"}, "2 null 1 null x"},
		{"first", map[string]string{"merge-engine": "first-row"}, []string{"+I 2 _ 1 _ x", "+I 1 _ 2 _ y"}, "2 null 1 null x"},
		{"partial", partial, []string{"+I 2 _ 1 _ x", "+I _ 5 2 _ _"}, "2 5 2 null x"},
		{"partial, removed", with(partial, "partial-update.remove-record-on-delete", "true"), []string{"+I 2 _ 1 _ x", "-D _ _ _ _ _"}, ""},
		{"partial, removed and back on what removed it", with(partial, "partial-update.remove-record-on-delete", "true"),
			[]string{"+I 2 _ 1 _ x", "-D _ _ 7 8 _", "+I _ _ 9 _ _"}, "null null 9 8 null"},
		{"group, late", with(partial, "fields.g.sequence-group", "a,b"), []string{"+I 1 5 1 1 x", "+I 2 4 2 2 y"}, "2 5 1 1 y"},
		{"group, null says nothing", with(partial, "fields.g.sequence-group", "a,b"), []string{"+I 1 5 1 1 x", "+I 2 _ 2 2 _"}, "2 5 1 1 x"},
		{"group, null is a value", with(partial, "fields.g.sequence-group", "a,b"), []string{"+I 1 5 1 1 x", "+I 2 5 _ 2 _"}, "2 5 null 2 x"},
		{"group taken back", with(partial, "fields.g.sequence-group", "a,b"), []string{"+I 1 5 1 1 x", "-D 2 6 7 7 y"}, "1 6 null null x"},
		{"group that removes", with(partial, "fields.g.sequence-group", "a,b", "partial-update.remove-record-on-sequence-group", "g"),
			[]string{"+I 1 5 1 1 x", "-D 2 6 7 7 y"}, ""},
		{"group that removes, late", with(partial, "fields.g.sequence-group", "a,b", "partial-update.remove-record-on-sequence-group", "g"),
			[]string{"+I 1 5 1 1 x", "-D 2 4 7 7 y"}, "1 5 1 1 x"},
		{"group, aggregates take late rows", with(partial, "fields.g.sequence-group", "a,b,e", "fields.b.aggregate-function", "sum", "fields.e.aggregate-function", "listagg"),
			[]string{"+I 1 5 1 1 x", "+I 2 4 2 2 y", "+I 3 _ 3 3 z", "+I 4 6 4 4 w"}, "4 6 4 7 y,x,w"},
		{"group, aggregates taken back", with(partial, "fields.g.sequence-group", "a,b,e", "fields.b.aggregate-function", "sum",
			"fields.e.aggregate-function", "max", "fields.e.ignore-retract", "true"),
			[]string{"+I 1 5 1 9 _", "-D 2 4 2 2 y", "-U 3 _ 3 3 z", "-U 4 6 4 4 w"}, "1 6 null 3 null"},
		{"products", map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "product", "fields.b.aggregate-function": "product",
			"fields.s.aggregate-function": "product"},
			[]string{"-D _ _ _ 5 _", "+I 2 _ 3 _ _", "+I 3 _ 4 2 _", "-D 2 _ 3 _ _"}, "3 null 4 2 null"},
		{"aggregates", map[string]string{"merge-engine": "aggregation", "fields.s.aggregate-function": "max", "fields.g.aggregate-function": "min",
			"fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "first_non_null_value", "fields.e.aggregate-function": "listagg"},
			[]string{"+I 2 2 1 _ x", "+I 1 1 2 3 _", "+I 3 3 _ 4 z"}, "3 1 3 3 x,z"},
		{"taken back", map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "last_value",
			"fields.s.aggregate-function": "max", "fields.s.ignore-retract": "true"},
			[]string{"+I 2 2 1 9 x", "-D 5 _ 5 _ y"}, "2 2 -4 null null"},
		{"aggregation, removed", map[string]string{"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
			[]string{"+I 2 2 1 9 x", "-D 5 _ 5 _ y"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := tableOf(c.options)
			table.Write(rowsOf(t, c.rows)...)
			got, err := table.Rows()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			if c.want != "" {
				want["1"] = "1 " + c.want
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestCollect(t *testing.T) {
	m := &Model{columns: []column{{function: "collect"}}, seen: make([]bool, 1)}
	var acc types.Value
	for i, step := range []struct {
		v       types.Value
		retract bool
		want    string
	}{
		{[]types.Value{int64(1)}, true, "<nil>"},
		{[]types.Value{int64(1), int64(2), int64(1)}, false, "[1 2 1]"},
		{nil, false, "[1 2 1]"},
		{[]types.Value{int64(1), int64(3)}, false, "[1 2 1 1 3]"},
		{[]types.Value{int64(1), int64(1), int64(9)}, true, "[2 1 3]"},
		{nil, true, "[2 1 3]"},
		{[]types.Value{int64(3), int64(2), int64(1)}, true, "[]"},
	} {
		var err error
		if acc, err = m.fold(0, acc, step.v, step.retract); err != nil || fmt.Sprint(acc) != step.want {
			t.Errorf("step %d: %v, %v, want %s", i+1, acc, err, step.want)
		}
	}
}

// TestFunctions folds values, and takes one back at the end.
func TestFunctions(t *testing.T) {
	const table = "ARRAY<ROW<k INT, v INT>>"
	row := func(k, v types.Value) types.Value { return []types.Value{k, v} }
	rows := func(rows ...types.Value) types.Value { return rows }
	entry := func(k, v types.Value) types.Entry { return types.Entry{Key: k, Value: v} }
	entries := func(es ...types.Entry) types.Value { return es }
	x, y, z := row(int64(1), int64(5)), row(int64(2), nil), row(int64(1), nil)
	old, now, never := row(int64(1), "a"), row(int64(2), "b"), row(int64(3), nil)
	for _, test := range []struct {
		name, of string
		options  map[string]string
		values   []types.Value
		back     types.Value
		want     string
	}{
		{name: "first_value", of: "INT", values: []types.Value{nil, int64(1)}, want: "null"},
		{name: "first_non_null_value", of: "INT", values: []types.Value{nil, int64(1), int64(2)}, want: "1"},
		{name: "bool_and", of: "BOOLEAN", values: []types.Value{true, nil, false, true}, want: "false"},
		{name: "bool_or", of: "BOOLEAN", values: []types.Value{nil, false, true}, want: "true"},
		{name: "listagg", of: "STRING", options: map[string]string{"distinct": "true"}, values: []types.Value{"a,a", "b,,a", "", "c,b"}, want: "a,a,b,c"},
		{name: "listagg", of: "STRING", values: []types.Value{"", "a", "", "a"}, want: "a,a"},
		{name: "collect", of: "ARRAY<INT>", options: map[string]string{"distinct": "true"},
			values: []types.Value{rows(int64(3), int64(3)), rows(int64(1), int64(2), int64(3))}, back: rows(int64(3)), want: "sorted[1][2]"},
		{name: "merge_map", of: "MAP<INT, INT>", values: []types.Value{entries(entry(int64(1), int64(1)), entry(int64(2), int64(2))), entries(entry(int64(1), int64(9)))},
			back: entries(entry(int64(2), nil)), want: "sorted[[1,9]]"},
		{name: "merge_map_with_keytime", of: "MAP<INT, ROW<v INT, at STRING>>",
			values: []types.Value{entries(entry(int64(7), now), entry(int64(8), old)), entries(entry(int64(7), old), entry(int64(8), nil), entry(int64(9), never))}, want: `sorted[[7,{"v":2,"at":"b"}]]`},
		{name: "nested_update", of: table, options: map[string]string{"nested-key": "k"}, values: []types.Value{rows(x, y), rows(nil, z)}, want: `sorted[{"k":1,"v":null}][{"k":2,"v":null}]`},
		{name: "nested_update", of: table, options: map[string]string{"nested-key": "k"}, values: []types.Value{rows(x, y)}, back: rows(z), want: `sorted[{"k":2,"v":null}]`},
		{name: "nested_update", of: table, options: map[string]string{"nested-key": "k"}, values: []types.Value{rows(x, nil, z)}, back: rows(y), want: `sorted[{"k":1,"v":null}]`},
		{name: "nested_update", of: table, options: map[string]string{"count-limit": "2"}, values: []types.Value{rows(x), rows(nil, y, z), rows(x)}, want: `[{"k":1,"v":5},{"k":2,"v":null}]`},
		{name: "nested_update", of: table, values: []types.Value{rows(x, y, x)}, back: rows(x), want: `[{"k":2,"v":null}]`},
		{name: "nested_partial_update", of: table, options: map[string]string{"nested-key": "k"}, values: []types.Value{rows(x, y), rows(z, y)}, want: `sorted[{"k":1,"v":5}][{"k":2,"v":null}]`},
		{name: "rbm32", of: "BYTES", values: []types.Value{Bitmap(4, 70000), Bitmap(1, 4)}, want: types.FormatValue(types.MustParse("BYTES"), Bitmap(70000, 1, 4))},
	} {
		s := &schema.Schema{Options: map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": test.name}}
		for key, v := range test.options {
			s.Options["fields.a."+key] = v
		}
		s.Fields = []types.Field{{Name: "a", Type: types.MustParse(test.of)}}
		m := NewModel(s)
		var kept []Row
		for _, v := range test.values {
			kept = append(kept, Row{Values: []types.Value{v}})
		}
		if test.back != nil {
			kept = append(kept, Row{Kind: types.Delete, Values: []types.Value{test.back}})
		}
		out, _, err := m.Fold(kept)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := m.columns[0].text(out.Values[0]); got != test.want {
			t.Errorf("%s of %v without %v: %s, want %s", test.name, test.values, test.back, got, test.want)
		}
	}
}

func TestRetractionsAreRefused(t *testing.T) {
	for _, engine := range []string{"partial-update", "first-row"} {
		table := tableOf(map[string]string{"merge-engine": engine})
		table.Write(rowsOf(t, []string{"+I 1 _ _ _ _", "-D 1 _ _ _ _"})...)
		if _, err := table.Rows(); !errors.Is(err, ErrRetract) {
			t.Errorf("%s: %v", engine, err)
		}
	}
	table := tableOf(map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "max"})
	table.Write(rowsOf(t, slices.Repeat([]string{"-D 1 _ 1 _ _"}, 2))...)
	if _, err := table.Rows(); err == nil {
		t.Error("max takes a row back")
	}
}
