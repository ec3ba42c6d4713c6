//go:build cgo && !tarn_nosql

package cli

import "testing"

// TestRemovalIsAsked: on a terminal one is asked, and rows go with a yes only.
func TestRemovalIsAsked(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "sql", "-c", "CREATE DATABASE d; CREATE TABLE d.t (day STRING, id INT) PARTITIONED BY (day);"+
		"INSERT INTO d.t VALUES ('mon', 1), ('mon', 2), ('tue', 3)")
	p.expect("INSERT")
	p.exits(0)
	drop := func(args ...string) *pty {
		p := start(t, dir, "xterm", append([]string{"partition", "drop", "d.t", "day=mon"}, args...)...)
		p.expect("day=mon  2 rows")
		p.expect("Drop 1 partition of d.t with 2 rows? [y/N] ")
		return p
	}
	for _, no := range []string{"\r", "n\r", "nein\r", "\x04"} {
		p := drop()
		p.send(no)
		p.expect("nothing was changed")
		p.exits(130)
	}
	p = drop()
	p.send("\x03")
	p.exits(130)
	p = drop()
	p.send("yes\r")
	p.expect("removed partition day=mon of d.t: 2 rows in 1 file, as snapshot 2")
	p.exits(0)
	p = start(t, dir, "xterm", "table", "truncate", "d.t")
	p.expect("Remove 1 row of d.t? [y/N] ")
	p.send("Y\r")
	p.expect("as snapshot 3")
	p.exits(0)
	p = start(t, dir, "xterm", "table", "truncate", "d.t", "-y")
	p.expect("as snapshot 4")
	p.exits(0)
}
