//go:build interopall

package flink

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// Every type and value that Tarn wrote is read by Flink and written by it into a
// table of its own, made by its own DDL, where Tarn finds the same types and values.
func TestTypesGoThroughFlink(t *testing.T) {
	l := newLake(t)
	var inserts []string
	want := map[string][]string{}
	for _, file := range []string{"types", "types-java"} {
		s, err := interop.LoadScenario(filepath.Join("..", "testdata", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := s.WrittenLines()
		if err != nil {
			t.Fatal(err)
		}
		var create struct {
			Columns [][]string `json:"columns"`
		}
		if err := json.Unmarshal(s.Ops[0], &create); err != nil {
			t.Fatal(err)
		}
		for name, with := range map[string]op{
			"append":  {"options": map[string]string{}},
			"avro":    {"options": map[string]string{"file.format": "avro"}},
			"keyed":   {"options": map[string]string{"bucket": "2"}, "primary_keys": []string{"id"}},
			"by_part": {"options": map[string]string{"bucket": "1", "file.format": "avro"}, "primary_keys": []string{"pt", "id"}, "partition_keys": []string{"pt"}},
		} {
			if options := with["options"].(map[string]string); options["file.format"] == "avro" && file == "types-java" {
				continue // Avro has no nanoseconds
			}
			name = strings.ReplaceAll(file, "-", "_") + "_" + name
			made := op{"op": "create_table", "table": "db." + name, "columns": create.Columns}
			for k, v := range with {
				made[k] = v
			}
			ops := []op{made}
			for _, text := range s.Ops[1:] {
				var fields map[string]json.RawMessage // numbers as they are
				if err := json.Unmarshal(text, &fields); err != nil {
					t.Fatal(err)
				}
				o := op{"op": "write", "table": "db." + name}
				for k, v := range fields {
					if k != "op" {
						o[k] = v
					}
				}
				ops = append(ops, o)
			}
			l.tarn(ops...)
			l.sql("%s", copyDDL(name+"_copy", create.Columns, with))
			columns := fieldsOf(l.table(name))
			for i := range columns { // of TIME, Flink's DDL has no other
				columns[i] = strings.ReplaceAll(columns[i], "TIME(3)", "TIME(0)")
			}
			if d := cmp.Diff(columns, fieldsOf(l.table(name+"_copy"))); d != "" {
				t.Errorf("%s: the columns (-Tarn +Flink):\n%s", name, d)
			}
			inserts = append(inserts, fmt.Sprintf("INSERT INTO %s_copy SELECT * FROM %s;", name, name))
			want[name] = lines
		}
	}
	l.sql("EXECUTE STATEMENT SET BEGIN %s END", strings.Join(inserts, "\n"))
	got := map[string][]string{}
	for name := range want {
		got[name] = l.lines(name+"_copy", table.Scan{})
		l.compare(name)
	}
	same(l, "rows", want, got)
}

// compare compares the rows themselves as Flink returns them, without the columns that
// its JSON cannot hold.
func (l *lake) compare(name string) {
	l.Helper()
	var columns []string
	for _, f := range l.table(name).Schema().Fields {
		if !odd(f.Type) {
			columns = append(columns, f.Name)
		}
	}
	r := l.sql("SELECT `%s` FROM %s", strings.Join(columns, "`, `"), name)
	got, err := r.Lines(l.table(name).Schema().Select(columns))
	if err != nil {
		l.Fatal(err)
	}
	slices.Sort(got)
	same(l, name+" itself", map[string][]string{name: l.lines(name, table.Scan{Columns: columns})}, map[string][]string{name: got})
}

// odd reports what Flink's JSON cannot hold: maps of keys other than strings, and
// fractions of seconds of a TIME.
func odd(t types.Type) bool {
	switch {
	case t.Root == types.Time && t.Precision > 0:
		return true
	case t.Root == types.Map && !t.Key.IsString(), t.Root == types.Multiset && !t.Element.IsString():
		return true
	case t.Element != nil && odd(*t.Element):
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return odd(f.Type) })
}

func copyDDL(name string, columns [][]string, with op) string {
	var parts []string
	for _, c := range columns {
		text := fmt.Sprintf("`%s` %s", c[0], c[1])
		if len(c) > 2 {
			text += " COMMENT '" + c[2] + "'"
		}
		parts = append(parts, text)
	}
	if keys, ok := with["primary_keys"].([]string); ok {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(keys, ", ")+") NOT ENFORCED")
	}
	out := fmt.Sprintf("CREATE TABLE %s (%s)", name, strings.Join(parts, ", "))
	if keys, ok := with["partition_keys"].([]string); ok {
		out += " PARTITIONED BY (" + strings.Join(keys, ", ") + ")"
	}
	var options []string
	for k, v := range with["options"].(map[string]string) {
		options = append(options, fmt.Sprintf("'%s'='%s'", k, v))
	}
	if len(options) > 0 {
		out += " WITH (" + strings.Join(options, ", ") + ")"
	}
	return out
}

func fieldsOf(t table.Table) (out []string) {
	for _, f := range t.Schema().Fields {
		out = append(out, fmt.Sprint(f.ID, " ", f.Name, " ", f.Type))
	}
	return out
}
