package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/tarnlake/tarn/internal/cli/lineedit"
	"github.com/tarnlake/tarn/tarnsql"
)

// terminal is the file behind v when it is a terminal.
func terminal(v any) (*os.File, bool) {
	f, ok := v.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// runner prints what r's statements give in the way r asks for, and draws for
// people where there is a terminal.
func (r *sqlRun) runner(db *tarnsql.DB) sqlRunner {
	s := sqlRunner{
		db: db, out: r.out, errOut: r.errOut, format: r.format, null: r.null, timing: r.timing, now: time.Now, layout: layoutAuto,
	}
	plain := os.Getenv("TERM") == "dumb"
	if watcher, ok := terminal(r.errOut); ok && !plain {
		s.progress = &sqlProgress{w: watcher, columns: columnsOf(watcher), read: db.Progress, after: time.After}
	}
	if out, ok := terminal(r.out); ok {
		s.columns = columnsOf(out)
		if !plain && os.Getenv("NO_COLOR") == "" {
			s.faint = func(s string) string { return "\x1b[2m" + s + "\x1b[22m" }
		}
	}
	return s
}

// columnsOf is the width of a terminal, 80 when it does not tell.
func columnsOf(f *os.File) func() int {
	return func() int {
		columns, _, err := term.GetSize(int(f.Fd()))
		if err != nil || columns == 0 {
			return 80
		}
		return columns
	}
}

// watched tells whether a person types: standard input is a terminal, and so is
// what the prompt can be shown on.
func (r *sqlRun) watched() bool {
	_, in := terminal(r.in)
	_, told := terminal(r.errOut)
	_, out := terminal(r.out)
	return in && (told || out)
}

// shell runs the prompt. ctx ends with Ctrl-C, and the shell does not: it ends with
// the signals that mean an end.
func (r *sqlRun) shell(ctx context.Context, db *tarnsql.DB) error {
	ends := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), ends...)
	defer stop()
	s := &sqlShell{
		sqlRunner: r.runner(db), pager: defaultPager(),
		interruptible: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, os.Interrupt)
		},
	}
	s.counts, s.timing = true, true
	if s.columns == nil { // rows go to a file, as they would from a script
		s.counts = false
	}
	s.words = &sqlWords{query: s.rows}
	s.history = &sqlHistory{path: historyPath(), errOut: r.errOut}
	in, _ := terminal(r.in)
	display, ok := terminal(r.errOut)
	if !ok {
		display, _ = terminal(r.out)
	}
	if t := os.Getenv("TERM"); t == "" || t == "dumb" {
		s.in = &plainLines{in: bufio.NewReader(in), out: display, ready: ready}
	} else {
		e := newEditor(in, display, s.words)
		defer e.Close()
		s.in, s.history.remember = e, e.Remember
	}
	s.history.load()
	of, err := r.settings()
	if err != nil {
		return err
	}
	fmt.Fprintf(r.errOut, "SQL over %s. \\? shows the commands, \\q or Ctrl-D leaves.\n", of.Warehouse)
	return s.loop(ctx)
}

// newEditor is a line editor on a terminal.
func newEditor(in, display *os.File, words *sqlWords) *lineedit.Editor {
	return lineedit.New(lineedit.Config{
		In: in, Out: display, Ready: ready, Candidates: words.candidates,
		Size: func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(display.Fd()))
			if err != nil {
				return 0, 0
			}
			return columns, rows
		},
		Raw: func() (func() error, error) {
			state, err := term.MakeRaw(int(in.Fd()))
			if err != nil {
				return nil, err
			}
			return func() error { return term.Restore(int(in.Fd()), state) }, nil
		},
	})
}

// plainLines reads from a terminal that can do no more than show lines.
type plainLines struct {
	in    *bufio.Reader
	out   io.Writer
	ready func(text string) bool
	lines chan plainLine // one that is on its way; nil for none
}

type plainLine struct {
	text string
	err  error
}

// Read implements lineReader.
func (p *plainLines) Read(ctx context.Context, prompt, more string) (string, error) {
	var text strings.Builder
	for {
		if _, err := io.WriteString(p.out, prompt); err != nil {
			return "", err
		}
		line, err := p.line(ctx)
		text.WriteString(line)
		if err != nil && (err != io.EOF || strings.TrimSpace(text.String()) == "") {
			return "", err
		}
		if err == io.EOF || p.ready(text.String()) {
			return strings.TrimSuffix(text.String(), "\n"), nil
		}
		prompt = more
	}
}

func (p *plainLines) line(ctx context.Context) (string, error) {
	if p.lines == nil {
		p.lines = make(chan plainLine, 1)
		go func(to chan<- plainLine) {
			text, err := p.in.ReadString('\n')
			to <- plainLine{text, err}
		}(p.lines)
	}
	select {
	case l := <-p.lines:
		p.lines = nil
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
