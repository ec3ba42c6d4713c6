//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// reference is a name in a query that stands for a table, and not for a CTE.
type reference struct {
	parts    []string // database and table, or the table alone
	alias    string   // as written; "" for none
	renamed  bool     // its columns have other names
	sampled  bool
	version  string // number in AT (VERSION => n)
	from, to int    // bytes of the text that name it
	at       []edit // takes AT (…) away
	scan     *scan
}

func (r *reference) name() string { return r.parts[len(r.parts)-1] }

// visible is the name that qualifies its columns.
func (r *reference) visible() string {
	if r.alias != "" {
		return r.alias
	}
	return r.name()
}

// survey is what a walk over a syntax tree finds.
type survey struct {
	source     *edited
	tokens     []sqltext.Token
	references []*reference
	of         map[int]*reference // by place
	selects    []node             // each SELECT with a FROM
	qualified  []node             // columns named with a database
	err        error
}

func examine(source *edited, tree node) (*survey, error) {
	s := &survey{source: source, tokens: sqltext.Lex(source.text), of: map[int]*reference{}}
	s.walk(map[string]any(tree), nil)
	return s, s.err
}

// walk visits v; ctes are the names of CTEs in sight, in lower case.
func (s *survey) walk(v any, ctes []string) {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			s.walk(c, ctes)
		}
	case map[string]any:
		n := node(v)
		if m := n.child("cte_map"); m != nil {
			ctes = s.walkCTEs(m, ctes)
		}
		switch n.text("type") {
		case "BASE_TABLE":
			s.refer(n, ctes)
			return
		case "SELECT_NODE":
			s.selects = append(s.selects, n)
		case "RECURSIVE_CTE_NODE":
			ctes = append(slices.Clip(ctes), strings.ToLower(n.text("cte_name")))
		case "COLUMN_REF":
			if len(n.texts("column_names")) > 2 {
				s.qualified = append(s.qualified, n)
			}
			return
		}
		for key, c := range v {
			if key != "cte_map" {
				s.walk(c, ctes)
			}
		}
	}
}

// walkCTEs visits the CTEs of a query, each of which sees those before it, and
// returns the names that the query sees.
func (s *survey) walkCTEs(m node, ctes []string) []string {
	ctes = slices.Clip(ctes)
	for _, entry := range m.list("map") {
		e := asNode(entry)
		s.walk(e["value"], ctes)
		ctes = append(ctes, strings.ToLower(e.text("key")))
	}
	return ctes
}

func (s *survey) refer(n node, ctes []string) {
	r := &reference{alias: n.text("alias"), renamed: len(n.list("column_name_alias")) > 0, sampled: n["sample"] != nil}
	for _, key := range []string{"catalog_name", "schema_name", "table_name"} {
		if p := n.text(key); p != "" {
			r.parts = append(r.parts, p)
		}
	}
	if len(r.parts) == 1 && slices.Contains(ctes, strings.ToLower(r.parts[0])) {
		return
	}
	at := n.location()
	if !s.extent(r, at, n["at_clause"] != nil) {
		s.refuse(at, tarnerr.New(tarnerr.Unsupported, "reading query", "a table named in this place", "table", strings.Join(r.parts, ".")))
		return
	}
	if len(r.parts) > 2 {
		s.refuse(at, tarnerr.New(tarnerr.Unsupported, "reading query", "tables of another catalog", "catalog", r.parts[0]).
			WithHint("Name a table as database.table."))
		return
	}
	if clause := n.child("at_clause"); clause != nil && !r.readVersion(clause) {
		s.refuse(at, tarnerr.New(tarnerr.Unsupported, "reading query", "AT with anything but (VERSION => number of a snapshot)").
			WithHint("`SELECT snapshot_id, commit_time FROM \"%s$snapshots\"` lists the snapshots.", r.name()))
		return
	}
	s.references = append(s.references, r)
	s.of[at] = r
}

func (s *survey) refuse(at int, err *tarnerr.Error) {
	if s.err == nil {
		s.err = withPlace(err, s.source, at)
	}
}

func (r *reference) readVersion(clause node) bool {
	e := clause.child("expr")
	value := e.child("value")
	id := value.child("type").text("id")
	if clause.text("unit") != "VERSION" || e.text("class") != "CONSTANT" || id != "INTEGER" && id != "BIGINT" {
		return false
	}
	r.version = number(value["value"])
	return r.version != ""
}

// extent finds the tokens that name the table: its parts, then AT (…) where it has one.
func (s *survey) extent(r *reference, at int, versioned bool) bool {
	i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == at })
	if i < 0 || at < 0 {
		return false
	}
	r.from = at
	for k, part := range r.parts {
		if k > 0 {
			if !s.token(i).Is(".") {
				return false
			}
			i++
		}
		if s.token(i).Name() != part {
			return false
		}
		r.to = s.token(i).End()
		i++
	}
	if !versioned {
		return true
	}
	if r.alias != "" { // it stands before AT
		for i < len(s.tokens) && s.tokens[i].Name() != r.alias {
			i++
		}
		i++
		if s.token(i).Is("(") {
			i = closing(s.tokens, i) + 1
		}
	}
	end := closing(s.tokens, i+1)
	if !s.token(i).Is("AT") || end == len(s.tokens) {
		return false
	}
	r.at = []edit{{s.tokens[i].Start, s.tokens[end].End(), ""}}
	return true
}

// closing is the index of the token that closes the parenthesis at i.
func closing(tokens []sqltext.Token, i int) int {
	for depth := 0; i < len(tokens); i++ {
		switch {
		case tokens[i].Is("("):
			depth++
		case tokens[i].Is(")"):
			if depth--; depth <= 0 {
				return i
			}
		}
	}
	return len(tokens)
}

func (s *survey) token(i int) sqltext.Token {
	if i < len(s.tokens) {
		return s.tokens[i]
	}
	return sqltext.Token{}
}

// rewrite puts the table function in the place of each reference. number
// registers a reference's scan.
func (s *survey) rewrite(number func(*reference) int64) *edited {
	var edits []edit
	for _, r := range s.references {
		with := scanFunction + "(" + itoa(int(number(r))) + ")"
		if r.alias == "" {
			with += " AS " + quoteName(r.name())
		}
		edits = append(append(edits, edit{r.from, r.to, with}), r.at...)
		i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == r.from })
		if i > 0 && s.tokens[i-1].Is("TABLE") { // TABLE takes a name alone
			edits = append(edits, edit{s.tokens[i-1].Start, s.tokens[i-1].End(), "FROM"})
		}
	}
	return s.source.apply(append(edits, s.unqualify()...))
}

// unqualify takes the database from columns named database.table.column, as
// DuckDB knows the table alone.
func (s *survey) unqualify() []edit {
	var edits []edit
	for _, n := range s.qualified {
		names := n.texts("column_names")
		named := slices.ContainsFunc(s.references, func(r *reference) bool {
			return r.alias == "" && strings.EqualFold(r.scan.table.Name().Database, names[0]) && strings.EqualFold(r.name(), names[1])
		})
		hidden := slices.ContainsFunc(s.references, func(r *reference) bool { return strings.EqualFold(r.visible(), names[0]) })
		at := n.location()
		i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == at })
		if named && !hidden && i >= 0 && s.token(i).Name() == names[0] && s.token(i+1).Is(".") {
			edits = append(edits, edit{s.token(i).Start, s.token(i + 2).Start, ""})
		}
	}
	return edits
}
