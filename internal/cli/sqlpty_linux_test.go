//go:build cgo && !tarn_nosql

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	up      = "\x1b[A"
	endless = "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000000000) b;"
)

// TestTerminal: the shell as a person meets it.
func TestTerminal(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "sql")
	p.expect("default> ")
	p.send("CREATE DATABASE shop;\r")
	p.expect("CREATE DATABASE (")
	p.send("USE sh\t;\r")
	p.expect("shop> ")
	p.send("CREATE TABLE orders (id INT, status STRING);\r")
	p.expect("CREATE TABLE (")
	p.send("INSERT INTO orders VALUES\r(1, 'PAID'),\r(2, 'NEW');\r")
	p.expect("INSERT: 2 rows, snapshot [1]")
	// Completion of a table and of a column, in a statement of two lines.
	p.send("SELECT id, status AS s\rFROM ord\t WHERE statu\t <> 'PAID';\r")
	p.expect("FROM orders WHERE status <> 'PAID';")
	p.expect("│  2 │ NEW │")
	p.expect("shop> ")
	p.send("SELECT max(id) AS last, count(*) AS n\rFROM ord\t;\r")
	p.expect("│    2 │ 2 │")
	p.expect("1 row (")
	// Ctrl-C on the line clears it.
	p.expect("shop> ")
	p.send("DROP TABLE orders; \x03")
	p.expect("^C")
	p.expect("shop> ")
	// Ctrl-C in a running query stops it, and only it.
	p.send(endless + "\r")
	p.expect("running, ")
	p.send("\x03")
	p.expect("cancelled")
	p.expect("shop> ")
	p.send(up + up + "\r")
	p.expect("│    2 │ 2 │")
	p.expect("shop> ")
	// An error points at its place, and the shell goes on.
	p.send("SELECT 1,\rnope;\r")
	p.expect("LINE 2: nope")
	p.expect("^")
	p.expect("shop> ")
	p.send("\x04")
	p.exits(0)

	path := filepath.Join(dir, ".local", "state", "tarn", "sql_history")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `SELECT max(id) AS last, count(*) AS n\nFROM orders;`+"\n") {
		t.Errorf("history: %q, %v", text, err)
	}
	if strings.Contains(string(text), "DROP") {
		t.Errorf("a line that was cleared is remembered: %q", text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: mode %v, %v", info.Mode(), err)
	}

	// Another shell knows what was typed in the first; search finds it.
	p = start(t, dir, "xterm", "sql", "-d", "shop")
	p.expect("shop> ")
	p.send("\x12max(id)\r")
	p.expect("│    2 │ 2 │")
	p.expect("shop> ")
	// SIGTERM at the prompt: the terminal is put back.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.exits(130)
}

// TestCommandIsStopped: Ctrl-C and SIGTERM in `tarn sql -c` leave nothing behind, of
// what did not fit in memory neither.
func TestCommandIsStopped(t *testing.T) {
	const spilling = "SELECT count(*) FROM (SELECT DISTINCT range, hash(range) FROM range(10000000000));"
	dir := ptyHome(t)
	tmp := filepath.Join(dir, "tmp")
	for _, how := range []string{"Ctrl-C", "SIGTERM"} {
		p := start(t, dir, "xterm", "--memory", "64mb", "sql", "-c", "SELECT 1 AS one; "+spilling+" SELECT 2")
		p.expect("│   1 │")
		p.expect("running, ")
		for len(filesBelow(t, tmp)) == 0 {
			p.expect("running, ")
		}
		if how == "Ctrl-C" {
			p.send("\x03")
		} else if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.expect("1 of 3 statements ran")
		p.expect("cancelled while ")
		p.exits(130)
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("%s: left: %v, %v", how, left, err)
		}
	}
}

// filesBelow are the files in dir and below it, of which some may vanish meanwhile.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInsertIsStopped: an INSERT that is stopped leaves no file of the rows it took.
func TestInsertIsStopped(t *testing.T) {
	dir := ptyHome(t)
	p := start(t, dir, "xterm", "--memory", "64mb", "sql", "-c", "CREATE DATABASE shop; CREATE TABLE shop.t (id BIGINT, s STRING);"+
		"INSERT INTO shop.t SELECT range, 'text ' || hash(range) FROM range(10000000000)")
	p.expect("running, ")
	p.send("\x03")
	p.expect("2 of 3 statements ran")
	p.expect("Nothing of this INSERT was committed.")
	p.exits(130)
	err := filepath.WalkDir(filepath.Join(dir, "lake", "shop.db", "t"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) != "schema" {
			t.Errorf("left: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPlainTerminal: one that can do no more than show lines.
func TestPlainTerminal(t *testing.T) {
	p := start(t, ptyHome(t), "dumb", "sql")
	p.expect("default> ")
	p.send("SELECT 40 +\n")
	p.expect("-> ")
	p.send("2 AS n;\n")
	p.expect("│ 42 │")
	p.expect("default> ")
	p.send("\\q\n")
	p.exits(0)
	if s := p.shown(); strings.Contains(s, "\x1b") {
		t.Errorf("a sequence was sent: %q", s)
	}
}

// TestTerminalShowsNoFiles: formats for programs are refused, and the way out is told.
func TestTerminalShowsNoFiles(t *testing.T) {
	for _, args := range [][]string{{"sql", "-o", "arrow"}, {"sql", "-o", "parquet", "-c", "SELECT 1"}} {
		p := start(t, ptyHome(t), "xterm", args...)
		p.expect("a terminal shows no such files")
		p.expect("file")
		p.exits(2)
	}
}
