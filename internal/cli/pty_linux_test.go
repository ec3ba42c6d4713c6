package cli

import (
	"bytes"
	"errors"
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
	gone    chan struct{} // closed when all that came is in seen
	checked int           // bytes of seen that were expected already
}

// patience ends a test that hangs; it measures nothing.
const patience = 2 * time.Minute

func openTerminal(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err) // Linux without terminals has no place to be tested on
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
	p := &pty{t: t, dir: dir, came: make(chan struct{}, 1), gone: make(chan struct{})}
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
		defer close(p.gone)
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
