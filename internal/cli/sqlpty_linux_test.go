//go:build cgo && !tarn_nosql

package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a program on a terminal of its own.
type pty struct {
	t       *testing.T
	control *os.File // what a terminal emulator holds
	tty     *os.File
	cmd     *exec.Cmd
	dir     string

	mu      sync.Mutex
	seen    bytes.Buffer
	came    chan struct{}
	checked int // bytes of seen that were expected already
}

// patience ends a test that hangs; it measures nothing.
const patience = 2 * time.Minute

func openTerminal(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skipf("no terminals here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return control, tty
}

// start runs tarn on a new terminal, with dir as home, for temporary files, and
// for the warehouse.
func start(t *testing.T, dir, kind string, args ...string) *pty {
	t.Helper()
	p := &pty{t: t, dir: dir, came: make(chan struct{}, 1)}
	p.control, p.tty = openTerminal(t)
	p.cmd = exec.Command("tarn", args...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.tty, p.tty, p.tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "TMPDIR="+filepath.Join(dir, "tmp"),
		"TARN_WAREHOUSE="+filepath.Join(dir, "lake"), "TERM="+kind, "NO_COLOR=1")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := p.control.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.came <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// shown is all that was shown so far.
func (p *pty) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) send(keys string) {
	p.t.Helper()
	if _, err := p.control.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// expect waits until text was shown after what was expected before.
func (p *pty) expect(text string) {
	p.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		rest := p.seen.String()[p.checked:]
		if i := strings.Index(rest, text); i >= 0 {
			p.checked += i + len(text)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		select {
		case <-p.came:
		case <-limit.C:
			p.t.Fatalf("%q was not shown, but %q", text, rest)
		}
	}
}

// exits waits for the end and its exit code.
func (p *pty) exits(code int) {
	p.t.Helper()
	limit := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer limit.Stop()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d; shown: %q", got, code, p.shown())
	}
	mode, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	if err != nil || mode.Lflag&unix.ECHO == 0 || mode.Lflag&unix.ICANON == 0 || mode.Oflag&unix.OPOST == 0 {
		p.t.Errorf("the terminal was left raw: %+v, %v", mode, err)
	}
	left, err := os.ReadDir(filepath.Join(p.dir, "tmp"))
	if err != nil || len(left) > 0 {
		p.t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func ptyHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"tmp", "lake"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

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

// TestCommandIsStopped: Ctrl-C and SIGTERM in `tarn sql -c` leave nothing behind.
func TestCommandIsStopped(t *testing.T) {
	dir := ptyHome(t)
	for _, how := range []string{"Ctrl-C", "SIGTERM"} {
		p := start(t, dir, "xterm", "sql", "-c", "SELECT 1 AS one; "+endless+" SELECT 2")
		p.expect("│   1 │")
		p.expect("running, ")
		if how == "Ctrl-C" {
			p.send("\x03")
		} else if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.expect("1 of 3 statements ran")
		p.expect("cancelled while ")
		p.exits(130)
	}
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
