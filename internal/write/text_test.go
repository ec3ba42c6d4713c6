package write

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestFlush runs testdata: `table` makes one, `write` writes one batch, `prepare`
// shows the files that come of it.
func TestFlush(t *testing.T) {
	datadriven.Walk(t, "testdata/flush", func(t *testing.T, path string) {
		var f *fixture
		var w *Writer
		end := func() {
			if w != nil {
				w.Close()
				f.alloc.AssertSize(t, 0)
			}
		}
		defer func() { end() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				end()
				f = newFixture(t, parseTable(t, d))
				if d.HasArg("held") {
					d.ScanArgs(t, "held", &f.held.max)
				}
				if d.HasArg("total") {
					var n int
					d.ScanArgs(t, "total", &n)
					f.held.total = int32(n)
				}
				w = f.writer()
				return ""
			case "write":
				kinds, values := parseRows(t, f.schema.Fields, d.Input)
				return text(f.write(w, kinds, values...))
			case "flush":
				return text(w.flush(context.Background(), false, true))
			case "prepare":
				messages, err := w.Prepare(context.Background())
				if err != nil {
					return text(err)
				}
				return f.describe(messages)
			}
			t.Fatalf("no such command: %s", d.Cmd)
			return ""
		})
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%v: %v", tarnerr.KindOf(err), err)
}

// parseTable reads a column per line; keys and options are arguments.
func parseTable(t *testing.T, d *datadriven.TestData) schema.Spec {
	t.Helper()
	spec := schema.Spec{Options: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		typ, def, hasDefault := strings.Cut(rest, " default ")
		parsed, err := types.Parse(typ)
		if err != nil {
			t.Fatal(err)
		}
		f := types.Field{Name: name, Type: parsed}
		if hasDefault {
			f.Default = &def
		}
		spec.Fields = append(spec.Fields, f)
	}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "pk":
			spec.PrimaryKeys = a.Vals
		case "partition":
			spec.PartitionKeys = a.Vals
		case "held", "total":
		default:
			spec.Options[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	return spec
}

// parseRows reads a row per line: kind and values, words or quoted, null for null.
func parseRows(t *testing.T, fields []types.Field, in string) (kinds []int8, rows [][]types.Value) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(in), "\n") {
		words := strings.Fields(line)
		k, err := types.ParseRowKind(words[0])
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, int8(k))
		row := make([]types.Value, len(fields))
		for i, word := range words[1:] {
			if word == "null" {
				continue
			}
			if s, err := strconv.Unquote(word); err == nil {
				word = s
			}
			if row[i], err = types.ParseValue(fields[i].Type, word); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return kinds, rows
}
