package sqltext

import (
	"strconv"
	"strings"
)

// Statement is one statement of a script.
type Statement struct {
	Text   string // without the semicolon and the space around it
	Offset int    // byte of Text in the script
	// Ended tells that a semicolon closed it. Without one, a prompt waits for more.
	Ended bool
}

// Split cuts a script at its semicolons. Empty statements are left out.
func Split(script string) []Statement {
	var out []Statement
	var first, last Token
	any := false
	add := func(ended bool) {
		if any {
			out = append(out, Statement{script[first.Start:last.End()], first.Start, ended})
		}
		any = false
	}
	for _, t := range Lex(script) {
		if t.Is(";") {
			add(true)
			continue
		}
		if !any {
			first, any = t, true
		}
		last = t
	}
	add(false)
	return out
}

// PointAt shows the line of script that holds the byte at, with a mark below it.
func PointAt(script string, at int) string {
	if at < 0 || at > len(script) {
		return ""
	}
	start := strings.LastIndexByte(script[:at], '\n') + 1
	line := script[start:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	column := at - start
	const before, width = 60, 120 // of a long line, show what is near
	cut := ""
	if column > before {
		skip := column - before
		for skip > 0 && skip < len(line) && line[skip]&0xC0 == 0x80 {
			skip--
		}
		line, column, cut = line[skip:], column-skip, "… "
	}
	tail := ""
	if len(line) > width {
		end := width
		for end > 0 && line[end]&0xC0 == 0x80 {
			end--
		}
		line, tail = line[:end], " …"
	}
	head := "LINE " + strconv.Itoa(strings.Count(script[:start], "\n")+1) + ": " + cut
	line = strings.ReplaceAll(line, "\t", " ")
	pad := len([]rune(head)) + len([]rune(line[:min(column, len(line))]))
	return "\n  " + head + line + tail + "\n  " + strings.Repeat(" ", pad) + "^"
}
