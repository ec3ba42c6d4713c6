//go:build cgo && !tarn_nosql

package cli

import (
	"strings"
	"testing"
)

// TestCompactShowsABar: on a terminal a bar tells how far a compaction is; it is gone
// before the report.
func TestCompactShowsABar(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "sql", "-c", "CREATE DATABASE d; CREATE TABLE d.t (id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'write-only' = 'true');"+
		"INSERT INTO d.t VALUES (1, 'a'), (2, 'a'); INSERT INTO d.t VALUES (2, 'b')")
	p.expect("INSERT")
	p.exits(0)
	p = start(t, dir, "xterm", "table", "compact", "d.t")
	p.expect("\rd.t ")
	p.expect("% |")
	p.expect("d.t: compacted 1 bucket of 1: 2 files")
	p.exits(0)
	bar, report, _ := strings.Cut(p.shown(), "d.t: compacted")
	if !strings.HasSuffix(strings.TrimRight(bar, " "), "\r") || strings.Contains(report, "%") {
		t.Errorf("shown: %q", p.shown())
	}
}

// TestCompactDatabaseShowsBars: of a database each table has its bar, which is gone before
// the report of the table.
func TestCompactDatabaseShowsBars(t *testing.T) {
	dir := ptyHome(t)
	statements := "CREATE DATABASE d;"
	for _, name := range []string{"t", "u"} {
		statements += strings.ReplaceAll("CREATE TABLE d.NAME (id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'write-only' = 'true');"+
			"INSERT INTO d.NAME VALUES (1, 'a'), (2, 'a'); INSERT INTO d.NAME VALUES (2, 'b');", "NAME", name)
	}
	p := start(t, dir, "xterm", "sql", "-c", statements)
	p.expect("INSERT")
	p.exits(0)
	p = start(t, dir, "xterm", "db", "compact", "d")
	p.expect("d.t: compacted 1 bucket of 1: 2 files")
	p.expect("d.u: compacted 1 bucket of 1: 2 files")
	p.exits(0)
	rest := p.shown()
	for _, name := range []string{"d.t", "d.u"} {
		bar, report, _ := strings.Cut(rest, name+": compacted")
		if !strings.Contains(bar, "\r"+name+" ") || !strings.Contains(bar, "% |") || !strings.HasSuffix(strings.TrimRight(bar, " "), "\r") {
			t.Errorf("%s: shown: %q", name, p.shown())
		}
		rest = report
	}
	if strings.Contains(rest, "%") {
		t.Errorf("shown: %q", p.shown())
	}
}
