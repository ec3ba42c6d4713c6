package aggregate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/merge/aggregate/aggregatetest"
)

// The files of testdata/cases fold values. A command is
//
//	fold FUNCTION
//	type TYPE
//	option KEY VALUE, of the column
//	+ JSON adds, ~ JSON adds late, - JSON retracts, = JSON sets; a line / ends a group
//
// and prints the value of each group, or the refusal of the first that has one.
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "fold" || len(d.CmdArgs) != 1 {
				d.Fatalf(t, "a command is: fold FUNCTION")
			}
			c := aggregatetest.Call{Function: d.CmdArgs[0].Key, Options: map[string]string{}, Groups: [][]aggregatetest.Row{{}}}
			for line := range strings.Lines(d.Input) {
				word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch word {
				case "type":
					c.Type = rest
				case "option":
					key, value, _ := strings.Cut(rest, " ")
					if !strings.Contains(key, ".") {
						key = "fields." + aggregatetest.Column + "." + key
					}
					c.Options[key] = value
				case "/":
					c.Groups = append(c.Groups, nil)
				default:
					last := &c.Groups[len(c.Groups)-1]
					*last = append(*last, aggregatetest.Row{Op: word, Value: json.RawMessage(rest)})
				}
			}
			var first string
			for sources := 1; sources <= 3; sources++ {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				values, err := c.Fold(mem, sources)
				mem.AssertSize(t, 0)
				out := strings.Join(values, "\n") + "\n"
				if err != nil {
					out = fmt.Sprintf("%v\n", err)
				}
				if sources == 1 {
					first = out
				} else if out != first {
					d.Fatalf(t, "with %d sources: %s", sources, out)
				}
			}
			return first
		})
	})
}

// The values of testdata/java.jsonl were made by Java.
func TestFoldsAreJavas(t *testing.T) {
	text, err := os.ReadFile("testdata/java.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var c aggregatetest.Folded
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		for sources := 1; sources <= 3; sources++ {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			got, err := c.Fold(mem, sources)
			mem.AssertSize(t, 0)
			if err != nil || !slices.Equal(got, c.Values) {
				t.Errorf("%s of %s with %v\n want %s\n got  %s %v", c.Function, c.Type, c.Options, c.Values, got, err)
			}
		}
		n += len(c.Groups)
	}
	if n < 200 {
		t.Errorf("%d groups are too few", n)
	}
}
