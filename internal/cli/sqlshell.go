package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	width "github.com/jedib0t/go-pretty/v6/text"

	"github.com/tarnlake/tarn/internal/cli/lineedit"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// sqlShell is the prompt of `tarn sql`. What is typed runs as it does in a script,
// but an error ends only what was typed.
type sqlShell struct {
	sqlRunner
	in lineReader
	// interruptible ends what it returns on Ctrl-C, and ctx does not.
	interruptible func(ctx context.Context) (context.Context, context.CancelFunc)
	words         *sqlWords
	history       *sqlHistory
	pager         string // command; used when page is set
	firstCatalog  string // which the prompt does not name
}

// lineReader reads what is typed. Read returns lineedit.ErrInterrupted on Ctrl-C
// and io.EOF at the end.
type lineReader interface {
	Read(ctx context.Context, prompt, more string) (string, error)
}

// errLeave ends the shell.
var errLeave = errors.New("leave")

// loop reads and runs until the end of the input, \q, or the end of ctx.
func (s *sqlShell) loop(ctx context.Context) error {
	for {
		prompt, more := s.prompts(ctx)
		text, err := s.in.Read(ctx, prompt, more)
		switch {
		case ctx.Err() != nil:
			return tarnerr.Wrap(tarnerr.Unavailable, "reading statements", errSignal)
		case errors.Is(err, lineedit.ErrInterrupted):
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return tarnerr.Wrap(tarnerr.Unavailable, "reading statements", err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		s.history.add(text)
		if err := s.once(ctx, text); err == errLeave {
			return nil
		}
		s.words.forget()
	}
}

// prompts are what stands before the first line of a statement and the others:
// the current database, and its catalog when it is another than at the start.
func (s *sqlShell) prompts(ctx context.Context) (first, more string) {
	first = s.db.Database() + "> "
	if rows, err := s.rows(ctx, "SHOW CURRENT CATALOG"); err == nil && len(rows) == 1 {
		if s.firstCatalog == "" {
			s.firstCatalog = rows[0][0]
		}
		if rows[0][0] != s.firstCatalog {
			first = rows[0][0] + "." + first
		}
	}
	if first = harmless(first); len(first) > 40 {
		first = "sql> "
	}
	return first, strings.Repeat(" ", max(0, width.StringWidth(first)-3)) + "-> "
}

// once runs what was typed and says what went wrong.
func (s *sqlShell) once(ctx context.Context, text string) error {
	running, stop := s.interruptible(ctx)
	defer stop()
	var err error
	if name, ok := shellWord(text); ok {
		err = s.command(running, name)
	} else {
		err = s.run(running, text)
	}
	switch {
	case err == nil || err == errLeave:
	case stopped(running, err):
		fmt.Fprintln(s.errOut, stoppedText(err))
		err = nil
	default:
		fmt.Fprintf(s.errOut, "error: %v\n", err)
	}
	return err
}

// shellWord is a command of the shell itself: \name, or one of the words that
// people type to be let out.
func shellWord(text string) (command string, ok bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `\`) {
		return text, true
	}
	switch strings.ToLower(strings.TrimSuffix(text, ";")) {
	case "quit", "exit":
		return `\q`, true
	case "help":
		return `\?`, true
	}
	return "", false
}

// ready tells whether Enter runs what was typed: a command of the shell, or
// statements the last of which is closed by a semicolon.
func ready(text string) bool {
	if _, ok := shellWord(text); ok {
		return true
	}
	tokens := sqltext.Lex(text)
	if len(tokens) == 0 {
		return true
	}
	return tokens[len(tokens)-1].Is(";")
}
