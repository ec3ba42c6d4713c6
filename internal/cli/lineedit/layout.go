package lineedit

import (
	"strings"

	width "github.com/jedib0t/go-pretty/v6/text"
)

// layout is a text as it lies on a screen of some width.
type layout struct {
	rows        []string
	row, column int // of the cursor
}

// lay lays text out behind its prompts. Rows that are too long go on in the next.
func lay(p prompts, text []rune, cursor, columns int) layout {
	columns = max(columns, 2)
	var l layout
	var row strings.Builder
	at := 0
	next := func() {
		l.rows = append(l.rows, row.String())
		row.Reset()
		at = 0
	}
	put := func(r rune, w int) {
		if at+w > columns {
			next()
		}
		row.WriteRune(r)
		at += w
	}
	prompt := func(s string) {
		for _, r := range s {
			put(r, width.RuneWidth(r))
		}
	}
	prompt(p.first)
	for i, r := range text {
		w := width.RuneWidth(r)
		switch {
		case r == '\t':
			w = 4
		case r != '\n' && r < ' ':
			r, w = '?', 1
		}
		if i == cursor {
			if at+max(w, 1) > columns && r != '\n' || at == columns {
				next()
			}
			l.row, l.column = len(l.rows), at
		}
		switch r {
		case '\n':
			next()
			prompt(p.more)
		case '\t':
			for range w {
				put(' ', 1)
			}
		default:
			put(r, w)
		}
	}
	if cursor >= len(text) {
		if at == columns {
			next()
		}
		l.row, l.column = len(l.rows), at
	}
	l.rows = append(l.rows, row.String())
	return l
}

// window cuts the rows around the cursor that a screen of so many can show.
func (l layout) window(most int) layout {
	most = max(most, 1)
	if len(l.rows) <= most {
		return l
	}
	top := min(max(0, l.row-most+1), len(l.rows)-most)
	return layout{l.rows[top : top+most], l.row - top, l.column}
}
