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
