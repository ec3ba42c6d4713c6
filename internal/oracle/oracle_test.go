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
	c := column{function: "collect"}
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
		if acc, err = c.fold(acc, step.v, step.retract); err != nil || fmt.Sprint(acc) != step.want {
			t.Errorf("step %d: %v, %v, want %s", i+1, acc, err, step.want)
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
