//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
)

// edited is text made of a user's script, which still knows where each of its
// bytes came from.
type edited struct {
	text   string
	script string
	parent *edited // text that edits were applied to; nil: the script from base on
	base   int
	edits  []edit
}

// edit replaces the bytes from from to to of the parent's text.
type edit struct {
	from, to int
	with     string
}

// original is a statement as it stands in a script.
func original(script, statement string, offset int) *edited {
	return &edited{text: statement, script: script, base: offset}
}

// apply makes a text with edits, which must not overlap.
func (e *edited) apply(edits []edit) *edited {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, d := range edits {
		b.WriteString(e.text[at:d.from])
		b.WriteString(d.with)
		at = d.to
	}
	b.WriteString(e.text[at:])
	return &edited{text: b.String(), script: e.script, parent: e, edits: edits}
}

// locate maps a byte of the text to one of the script. What an edit put in lies
// where it was put; what it put in at the end of the text lies nowhere.
func (e *edited) locate(at int) int {
	if e.parent == nil {
		return e.base + at
	}
	shift := 0 // of the text against the parent's
	for _, d := range e.edits {
		start := d.from + shift
		if at < start {
			break
		}
		if at < start+len(d.with) {
			return e.parent.locate(d.from)
		}
		shift += len(d.with) - (d.to - d.from)
	}
	return e.parent.locate(at - shift)
}

// pointAt shows the place in the script, "" for none.
func (e *edited) pointAt(at int) string {
	if at < 0 || at > len(e.text) {
		return ""
	}
	return sqltext.PointAt(e.script, e.locate(at))
}

// standard turns names in backticks, which DuckDB does not read, into quoted
// ones, and `t AT (…) AS a` into `t AS a AT (…)`.
func (e *edited) standard() *edited {
	var edits []edit
	tokens := sqltext.Lex(e.text)
	for i, t := range tokens {
		if t.Kind == sqltext.Quoted && t.Text[0] == '`' {
			edits = append(edits, edit{t.Start, t.End(), quoteName(t.Name())})
		}
		if !t.Is("AT") || i+2 >= len(tokens) || !tokens[i+1].Is("(") || !tokens[i+2].Is("VERSION") {
			continue
		}
		end := closing(tokens, i+1)
		if end+2 >= len(tokens) || !tokens[end+1].Is("AS") {
			continue
		}
		alias := tokens[end+2]
		edits = append(edits, edit{t.Start, t.Start, "AS " + quoteName(alias.Name()) + " "}, edit{tokens[end+1].Start, tokens[end+1].End(), ""})
		edits = append(edits, edit{alias.Start, alias.End(), ""})
		tokens[end+2].Kind = sqltext.Symbol // it is gone
	}
	if edits == nil {
		return e
	}
	return e.apply(edits)
}

// wrap puts text before and after.
func (e *edited) wrap(before, after string) *edited {
	return e.apply([]edit{{0, 0, before}, {len(e.text), len(e.text), after}})
}
