package cli

import (
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
)

// place is what a word stands for.
type place uint8

const (
	placeColumn place = iota
	placeTable
	placeDatabase
	placeCatalog
)

// sqlWord is the word before the cursor.
type sqlWord struct {
	none   bool     // the cursor stands in a text or comment
	path   []string // names before it, with a point behind each
	prefix string   // without its quote
	start  int      // byte of the text
	quote  byte     // that opens it, 0 for none
	place  place
}

// written is a name as it is to be put in.
func (w sqlWord) written(name string) string {
	quote := w.quote
	if quote == 0 {
		if !needsQuotes(name) {
			return name
		}
		quote = '"'
	}
	q := string(quote)
	return q + strings.ReplaceAll(name, q, q+q) + q
}

func needsQuotes(name string) bool {
	tokens := sqltext.Lex(name)
	return len(tokens) != 1 || tokens[0].Kind != sqltext.Word || tokens[0].Text != name || isReserved(name)
}

// wordBefore finds the word that ends at cursor, which may be empty.
func wordBefore(text string, cursor int) sqlWord {
	tokens := sqltext.Lex(text[:cursor])
	w := sqlWord{start: cursor}
	n := len(tokens)
	if n > 0 {
		switch last := tokens[n-1]; {
		case last.Kind == sqltext.Unfinished:
			if q := last.Text[0]; q != '"' && q != '`' {
				return sqlWord{none: true}
			}
			w.quote, w.prefix, w.start = last.Text[0], last.Text[1:], last.Start
			n--
		case last.End() == cursor && last.Kind == sqltext.Word:
			w.prefix, w.start = last.Text, last.Start
			n--
		case last.End() == cursor && (last.Kind == sqltext.Numeral || last.Kind == sqltext.String || last.Kind == sqltext.Quoted):
			return sqlWord{none: true}
		case inLineComment(text[last.End():cursor]):
			return sqlWord{none: true}
		}
	}
	for n >= 2 && tokens[n-1].Is(".") && isName(tokens[n-2]) {
		w.path = append([]string{tokens[n-2].Name()}, w.path...)
		n -= 2
	}
	w.place = placeBefore(tokens[:n])
	return w
}

// inLineComment reports a comment that lasts to the end of what lies behind the
// last token.
func inLineComment(gap string) bool {
	line := gap[strings.LastIndexByte(gap, '\n')+1:]
	return strings.Contains(line, "--")
}

func isName(t sqltext.Token) bool { return t.Kind == sqltext.Word || t.Kind == sqltext.Quoted }

// placeBefore tells what comes after tokens.
func placeBefore(tokens []sqltext.Token) place {
	for len(tokens) > 0 && tokens[len(tokens)-1].Is("EXISTS") { // DROP TABLE IF EXISTS …
		tokens = tokens[:len(tokens)-1]
		for len(tokens) > 0 && (tokens[len(tokens)-1].Is("NOT") || tokens[len(tokens)-1].Is("IF")) {
			tokens = tokens[:len(tokens)-1]
		}
	}
	if len(tokens) == 0 {
		return placeColumn
	}
	last := tokens[len(tokens)-1]
	before := func(word string) bool { return len(tokens) > 1 && tokens[len(tokens)-2].Is(word) }
	switch {
	case last.Is("CATALOG"):
		return placeCatalog
	case last.Is("USE"), last.Is("DATABASE"), last.Is("SCHEMA"), (last.Is("FROM") || last.Is("IN")) && before("TABLES"):
		return placeDatabase
	case last.Is("FROM"), last.Is("JOIN"), last.Is("INTO"), last.Is("TABLE"), last.Is("DESCRIBE"), last.Is("PARTITIONS"),
		last.Is("DESC") && len(tokens) == 1:
		return placeTable
	case last.Is(",") && inFrom(tokens):
		return placeTable
	}
	return placeColumn
}

// inFrom tells that the last token, a comma, stands between the tables of a FROM.
func inFrom(tokens []sqltext.Token) bool {
	for i := len(tokens) - 2; i >= 0; i-- {
		switch t := tokens[i]; {
		case t.Is("FROM"):
			return true
		case t.Is(",") || t.Is(".") || t.Is("AS") || standsForName(t):
		default:
			return false
		}
	}
	return false
}

// tableInScope is a table that a statement names.
type tableInScope struct {
	path  []string
	alias string
}

func (t tableInScope) visible() string {
	if t.alias != "" {
		return t.alias
	}
	return t.path[len(t.path)-1]
}

// scopeOf finds the tables that the statement around a word names, before it and
// behind it.
func scopeOf(text string, from, to int) []tableInScope {
	statement := sqltext.Lex(text[:from])
	for i := len(statement) - 1; i >= 0; i-- {
		if statement[i].Is(";") {
			statement = statement[i+1:]
			break
		}
	}
	for _, t := range sqltext.Lex(text[to:]) {
		if t.Is(";") {
			break
		}
		statement = append(statement, t)
	}
	var out []tableInScope
	for i := range statement {
		if i > 0 && placeBefore(statement[:i]) == placeTable {
			if t, ok := tableAt(statement[i:]); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// tableAt reads a table's name and its alias.
func tableAt(tokens []sqltext.Token) (t tableInScope, ok bool) {
	i := 0
	for i < len(tokens) && standsForName(tokens[i]) {
		t.path = append(t.path, tokens[i].Name())
		if i++; i == len(tokens) || !tokens[i].Is(".") {
			break
		}
		i++
	}
	if i < len(tokens) && tokens[i].Is("AS") {
		i++
	}
	if i < len(tokens) && standsForName(tokens[i]) {
		t.alias = tokens[i].Name()
	}
	return t, len(t.path) > 0
}

// standsForName reports a name that is no reserved word.
func standsForName(t sqltext.Token) bool {
	return t.Kind == sqltext.Quoted || t.Kind == sqltext.Word && !isReserved(t.Text)
}
