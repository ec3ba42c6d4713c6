//go:build cgo && !tarn_nosql

package cli

import (
	"strings"
	"testing"
)

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

// TestDropIsAsked: a table, and a database with tables, go with a yes only; what is
// not there, or has nothing in it, goes without.
func TestDropIsAsked(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "sql", "-c", "CREATE DATABASE d; CREATE DATABASE bare; CREATE TABLE d.t (id INT);"+
		"CREATE TABLE d.u (id INT); CREATE TABLE d.v (id INT); INSERT INTO d.t VALUES (1), (2)")
	p.expect("INSERT")
	p.exits(0)
	for _, c := range []struct {
		args     string
		question string
		answer   string
		code     int
	}{
		{"table drop d.t", "Drop d.t with 2 rows and all its snapshots? [y/N] ", "n\r", 130},
		{"table drop d.t", "Drop d.t with 2 rows and all its snapshots? [y/N] ", "y\r", 0},
		{"table drop d.t --if-exists", "", "", 0},
		{"table drop d.t", "no such table", "", 3},
		{"table drop d.v -y", "", "", 0},
		{"db drop d", "", "", 2},
		{"db drop d --cascade", "Drop d with 1 table: u? [y/N] ", "\r", 130},
		{"db drop d --cascade", "Drop d with 1 table: u? [y/N] ", "yes\r", 0},
		{"db drop d --cascade", "", "", 3},
		{"db drop bare --cascade", "", "", 0},
	} {
		p := start(t, dir, "xterm", strings.Fields(c.args)...)
		p.expect(c.question)
		p.send(c.answer)
		p.exits(c.code)
	}
}
