//go:build interop

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/interop/player"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

const good = `{"name":"good","ops":[
	{"op":"create_table","columns":[["id","INT"],["v","STRING"]]},
	{"op":"write","rows":[["+I",1,"a"],["+I",2,null]]},
	{"op":"expect","rows":[[1,"a"],[2,null]]}]}`

// Scenarios are carried out one after another; the first that is refused, or is none,
// ends the command with the code of its kind.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		name   string
		second string // the second scenario file, none when empty
		kind   tarnerr.Kind
		says   string // on stderr
	}{
		{name: "good"},
		{"refused", `{"name":"later","ops":[{"op":"juggle"}]}`, tarnerr.Unsupported, "operation juggle is not there yet"},
		{"unmet", `{"name":"later","ops":[{"op":"expect","rows":[[3,"c"]]}]}`, tarnerr.Corrupt, "its rows are not those expected"},
		{"no scenario", `[]`, tarnerr.Invalid, "later.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"-w", filepath.Join(dir, "lake"), scenario(t, dir, "good.json", good)}
			code := 0
			if c.second != "" {
				args = append(args, scenario(t, dir, "later.json", c.second))
				code = c.kind.ExitCode()
			}
			var stdout, stderr strings.Builder
			if got := run(t.Context(), args, &stdout, &stderr); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
			if got, want := stdout.String(), "replayed good: 3 operations\n"; got != want {
				t.Errorf("stdout %q, want %q", got, want)
			}
			if got := stderr.String(); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
				t.Errorf("stderr %q, want %q", got, c.says)
			}
			if got, want := rows(t, args[1]), []string{`{"id":1,"v":"a"}`, `{"id":2,"v":null}`}; !slices.Equal(got, want) {
				t.Errorf("the table holds %q, want %q", got, want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
	}{
		{nil, tarnerr.Invalid.ExitCode()},
		{[]string{"-w", "lake"}, tarnerr.Invalid.ExitCode()},
		{[]string{"good.json"}, tarnerr.Invalid.ExitCode()},
		{[]string{"-x"}, tarnerr.Invalid.ExitCode()},
		{[]string{"-h"}, 0},
	} {
		var stdout, stderr strings.Builder
		if got := run(t.Context(), c.args, &stdout, &stderr); got != c.code || !strings.Contains(stderr.String(), "usage: replay -w DIR") {
			t.Errorf("%q: exit code %d, want %d; stderr %q", c.args, got, c.code, stderr.String())
		}
	}
}

func scenario(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func rows(t *testing.T, warehouse string) []string {
	t.Helper()
	cat, err := tarn.Open(t.Context(), warehouse, tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	tbl, err := cat.LoadTable(t.Context(), table.Identifier{Database: "db", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := player.Lines(t.Context(), tbl, table.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
