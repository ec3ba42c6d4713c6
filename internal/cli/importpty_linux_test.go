package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImportShowsProgress: who watches an import on a terminal sees how far it is,
// in a line that is gone where something is said.
func TestImportShowsProgress(t *testing.T) {
	dir := ptyHome(t)
	rows := func(name, in string, more ...string) string {
		var text strings.Builder
		for i := range 20_000 { // more than are read at once
			fmt.Fprintf(&text, in, i, i*i)
			if i == 15_000 {
				text.WriteString(strings.Join(more, ""))
			}
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(code int, args ...string) string {
		t.Helper()
		p := start(t, dir, "xterm", args...)
		p.exits(code)
		// What was written comes through the terminal before the end of it is seen.
		p.tty.Close()
		<-p.gone
		return p.shown()
	}
	run(0, "db", "create", "d")
	run(0, "table", "create", "d.t", "id BIGINT, n BIGINT")
	run(0, "table", "create", "d.strict", "id BIGINT NOT NULL, n BIGINT")
	run(0, "table", "create", "d.nulls", "id BIGINT, n BIGINT")
	csv := rows("rows.csv", "%d,%d\n")
	nulls := rows("nulls.csv", "%d,%d\n", ",1\n")
	run(0, "table", "import", "d.nulls", nulls)
	parquet := filepath.Join(dir, "rows.parquet")
	run(0, "table", "read", "d.nulls", "-o", "parquet", "--to", parquet)
	for _, c := range []struct {
		name string
		args []string
		bar  string   // it is called
		says []string // the lines that stay, in their order
		code int
	}{
		{"csv", []string{"d.t", csv}, "rows.csv", []string{"committed 20000 rows as snapshot 1 in "}, 0},
		{"jsonl", []string{"d.t", rows("rows.jsonl", `{"id":%d,"n":%d}`+"\n")}, "rows.jsonl", []string{"committed 20000 rows as snapshot 2 in "}, 0},
		{"parquet", []string{"d.t", parquet}, "rows.parquet", []string{"committed 20001 rows as snapshot 3 in "}, 0},
		{"several commits", []string{"d.t", csv, "--commit-every", "10000"}, "rows.csv", []string{"committed 10000 rows as snapshot 4 in ", "committed 10000 rows as snapshot 5 in "}, 0},
		{"bad row", []string{"d.t", rows("bad.csv", "%d,%d\n", "x,1\n")}, "bad.csv", []string{"tarn: importing: reading rows: line 15002, column id, "}, 2},
		{"bad row in Parquet", []string{"d.strict", parquet}, "rows.parquet", []string{"tarn: importing: reading line 15002: "}, 2},
		{"rejects", []string{"d.strict", nulls, "--reject-file", filepath.Join(dir, "rejects")}, "nulls.csv",
			[]string{"rejected: line 15002, column id", "committed 20000 rows as snapshot 1 in ", "1 rows did not fit, see "}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown := run(c.code, append([]string{"table", "import"}, c.args...)...)
			if drawn := regexp.MustCompile(`\r`+regexp.QuoteMeta(c.bar)+` +\d+% \|█* *\|`).FindAllString(shown, -1); len(drawn) == 0 {
				t.Errorf("the bar is not drawn: %q", shown)
			}
			lines := strings.Split(strings.TrimSuffix(shown, "\r\n"), "\r\n")
			if len(lines) != len(c.says) {
				t.Fatalf("%d lines stay: %q", len(lines), shown)
			}
			for i, want := range c.says {
				last := lines[i][strings.LastIndex(lines[i], "\r")+1:]
				if !strings.HasPrefix(last, want) || strings.Contains(last, "█") {
					t.Errorf("line %d is %q, want %q", i, last, want)
				}
			}
		})
	}
}
