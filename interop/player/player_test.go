package player

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func parse(t *testing.T, ops ...string) *interop.Scenario {
	t.Helper()
	s, err := interop.ParseScenario([]byte(`{"name":"x","ops":[` + strings.Join(ops, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// recorder is a catalog that remembers what it is asked for and refuses the table bad.
type recorder struct {
	catalog.Catalog // nil: anything else panics
	calls           []any
}

func (r *recorder) note(id table.Identifier, what ...any) error {
	r.calls = append(r.calls, what...)
	if id.Table == "bad" {
		return tarnerr.New(tarnerr.NotFound, "opening table", "no such table")
	}
	return nil
}

func (r *recorder) CreateDatabase(_ context.Context, name string, ifNotExists bool) error {
	return r.note(table.Identifier{}, "database", name, ifNotExists)
}

func (r *recorder) CreateTable(_ context.Context, id table.Identifier, spec schema.Spec, ifNotExists bool) error {
	return r.note(id, "create", id.String(), spec, ifNotExists)
}

func (r *recorder) AlterTable(_ context.Context, id table.Identifier, changes ...schema.Change) error {
	return r.note(id, "alter", id.String(), changes)
}

func (r *recorder) RenameTable(_ context.Context, from, to table.Identifier) error {
	return r.note(from, "rename", from.String(), to.String())
}

func (r *recorder) DropTable(_ context.Context, id table.Identifier, ifExists bool) error {
	return r.note(id, "drop", id.String(), ifExists)
}

func TestSchemaOperationsReachTheCatalog(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		op   string
		want []any
	}{
		{`{"op":"create_table","columns":[["a","INT NOT NULL"],["b","MAP<INT, STRING>","why"]],"primary_keys":["a"],
		   "partition_keys":["p"],"options":{"bucket":"1"},"comment":"c"}`,
			[]any{"database", "db", true, "create", "db.t", schema.Spec{
				Fields: []types.Field{
					{Name: "a", Type: types.MustParse("INT NOT NULL")},
					{Name: "b", Type: types.MustParse("MAP<INT, STRING>"), Description: text("why")},
				},
				PrimaryKeys: []string{"a"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "1"}, Comment: "c",
			}, false}},
		{`{"op":"rename_table","table":"d.a","to":"d.b"}`, []any{"rename", "d.a", "d.b"}},
		{`{"op":"drop_table"}`, []any{"drop", "db.t", false}},
		{`{"op":"alter","changes":[
			{"add_column":{"name":"a","type":"INT","comment":"c","first":true}},
			{"add_column":{"name":["r","x"],"type":"DECIMAL(5, 1)","after":"y"}},
			{"rename_column":[["r","x"],"z"]},
			{"rename_column":["a","b"]},
			{"drop_column":"b"},
			{"update_type":["c","BIGINT"]},
			{"nullability":["c",false]},
			{"move":{"column":"c","last":true}},
			{"move":{"column":"c","before":"a"}},
			{"set_option":["k","v"]},
			{"remove_option":"k"},
			{"comment":"new"},
			{"column_comment":["c",null]},
			{"default_value":["c","7"]}]}`,
			[]any{"alter", "db.t", []schema.Change{
				schema.AddColumn{Path: []string{"a"}, Type: types.MustParse("INT"), Comment: text("c"), Where: schema.Where{First: true}},
				schema.AddColumn{Path: []string{"r", "x"}, Type: types.MustParse("DECIMAL(5, 1)"), Where: schema.Where{After: "y"}},
				schema.RenameColumn{Path: []string{"r", "x"}, To: "z"},
				schema.RenameColumn{Path: []string{"a"}, To: "b"},
				schema.DropColumn{Path: []string{"b"}},
				schema.UpdateType{Path: []string{"c"}, Type: types.MustParse("BIGINT")},
				schema.UpdateNullable{Path: []string{"c"}},
				schema.MoveColumn{Column: "c", Where: schema.Where{Last: true}},
				schema.MoveColumn{Column: "c", Where: schema.Where{Before: "a"}},
				schema.SetOption{Key: "k", Value: "v"},
				schema.RemoveOption{Key: "k"},
				schema.SetComment{Comment: text("new")},
				schema.UpdateColumnComment{Path: []string{"c"}},
				schema.UpdateDefault{Path: []string{"c"}, Default: text("7")},
			}}},
	} {
		var r recorder
		if err := Play(t.Context(), &r, parse(t, c.op)); err != nil {
			t.Errorf("%s: %v", c.op, err)
		} else if !reflect.DeepEqual(r.calls, c.want) {
			t.Errorf("%s: (-want +got)\n%s", c.op, cmp.Diff(c.want, r.calls))
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		op   string
		kind tarnerr.Kind
		want string
	}{
		{`{"op":"create_tag","fails":"x"}`, tarnerr.Unsupported, "operation create_tag"},
		{`{"op":"write","rows":[],"fixed_bucket":true,"overwrite":{}}`, tarnerr.Unsupported, "operation write with fixed_bucket"},
		{`{"op":"drop_partition","partitions":[{"p":1}]}`, tarnerr.Invalid, "reading operation"},
		{`{"op":"expect","rows":[],"tag":"x"}`, tarnerr.Unsupported, "operation expect with tag"},
		{`{"op":"alter","changes":[{"drop_primary_key":true}]}`, tarnerr.Unsupported, "schema change drop_primary_key"},
		{`{"op":"alter","changes":[{"set_option":"k"}]}`, tarnerr.Invalid, "set_option"},
		{`{"op":"create_table","columns":[["a"]]}`, tarnerr.Invalid, "name and type"},
		{`{"op":"create_table","columns":[["a","INTEGRE"]]}`, tarnerr.Invalid, "INTEGRE"},
		{`{"op":"drop_table","table":"bad"}`, tarnerr.NotFound, "no such table"},
		{`{"op":"drop_table","fails":"x"}`, tarnerr.Invalid, "should have failed"},
		{`{"op":"drop_table","table":"a..b"}`, tarnerr.Invalid, "name with ."},
		{`7`, tarnerr.Invalid, "reading operation"},
	} {
		err := Play(t.Context(), new(recorder), parse(t, c.op))
		if tarnerr.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %v with %q, got %v", c.op, c.kind, c.want, err)
		}
	}
	if err := Play(t.Context(), new(recorder), parse(t, `{"op":"drop_table","table":"db.bad","fails":"x"}`, `{"op":"write","rows":[],"compact":null,"table":"a.b.c"}`)); err == nil || !strings.Contains(err.Error(), "operation=2") {
		t.Errorf("an expected failure must not end the scenario, and null is no field: %v", err)
	}
}

func TestFilters(t *testing.T) {
	fields := []types.Field{
		{Name: "i", Type: types.MustParse("INT")}, {Name: "s", Type: types.MustParse("STRING")}, {Name: "d", Type: types.MustParse("DATE")},
	}
	for text, want := range map[string]expr.Expr{
		`i = 1`:                      expr.And{expr.Compare{Column: "i", Op: expr.Eq, Value: int64(1)}},
		`i >= -2 AND s != "a b"`:     expr.And{expr.Compare{Column: "i", Op: expr.Ge, Value: int64(-2)}, expr.Compare{Column: "s", Op: expr.Ne, Value: "a b"}},
		`s in ["x", null]`:           expr.And{expr.In{Column: "s", Values: []types.Value{"x", nil}}},
		`s prefix "x" and i is null`: expr.And{expr.Prefix{Column: "s", Prefix: "x"}, expr.IsNull{Column: "i"}},
		`d < "1970-01-02"`:           expr.And{expr.Compare{Column: "d", Op: expr.Lt, Value: int32(1)}},
		`s IS NOT NULL`:              expr.And{expr.Not{Child: expr.IsNull{Column: "s"}}},
		`i between 1`:                nil,
		`x = 1`:                      nil,
		`i = "a"`:                    nil,
		`s in 1`:                     nil,
	} {
		got, err := parseFilter(text, fields)
		if want == nil {
			if tarnerr.KindOf(err) != tarnerr.Invalid || err == nil {
				t.Errorf("%s: want Invalid, got %v, %v", text, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", text, got, want)
		}
	}
}

func TestRowsKeepTheirValues(t *testing.T) {
	fields := []types.Field{
		{Name: "a", Type: types.MustParse("BIGINT")}, {Name: `q"`, Type: types.MustParse("MAP<STRING, ARRAY<DOUBLE>>")},
	}
	var rows [][]json.RawMessage
	if err := json.Unmarshal([]byte(`[["+I", 9223372036854775807, [["k", [-0.0, null]]]], ["-D", null, null]]`), &rows); err != nil {
		t.Fatal(err)
	}
	in, err := readRows(fields, rows, true)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if kind := rec.Column(0); rec.ColumnName(0) != types.KindColumn || kind.ValueStr(0) != "0" || kind.ValueStr(1) != "3" {
		t.Errorf("row kinds are %v", kind)
	}
	in, err = readRows(fields, [][]json.RawMessage{rows[0][1:], rows[1][1:]}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := canonicalLines(t.Context(), fields, in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"a":9223372036854775807,"q\"":[["k",[-0.0,null]]]}`, `{"a":null,"q\"":null}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := readRows(fields, rows, false); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("a row of three values for two columns: %v", err)
	}
}
