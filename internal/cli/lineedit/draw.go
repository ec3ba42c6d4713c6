package lineedit

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The sequences of a terminal that are used.
const (
	clearBelow  = "\x1b[J"
	clearScreen = "\x1b[H\x1b[2J"
	pasteOn     = "\x1b[?2004h"
	pasteOff    = "\x1b[?2004l"
	reverse     = "\x1b[7m"
	normal      = "\x1b[m"
)

// shown is what stands on the screen since the last draw.
type shown struct {
	prompts prompts
	text    []rune
	cursor  int
	columns int
	rows    int // of the screen
}

// cursorRow is how many rows below the first one the cursor stands. A terminal
// that became narrower or wider since has broken the rows anew.
func (s *shown) cursorRow(columns int) int {
	if s.columns == 0 {
		return 0
	}
	return lay(s.prompts, s.text, s.cursor, columns).window(s.rows).row
}

func (e *Editor) size() (columns, rows int) {
	if e.cfg.Size != nil {
		columns, rows = e.cfg.Size()
	}
	if columns < 2 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// draw shows the text in the place of what was shown, and the menu below it.
func (e *Editor) draw() error { return e.drawAt(e.cursor, e.menu) }

func (e *Editor) drawAt(cursor int, m *menu) error {
	columns, rows := e.size()
	var b strings.Builder
	up(&b, e.shown.cursorRow(columns))
	b.WriteString("\r" + clearBelow)
	l := lay(e.prompts, e.text, cursor, columns).window(rows)
	b.WriteString(strings.Join(l.rows, "\r\n"))
	below := m.rows(columns, rows-len(l.rows))
	for _, row := range below {
		b.WriteString("\r\n" + row)
	}
	up(&b, len(l.rows)-1+len(below)-l.row)
	b.WriteString("\r")
	if l.column > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", l.column)
	}
	e.shown = shown{e.prompts, append([]rune(nil), e.text...), cursor, columns, rows}
	return e.write(b.String())
}

func up(b *strings.Builder, rows int) {
	if rows > 0 {
		fmt.Fprintf(b, "\x1b[%dA", rows)
	}
}

// leave shows the text for the last time and goes to the line below it.
func (e *Editor) leave(cause error) error {
	if err := e.drawAt(len(e.text), nil); err != nil {
		return err
	}
	end := "\r\n"
	if errors.Is(cause, ErrInterrupted) {
		end = "^C\r\n"
	}
	return e.write(pasteOff + end)
}

func (e *Editor) write(s string) error {
	_, err := io.WriteString(e.cfg.Out, s)
	return err
}
