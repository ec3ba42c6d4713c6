//go:build cgo && !tarn_nosql && !windows

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// demoLakeEnv names the warehouse that the demo left, where there is one: the test
// group demo runs the part of the README about it.
const demoLakeEnv = "TARN_DEMO_LAKE"

const demoLake = "/tmp/tarn-demo-…/lake" // as the README writes it

// TestReadmeTour runs the five minutes of the README as they are written, in a fresh
// folder, and compares what is printed.
func TestReadmeTour(t *testing.T) {
	checkTour(t, func(s tourStep) bool { return !strings.Contains(s.command, demoLake) }, 20)
}

// TestReadmeDemo does so with what the README asks of the demo's warehouse.
func TestReadmeDemo(t *testing.T) {
	lake := os.Getenv(demoLakeEnv)
	if lake == "" {
		t.Skipf("%s does not name the warehouse of a demo", demoLakeEnv)
	}
	if lake, err := filepath.Abs(lake); err != nil || filepath.Base(lake) != "lake" {
		t.Fatalf("%s=%s: %v", demoLakeEnv, lake, err)
	}
	checkTour(t, func(s tourStep) bool { return strings.Contains(s.command, demoLake) }, 2)
}

// tourStep is a command of the README and what it says the command prints.
type tourStep struct{ command, printed string }

// checkTour runs the steps that are wanted, at least so many, in one shell.
func checkTour(t *testing.T, want func(tourStep) bool, least int) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := slices.DeleteFunc(readTour(t, string(text)), func(s tourStep) bool { return !want(s) })
	if len(steps) < least {
		t.Fatalf("only %d commands were found in README.md", len(steps))
	}
	dir := t.TempDir()
	var script strings.Builder
	const mark = "-- end of step"
	for i, s := range steps {
		fmt.Fprintf(&script, "%s\necho '%s' %d $?\n", strings.ReplaceAll(s.command, demoLake, os.Getenv(demoLakeEnv)), mark, i)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-s")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("exec 2>&1\n" + script.String())
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TARN_") }), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rest := string(out)
	for i, s := range steps {
		printed, after, ok := strings.Cut(rest, fmt.Sprintf("%s %d ", mark, i))
		if !ok {
			t.Fatalf("%s\nends the shell:\n%s", s.command, rest)
		}
		var code string
		code, rest, _ = strings.Cut(after, "\n")
		if code != "0" {
			t.Errorf("%s\nends with code %s:\n%s", s.command, code, printed)
		} else if !sameOutput(s.printed, printed) {
			t.Errorf("%s\nprints\n%sand not, as README.md says,\n%s", s.command, printed, s.printed)
		}
	}
}

// readTour takes the commands out of the console blocks of the tour. A command goes
// on where a line of it ends with \ or | or within quotes.
func readTour(t *testing.T, readme string) (steps []tourStep) {
	_, tour, ok := strings.Cut(readme, "\n## Five minutes\n")
	tour, _, end := strings.Cut(tour, "\n## ")
	if !ok || !end {
		t.Fatal("README.md has no tour")
	}
	for i, block := range strings.Split(tour, "```console\n")[1:] {
		block, _, ok := strings.Cut(block, "```\n")
		if !ok {
			t.Fatalf("block %d of the tour has no end", i)
		}
		open := false // a command that goes on
		for line := range strings.Lines(block) {
			command, begins := strings.CutPrefix(line, "$ ")
			switch {
			case open:
				steps[len(steps)-1].command += line
			case begins:
				steps = append(steps, tourStep{command: command})
			case len(steps) == 0:
				t.Fatalf("before the first command: %s", line)
			default:
				steps[len(steps)-1].printed += line
				continue
			}
			open = goesOn(steps[len(steps)-1].command)
		}
	}
	return steps
}

func goesOn(command string) bool {
	var quote byte
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	last := strings.TrimRight(command, "\n")
	return quote != 0 || strings.HasSuffix(last, `\`) || strings.HasSuffix(last, "|")
}

// volatile are the parts of an output that differ from run to run.
var volatile = regexp.MustCompile(`in \d+\.\d{3} s|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+(\.\d)? (B|KiB)\b`)

// sameOutput compares the lines in any order, as buckets are read side by side. An
// ellipsis stands for anything.
func sameOutput(want, got string) bool {
	lines := func(s string) []string {
		out := strings.Split(volatile.ReplaceAllString(s, "~"), "\n")
		slices.Sort(out)
		return out
	}
	return slices.EqualFunc(lines(want), lines(got), func(want, got string) bool {
		head, tail, open := strings.Cut(want, "…")
		if !open {
			return want == got
		}
		return len(got) >= len(head)+len(tail) && strings.HasPrefix(got, head) && strings.HasSuffix(got, tail)
	})
}

// TestSameOutput: what the comparison of the tour lets pass, and what not.
func TestSameOutput(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"committed 1 row as snapshot 2 in 0.029 s\n", "committed 1 row as snapshot 2 in 10.125 s\n", true},
		{"committed 1 row as snapshot 2 in 0.029 s\n", "committed 1 row as snapshot 3 in 0.029 s\n", false},
		{"a\nb\n", "b\na\n", true},
		{"a\n", "a\na\n", false},
		{"{\"n\":1,…}\n", "{\"n\":1,\"m\":2}\n", true},
		{"{\"n\":1,…}\n", "{\"n\":2,\"m\":2}\n", false},
		{"", "nothing\n", false},
		{"4 files of 4.8 KiB", "4 files of 912 B", true},
	} {
		if sameOutput(c.want, c.got) != c.same {
			t.Errorf("%q and %q: not %v", c.want, c.got, c.same)
		}
	}
}
