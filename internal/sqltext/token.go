package sqltext

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

const (
	// Word is a keyword or a bare name; $ and digits may stand in it.
	Word Kind = iota
	// Quoted is a name in double quotes or backticks.
	Quoted
	// String is a text literal in single or dollar quotes.
	String
	// Numeral is a number without sign.
	Numeral
	// Symbol is one character of anything else, or a comparison of several.
	Symbol
	// Hint is the comment /*+ OPTIONS(…) */, in which Flink reads options of a table.
	// Other comments are no tokens.
	Hint
	// Unfinished is a quote or comment whose end is missing; it is the last token.
	Unfinished
)

// Token is a piece of SQL that is neither space nor comment.
type Token struct {
	Kind  Kind
	Text  string // as written
	Start int    // byte in the source
}

// End is the byte after the token.
func (t Token) End() int { return t.Start + len(t.Text) }

// Is reports a bare word in any case, or a symbol.
func (t Token) Is(text string) bool {
	return (t.Kind == Word || t.Kind == Symbol) && strings.EqualFold(t.Text, text)
}

// Name is the name that a Word or Quoted token stands for, and the text that a
// String in single quotes does.
func (t Token) Name() string {
	if t.Kind == Word {
		return t.Text
	}
	return unquote(t.Text)
}

// Lex cuts SQL into tokens. It never fails: what it does not know is a Symbol.
func Lex(src string) []Token {
	var out []Token
	for at := 0; at < len(src); {
		n, kind, skip := next(src[at:])
		if !skip {
			out = append(out, Token{kind, src[at : at+n], at})
		}
		at += n
	}
	return out
}

// next measures the token, space or comment that s, which is not empty, begins with.
func next(s string) (n int, kind Kind, skip bool) {
	c := s[0]
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		return 1, 0, true
	case strings.HasPrefix(s, "--"):
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			return end + 1, 0, true
		}
		return len(s), 0, true
	case strings.HasPrefix(s, "/*"):
		n, closed := blockComment(s)
		if closed && isHint(s[:n]) {
			return n, Hint, false
		}
		return n, Unfinished, closed
	case c == '\'':
		return quoted(s, 0, false, String)
	case (c == 'e' || c == 'E') && strings.HasPrefix(s[1:], "'"):
		return quoted(s, 1, true, String)
	case c == '"' || c == '`':
		return quoted(s, 0, false, Quoted)
	case c == '$':
		return dollar(s)
	case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
		return numeral(s), Numeral, false
	case isWordStart(c):
		n := 1
		for n < len(s) && (isWordStart(s[n]) || isDigit(s[n]) || s[n] == '$') {
			n++
		}
		return n, Word, false
	}
	for _, op := range []string{"<>", "!=", "<=", ">=", "==", "=>", "::", "||", "->"} {
		if strings.HasPrefix(s, op) {
			return len(op), Symbol, false
		}
	}
	return 1, Symbol, false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func isHint(comment string) bool {
	inside, ok := strings.CutPrefix(comment, "/*+")
	const word = "OPTIONS"
	inside = strings.TrimSpace(inside)
	return ok && len(inside) >= len(word) && strings.EqualFold(inside[:len(word)], word)
}

func blockComment(s string) (n int, closed bool) {
	depth := 0
	for n < len(s) {
		switch {
		case strings.HasPrefix(s[n:], "/*"):
			depth++
			n += 2
		case strings.HasPrefix(s[n:], "*/"):
			depth--
			n += 2
			if depth == 0 {
				return n, true
			}
		default:
			n++
		}
	}
	return n, false
}

// quoted measures a quoted token whose quote stands at from and is doubled inside.
func quoted(s string, from int, escapes bool, kind Kind) (int, Kind, bool) {
	q := s[from]
	for i := from + 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1, kind, false
		}
	}
	return len(s), Unfinished, false
}

// dollar measures $tag$text$tag$; a dollar that opens no such text stands alone.
func dollar(s string) (int, Kind, bool) {
	end := 1
	for end < len(s) && (isWordStart(s[end]) || end > 1 && isDigit(s[end])) {
		end++
	}
	if end == len(s) || s[end] != '$' {
		return 1, Symbol, false
	}
	tag := s[:end+1]
	if i := strings.Index(s[len(tag):], tag); i >= 0 {
		return i + 2*len(tag), String, false
	}
	return len(s), Unfinished, false
}

func numeral(s string) int {
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] == '.' || s[n] == '_') {
		n++
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		i := n + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		for ; i < len(s) && isDigit(s[i]); i++ {
			n = i + 1
		}
	}
	return n
}
