//go:build cgo && !tarn_nosql

package cli

import (
	"strings"
	"testing"
)

// TestExpireShowsABar: on a terminal a bar tells how far an expiry is; it is gone
// before the report. A job that goes on ends well when it is interrupted.
func TestExpireShowsABar(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "sql", "-c", "CREATE DATABASE d; CREATE TABLE d.t (id INT); INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2); INSERT INTO d.t VALUES (3)")
	p.expect("snapshot [3]")
	p.exits(0)
	p = start(t, dir, "xterm", "table", "expire", "d.t", "--retain-min", "1", "--retain-max", "1")
	p.expect("\rd.t ")
	p.expect("% |")
	p.expect("d.t: expired 2 snapshots (1 to 2); deleted ")
	p.exits(0)
	bar, report, _ := strings.Cut(p.shown(), "d.t: expired")
	if !strings.HasSuffix(strings.TrimRight(bar, " "), "\r") || strings.Contains(report, "%") {
		t.Errorf("shown: %q", p.shown())
	}
	p = start(t, dir, "xterm", "db", "upkeep", "d", "--every", "10m")
	p.expect("d.t: nothing to do")
	p.send("\x03")
	p.exits(0)
}
