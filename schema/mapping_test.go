package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// show prints a mapping: file position (- for missing), = when the column is
// the same, parts in parentheses.
func show(cs []Column) string {
	var out []string
	for _, c := range cs {
		s := fmt.Sprint(c.Source)
		if c.Source < 0 {
			s = "-"
		}
		if c.Same {
			s += "="
		}
		if c.Cast {
			s += "~" + c.From.String()
		}
		if len(c.Parts) > 0 {
			s += "(" + show(c.Parts) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestMapping(t *testing.T) {
	col := func(path string, typ string) AddColumn {
		return AddColumn{Path: strings.Split(path, "."), Type: types.MustParse(typ)}
	}
	p := func(path string) []string { return strings.Split(path, ".") }
	for _, c := range []struct {
		name    string
		changes []Change
		want    string // of all columns of the new schema
	}{
		{"none", nil, "0= 1= 2= 3= 4="},
		{"add first", []Change{AddColumn{Path: p("n"), Type: types.MustParse("INT"), Where: Where{First: true}}}, "- 0= 1= 2= 3= 4="},
		{"drop", []Change{DropColumn{p("b")}}, "0= 2= 3= 4="},
		{"drop and add again", []Change{DropColumn{p("b")}, col("b", "STRING")}, "0= 2= 3= 4= -"},
		{"rename", []Change{RenameColumn{p("b"), "c"}}, "0= 1= 2= 3= 4="},
		{"swap names", []Change{RenameColumn{p("a"), "x"}, RenameColumn{p("b"), "a"}, RenameColumn{p("x"), "b"}}, "0= 1= 2= 3= 4="},
		{"move", []Change{MoveColumn{"m", Where{First: true}}}, "4= 0= 1= 2= 3="},
		{"comment, default, null", []Change{UpdateColumnComment{p("a"), nil}, UpdateNullable{p("r"), true}}, "0= 1= 2= 3= 4="},
		{"member added", []Change{col("r.n", "INT")}, "0= 1= 2(0= 1= -) 3= 4="},
		{"member dropped", []Change{DropColumn{p("r.x")}}, "0= 1= 2(1=) 3= 4="},
		{"deep member", []Change{col("r.y.n", "INT"), RenameColumn{p("r.y.z"), "zz"}}, "0= 1= 2(0= 1(0= -)) 3= 4="},
		{"in array and map", []Change{col("ar.element.n", "INT"), AddColumn{Path: p("m.value.n"), Type: types.MustParse("INT"), Where: Where{First: true}}},
			"0= 1= 2= 3(0(0= -)) 4(0= 1(- 0=))"},
		{"wider text", []Change{UpdateType{Path: p("b"), Type: types.MustParse("STRING")}}, "0= 1= 2= 3= 4="},
	} {
		old, err := NewSchema(Spec{Fields: []types.Field{
			{Name: "a", Type: types.MustParse("INT")}, {Name: "b", Type: types.MustParse("VARCHAR(5)")},
			{Name: "r", Type: types.MustParse("ROW<x INT, y ROW<z INT>>")},
			{Name: "ar", Type: types.MustParse("ARRAY<ROW<p INT>>")}, {Name: "m", Type: types.MustParse("MAP<INT, ROW<v INT>>")},
		}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		table, err := Apply(old, c.changes, false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := Mapping(old, table, table.Fields)
		if err != nil || show(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, show(got), err, c.want)
			continue
		}
		for i := range got {
			if got[i].Wanted.ID != table.Fields[i].ID {
				t.Errorf("%s: column %d is %+v", c.name, i, got[i].Wanted)
			}
		}
	}
}

func TestMappingConverts(t *testing.T) {
	for _, c := range [][3]string{
		{"INT", "BIGINT", "0~INT"}, {"INT", "STRING", "0~INT"}, {"STRING", "VARCHAR(3)", "0~STRING"}, {"DECIMAL(5, 2)", "DECIMAL(9, 2)", "0~DECIMAL(5, 2)"},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", "0~TIMESTAMP(3)"}, {"TIMESTAMP(6)", "TIMESTAMP(4)", "0~TIMESTAMP(6)"}, {"VARCHAR(3)", "CHAR(3)", "0~VARCHAR(3)"},
		{"ARRAY<INT>", "ARRAY<BIGINT>", "0(0~INT)"}, {"MAP<INT, INT>", "MAP<INT, DOUBLE>", "0(0= 1~INT)"}, {"ARRAY<INT>", "STRING", "0~ARRAY<INT>"},
		{"INT", "ARRAY<INT>", ""}, {"DATE", "INT", ""}, {"BOOLEAN", "DATE", ""}, {"DATE", "VARCHAR(30)", ""}, {"VARIANT", "STRING", ""}, {"MULTISET<INT>", "STRING", ""},
	} {
		file := []types.Field{{ID: 3, Name: "old", Type: types.MustParse(c[0])}}
		wanted := []types.Field{{ID: 3, Name: "new", Type: types.MustParse(c[1])}}
		got, err := MapFields(file, wanted)
		if refused := errors.Is(err, tarnerr.Unsupported) && strings.Contains(err.Error(), "column=new"); refused != (c[2] == "") || show(got) != c[2] {
			t.Errorf("%v: %v, %v", c, show(got), err)
		}
	}
	for _, c := range [][2]string{{"VARCHAR(3)", "STRING"}, {"CHAR(3)", "VARCHAR(3)"}, {"BINARY(2)", "BYTES"}, {"TIMESTAMP(4)", "TIMESTAMP(6)"}, {"TIME(0)", "TIME(3)"}, {"INT NOT NULL", "INT"}} {
		got, err := MapFields([]types.Field{{ID: 3, Type: types.MustParse(c[0])}}, []types.Field{{ID: 3, Type: types.MustParse(c[1])}})
		if err != nil || !got[0].Same {
			t.Errorf("%v: %v, %v", c, show(got), err)
		}
	}
}

// The path of a change must name what is there.
func TestApplyPaths(t *testing.T) {
	s, err := NewSchema(Spec{Fields: []types.Field{
		{Name: "a", Type: types.MustParse("INT")}, {Name: "v", Type: types.MustParse("ARRAY<INT>")}, {Name: "m", Type: types.MustParse("MAP<INT, INT>")},
	}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := string(s.JSON())
	for _, c := range []struct {
		change Change
		kind   tarnerr.Kind
		want   string
	}{
		{DropColumn{[]string{"v", "element"}}, tarnerr.Invalid, "only the type"}, // Java drops v
		{UpdateType{Path: []string{"m", "key"}, Type: types.MustParse("BIGINT")}, tarnerr.Invalid, "key cannot be changed"},
		{UpdateType{Path: []string{"v", "item"}, Type: types.MustParse("BIGINT")}, tarnerr.NotFound, `"element"`},
		{UpdateType{Path: []string{"a", "x"}, Type: types.MustParse("BIGINT")}, tarnerr.NotFound, "column=a.x"},
		{DropColumn{nil}, tarnerr.Invalid, "no column"},
		{AddColumn{Path: []string{" "}, Type: types.MustParse("INT")}, tarnerr.Invalid, "blank"},
		{AddColumn{Path: []string{"x"}}, tarnerr.Invalid, "no type"},
		{RenameColumn{[]string{"a"}, ""}, tarnerr.Invalid, "blank"},
		{MoveColumn{Column: "a"}, tarnerr.Invalid, "no place"},
		{SetOption{"bucket", "x"}, tarnerr.Invalid, "bucket"},
		{SetOption{"read.batch-size", "0"}, tarnerr.Invalid, "read.batch-size"},
		{SetOption{"write-buffer-size", "1 xb"}, tarnerr.Invalid, "write-buffer-size"},
		{nil, tarnerr.Unsupported, "no such kind"},
	} {
		_, err := Apply(s, []Change{c.change}, true)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %v with %q", c.change, err, c.kind, c.want)
		}
	}
	if string(s.JSON()) != before {
		t.Error("Apply changed its input")
	}
}
