package interop

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// writtenLines gives what a scenario wrote as canonical lines, made from its
// text alone: all rows of all writes, under the columns of its create_table. The
// scenario's values must be spelled as they are to be read, maps sorted.
func writtenLines(t *testing.T, s *Scenario) []string {
	t.Helper()
	var columns [][]string
	var lines []string
	for _, text := range s.Ops {
		var op struct {
			Op      string
			Columns [][]string
			Rows    [][]json.RawMessage
		}
		if err := json.Unmarshal(text, &op); err != nil {
			t.Fatal(err)
		}
		switch op.Op {
		case "create_table":
			columns = op.Columns
		case "write":
			for _, row := range op.Rows {
				lines = append(lines, line(t, columns, row[1:]))
			}
		default:
			t.Fatalf("operation %s is not only about rows", op.Op)
		}
	}
	slices.Sort(lines)
	return lines
}

func line(t *testing.T, columns [][]string, values []json.RawMessage) string {
	t.Helper()
	if len(columns) != len(values) {
		t.Fatalf("%d values for %d columns", len(values), len(columns))
	}
	var fields []string
	for i, v := range values {
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			t.Fatal(err)
		}
		fields = append(fields, `"`+columns[i][0]+`":`+b.String())
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func TestWrittenLines(t *testing.T) {
	s, err := ParseScenario([]byte(`{"ops":[
		{"op":"create_table","columns":[["a","INT"],["m","MAP<INT, STRING>","a comment"]]},
		{"op":"write","rows":[["+I", 2, null], ["+I", 1, [[1, "x y"]]]]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := writtenLines(t, s)
	if want := []string{`{"a":1,"m":[[1,"x y"]]}`, `{"a":2,"m":null}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Table != "db.t" {
		t.Errorf("default table is %s", s.Table)
	}
}

func TestScenarioKeepsItsText(t *testing.T) {
	text := `{"ops":[{"op":"write","rows":[["+I",-0.0]]}],"time_travel":true}`
	s, err := ParseScenario([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil || string(got) != text {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := ParseScenario([]byte(`{"ops":3}`)); err == nil {
		t.Error("a scenario whose ops are a number was read")
	}
	if _, err := LoadScenario("testdata/none.json"); err == nil {
		t.Error("a missing file was read")
	}
}
