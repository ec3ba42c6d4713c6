//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
)

// DuckDB names a column that has no alias by its text, which for a subquery is the
// text that stands where the table was named. Such columns get the text that
// the user wrote for an alias.

// titles makes the edits that name columns with subqueries.
func (s *survey) titles() []edit {
	var edits []edit
	for _, r := range s.references {
		if len(r.columns) == 0 {
			continue
		}
		items := s.items(r)
		if len(items) != len(r.columns) {
			continue // the tree knows better, and the name is no more than ugly
		}
		for i, item := range items {
			end := s.tokens[item.to-1].End()
			if !nameable(r.columns[i]) || slices.ContainsFunc(edits, func(d edit) bool { return d.from == end }) {
				continue
			}
			written := strings.Join(strings.Fields(s.source.text[s.tokens[item.from].Start:end]), " ")
			edits = append(edits, edit{end, end, " AS " + quoteName(written)})
		}
	}
	return edits
}

// nameable reports an item that is one column and has no alias.
func nameable(item node) bool {
	return item.text("alias") == "" && !hasStar(map[string]any(item))
}

func hasStar(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasStar)
	case map[string]any:
		if v["type"] == "STAR" {
			return true
		}
		for key, c := range v {
			if key != "subquery" && hasStar(c) {
				return true
			}
		}
	}
	return false
}

// span are tokens from from to before to.
type span struct{ from, to int }

var (
	clauseWords = []string{"FROM", "WHERE", "BY", "HAVING", "QUALIFY", "WINDOW", "VALUES", "LIMIT", "OFFSET", "JOIN"}
	afterItem   = []string{"FROM", "INTO", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "EXCEPT", "INTERSECT", "USING"}
)

// items are the items of SELECT lists around a reference, from the outside.
func (s *survey) items(r *reference) []span {
	var out []span
	at := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == r.from })
	for at >= 0 {
		item := span{from: -1}
		comma, decided, depth, i := -1, false, 0, at-1
		for ; i >= 0 && depth >= 0; i-- {
			switch t := s.tokens[i]; {
			case isCloser(t):
				depth++
			case isOpener(t):
				depth--
			case depth > 0 || decided:
			case t.Is(",") && comma < 0:
				comma = i
			case t.Is("SELECT"):
				decided = true
				item.from = max(comma+1, s.afterSelect(i))
			case s.isClause(i, clauseWords):
				decided = true
			}
		}
		if item.from >= 0 {
			item.to = s.itemEnd(at)
			out = append(out, item)
		}
		if depth >= 0 {
			break
		}
		at = i + 1 // what opens the parenthesis
	}
	slices.Reverse(out)
	return out
}

func isOpener(t sqltext.Token) bool { return t.Is("(") || t.Is("[") || t.Is("{") }
func isCloser(t sqltext.Token) bool { return t.Is(")") || t.Is("]") || t.Is("}") }

// isClause reports that a token is one of words and no name, nor a part of an
// expression.
func (s *survey) isClause(i int, words []string) bool {
	if !isOne(s.tokens[i], words) {
		return false
	}
	if i == 0 {
		return true
	}
	before := s.tokens[i-1]
	return !before.Is(".") && !(before.Is("DISTINCT") && s.tokens[i].Is("FROM")) && !(before.Is("WITHIN") && s.tokens[i].Is("GROUP"))
}

// afterSelect is the first token of the list of a SELECT.
func (s *survey) afterSelect(i int) int {
	i++
	switch {
	case s.token(i).Is("ALL"):
		i++
	case s.token(i).Is("DISTINCT") && s.token(i+1).Is("ON") && s.token(i+2).Is("("):
		i = closing(s.tokens, i+2) + 1
	case s.token(i).Is("DISTINCT"):
		i++
	}
	return i
}

// itemEnd is the token after the item that goes on at a token.
func (s *survey) itemEnd(i int) int {
	for depth := 0; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; {
		case isOpener(t):
			depth++
		case isCloser(t):
			if depth--; depth < 0 {
				return i
			}
		case depth == 0 && (t.Is(",") || s.isClause(i, afterItem)):
			return i
		}
	}
	return i
}
