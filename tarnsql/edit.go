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

// standard quotes names that DuckDB does not read, those in backticks and the
// database default, and turns the words of Flink and Spark for an earlier state
// into AT (…).
func (e *edited) standard() *edited {
	var edits []edit
	tokens := sqltext.Lex(e.text)
	for i, t := range tokens {
		if t.Kind == sqltext.Quoted && t.Text[0] == '`' || t.Is("DEFAULT") && i+1 < len(tokens) && tokens[i+1].Is(".") {
			edits = append(edits, edit{t.Start, t.End(), quoteName(t.Name())})
		}
	}
	for _, c := range travels(tokens) {
		edits = append(edits, c.edits(e.text, tokens)...)
	}
	if edits == nil {
		return e
	}
	return e.apply(apart(edits))
}

// apart leaves out edits of what another edit takes away.
func apart(edits []edit) []edit {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	out := edits[:0]
	for _, d := range edits {
		if len(out) == 0 || d.from >= out[len(out)-1].to {
			out = append(out, d)
		}
	}
	return out
}

// wrap puts text before and after.
func (e *edited) wrap(before, after string) *edited {
	return e.apply([]edit{{0, 0, before}, {len(e.text), len(e.text), after}})
}
