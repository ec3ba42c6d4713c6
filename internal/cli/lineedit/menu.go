package lineedit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	width "github.com/jedib0t/go-pretty/v6/text"
)

// menu is what can stand in the place of the word before the cursor.
type menu struct {
	items []string
	from  int // rune where the word begins
	at    int // item that was put in, -1 for none
}

// complete completes the word before the cursor as far as it is certain. When it
// is not, the candidates are listed, and further calls put in one after the other.
func (e *Editor) complete(ctx context.Context, step int) {
	if m := e.menu; m != nil {
		m.at += step
		switch {
		case m.at < 0:
			m.at = len(m.items) - 1
		case m.at >= len(m.items):
			m.at = 0
		}
		e.takeCandidate(m.from, m.items[m.at])
		return
	}
	before := string(e.text[:e.cursor])
	if strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) == "" && before != "" {
		e.insert("    ") // a line is indented
		return
	}
	if e.cfg.Candidates == nil {
		return
	}
	from, items := e.cfg.Candidates(ctx, string(e.text), len(before))
	at := len([]rune(before[:from]))
	switch len(items) {
	case 0:
		return
	case 1:
		e.takeCandidate(at, items[0])
		return
	}
	if common := commonStart(items); len([]rune(common)) > e.cursor-at {
		e.takeCandidate(at, common)
	}
	e.menu = &menu{items, at, -1}
}

// takeCandidate puts s in the place of the text between from and the cursor.
func (e *Editor) takeCandidate(from int, s string) {
	if string(e.text[from:e.cursor]) == s {
		return
	}
	e.change()
	e.text = slices.Replace(e.text, from, e.cursor, []rune(s)...)
	e.cursor = from + len([]rune(s))
}

// commonStart is what all begin with, in the letters of the first; their case may differ.
func commonStart(items []string) string {
	first := []rune(items[0])
	n := len(first)
	for _, item := range items[1:] {
		i := 0
		for _, r := range item {
			if i == n || unicode.ToLower(r) != unicode.ToLower(first[i]) {
				break
			}
			i++
		}
		n = i
	}
	return string(first[:n])
}

// rows lays the candidates out in columns, at most so many rows.
func (m *menu) rows(columns, most int) []string {
	if m == nil || most < 1 {
		return nil
	}
	widest := 0
	for _, s := range m.items {
		widest = max(widest, width.StringWidth(s))
	}
	widest = min(widest, columns-3) + 2
	across := max(1, (columns-1)/widest)
	down := (len(m.items) + across - 1) / across
	rest := ""
	if down > most {
		down = most - 1
		rest = "… and " + strconv.Itoa(len(m.items)-down*across) + " more"
	}
	var out []string
	for y := range down {
		var row strings.Builder
		for x := range across {
			i := x*down + y
			if rest == "" && i >= len(m.items) {
				break
			}
			cell := width.Trim(m.items[i], widest-2)
			if i == m.at {
				cell = reverse + cell + normal
			}
			row.WriteString(cell + strings.Repeat(" ", widest-width.StringWidthWithoutEscSequences(cell)))
		}
		out = append(out, strings.TrimRight(row.String(), " "))
	}
	if rest != "" {
		out = append(out, rest)
	}
	return out
}
