package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/tarnlake/tarn/tarnerr"
)

// errPagerLeft says that the pager takes no more.
var errPagerLeft = errors.New("the pager was left")

// defaultPager is the user's pager.
func defaultPager() string { return first(os.Getenv("PAGER"), "less") }

// pageThrough makes outputs that go through a command.
func pageThrough(command string) func(io.Writer) io.WriteCloser {
	return func(out io.Writer) io.WriteCloser { return &pager{command: command, out: out} }
}

// pager starts its command with the first byte, so that it does not hide the
// progress of a statement before its rows.
type pager struct {
	command string
	out     io.Writer
	cmd     *exec.Cmd
	in      io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	n, err := p.in.Write(b)
	if err != nil {
		return n, errPagerLeft
	}
	return n, nil
}

func (p *pager) start() error {
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	cmd := exec.Command(shell, flag, p.command)
	cmd.Stdout, cmd.Stderr = p.out, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=SRFX") // wide rows are not wrapped, one page needs no key
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return pagerErr(p.command, err)
	}
	p.cmd, p.in = cmd, in
	return nil
}

func (p *pager) Close() error {
	if p.cmd == nil {
		return nil
	}
	p.in.Close() // fails when the pager has closed it
	if err := p.cmd.Wait(); err != nil {
		return pagerErr(p.command, err)
	}
	return nil
}

func pagerErr(command string, err error) error {
	return tarnerr.Wrap(tarnerr.Unavailable, "running pager", err, "command", command).WithHint(`\pager off prints without one.`)
}
