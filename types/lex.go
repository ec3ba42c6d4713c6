package types

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	end     tokenKind = iota
	word              // keyword or name, ends at a delimiter
	number            // digits
	quoted            // `name`
	literal           // 'text'
	mark              // one of < > ( ) ,
)

type token struct {
	kind  tokenKind
	at    int // byte offset
	text  string
	upper string // of a word
}

func (t token) describe() string {
	if t.kind == end {
		return "the end"
	}
	return "'" + t.text + "'"
}

const marks = "<>(),"

// lex cuts the input as Java's type parser does: words run to the next
// delimiter, so "OGC:CRS84" and "a-b" are words.
func (p *parser) lex() []token {
	var toks []token
	s := p.in
	for i := 0; i < len(s); {
		c := s[i]
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
		case strings.IndexByte(marks, c) >= 0:
			toks = append(toks, token{kind: mark, at: i, text: s[i : i+1]})
			i++
		case c == '\'' || c == '`':
			text, n := unquote(s[i:])
			if n == 0 {
				p.toks = toks
				p.pos = len(toks)
				p.fail("unclosed " + string(c))
				return nil
			}
			kind := literal
			if c == '`' {
				kind = quoted
			}
			toks = append(toks, token{kind: kind, at: i, text: text})
			i += n
		case c >= '0' && c <= '9':
			j := i
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			toks = append(toks, token{kind: number, at: i, text: s[i:j]})
			i = j
		default:
			j := i
			for j < len(s) {
				r, size := utf8.DecodeRuneInString(s[j:])
				if unicode.IsSpace(r) || strings.IndexByte(marks, s[j]) >= 0 || s[j] == '\'' || s[j] == '`' {
					break
				}
				j += size
			}
			toks = append(toks, token{kind: word, at: i, text: s[i:j], upper: strings.ToUpper(s[i:j])})
			i = j
		}
	}
	return toks
}

// unquote reads a text that starts with its quote, in which the quote is
// doubled. n is the length consumed, 0 when the quote is not closed.
func unquote(s string) (text string, n int) {
	q := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != q {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == q {
			b.WriteByte(q)
			i++
			continue
		}
		return b.String(), i + 1
	}
	return "", 0
}
