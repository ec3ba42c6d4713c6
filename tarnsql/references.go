//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// reference is a name in a query that stands for a table, and not for a CTE.
type reference struct {
	parts    []string // catalog, database and table, from the right as far as written
	alias    string   // as written; "" for none
	renamed  bool     // its columns have other names
	sampled  bool
	travel   *travel // AT (…), nil for the latest state
	from, to int     // bytes of the text that name it
	at       []edit  // takes AT (…) away
	scan     *scan
	catalog  string
	pinned   int64  // snapshot that is read, 0 when there is none
	columns  []node // items of SELECT lists that it is in a subquery of, from the outside
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
	counts     []counting         // items of a query that only counts rows
	err        error
}

func examine(source *edited, tree node) (*survey, error) {
	s := &survey{source: source, tokens: sqltext.Lex(source.text), of: map[int]*reference{}}
	s.walk(map[string]any(tree), sight{})
	slices.SortFunc(s.references, func(a, b *reference) int { return a.from - b.from }) // the tree has no order
	return s, s.err
}

// sight is what a part of a query lies below.
type sight struct {
	ctes    []string // names of CTEs, in lower case
	columns []node   // items of SELECT lists
}

func (in sight) withCTE(name string) sight {
	in.ctes = append(slices.Clip(in.ctes), strings.ToLower(name))
	return in
}

func (in sight) withColumn(item any) sight {
	in.columns = append(slices.Clip(in.columns), asNode(item))
	return in
}

// walk visits v.
func (s *survey) walk(v any, in sight) {
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			s.walk(c, in)
		}
	case map[string]any:
		n := node(v)
		if m := n.child("cte_map"); m != nil {
			in = s.walkCTEs(m, in)
		}
		switch n.text("type") {
		case "BASE_TABLE":
			s.refer(n, in)
			return
		case "SELECT_NODE":
			s.selects = append(s.selects, n)
			for _, item := range n.list("select_list") {
				s.walk(item, in.withColumn(item))
			}
		case "TABLE_FUNCTION":
			s.call(n)
		case "FUNCTION":
			s.compute(n)
		case "SHOW_REF":
			s.show(n)
		case "RECURSIVE_CTE_NODE":
			in = in.withCTE(n.text("cte_name"))
		case "COLUMN_REF":
			if len(n.texts("column_names")) > 2 {
				s.qualified = append(s.qualified, n)
			}
			return
		}
		for key, c := range v {
			if key != "cte_map" && key != "select_list" {
				s.walk(c, in)
			}
		}
	}
}

// walkCTEs visits the CTEs of a query, each of which sees those before it, and
// adds their names to what the query sees.
func (s *survey) walkCTEs(m node, in sight) sight {
	for _, entry := range m.list("map") {
		e := asNode(entry)
		s.walk(e["value"], in)
		in = in.withCTE(e.text("key"))
	}
	return in
}

func (s *survey) refer(n node, in sight) {
	r := &reference{alias: n.text("alias"), renamed: len(n.list("column_name_alias")) > 0, sampled: n["sample"] != nil, columns: in.columns}
	for _, key := range []string{"catalog_name", "schema_name", "table_name"} {
		if p := n.text(key); p != "" {
			r.parts = append(r.parts, p)
		}
	}
	if len(r.parts) == 1 && slices.Contains(in.ctes, strings.ToLower(r.parts[0])) {
		return
	}
	at := n.location()
	if clause := n.child("at_clause"); clause != nil {
		r.travel = &travel{unit: clause.text("unit"), value: clause.child("expr")}
		s.walk(clause["expr"], in)
	}
	if !s.extent(r, at) {
		s.refuse(at, tarnerr.New(tarnerr.Unsupported, "reading query", "a table named in this place", "table", strings.Join(r.parts, ".")))
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

// extent finds the tokens that name the table: its parts, then AT (…) where it has one.
func (s *survey) extent(r *reference, at int) bool {
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
	if r.travel == nil {
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
	if !s.token(i).Is("AT") || !s.token(i+3).Is("=>") || end == len(s.tokens) || end < i+5 {
		return false
	}
	r.travel.from, r.travel.to = s.tokens[i+4].Start, s.tokens[end-1].End()
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

// counting is count(*) as it stands in the text.
type counting struct {
	from, to int
	named    bool // it has an alias
}

// count finds the table of a query that is SELECT count(*) FROM it, and no more: the
// rows of most files are known without a look at them.
func (s *survey) count(tree node) {
	sel := tree.child("node")
	if len(s.references) != 1 || len(s.selects) != 1 || sel.text("type") != "SELECT_NODE" {
		return
	}
	r := s.references[0]
	from := sel.child("from_table")
	if r.scan.system || from.text("type") != "BASE_TABLE" || from.location() != r.from || r.renamed || r.sampled || len(sel.list("modifiers")) > 0 ||
		len(sel.list("group_expressions")) > 0 || len(sel.list("group_sets")) > 0 { // GROUP BY () is a set without expressions
		return
	}
	for _, part := range []string{"where_clause", "having", "qualify", "sample"} {
		if sel[part] != nil {
			return
		}
	}
	var counts []counting
	for _, item := range sel.list("select_list") {
		f := asNode(item)
		if f.text("class") != "FUNCTION" || f.text("function_name") != "count_star" || f["filter"] != nil || len(f.child("order_bys").list("orders")) > 0 {
			return
		}
		at := f.location()
		i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == at })
		if i < 0 || !s.tokens[i].Is("COUNT") || !s.token(i+1).Is("(") {
			return
		}
		end := closing(s.tokens, i+1)
		if end == len(s.tokens) {
			return
		}
		counts = append(counts, counting{at, s.tokens[end].End(), f.text("alias") != ""})
	}
	s.counts, r.scan.counted = counts, true
}

// rewrite puts the table function in the place of each reference. number
// registers a reference's scan.
func (s *survey) rewrite(number func(*reference) int64) *edited {
	var edits []edit
	for _, r := range s.references {
		with := r.scan.text(number(r))
		if r.alias == "" {
			with += " AS " + quoteName(r.name())
		}
		edits = append(append(edits, edit{r.from, r.to, with}), r.at...)
		i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == r.from })
		if i > 0 && s.tokens[i-1].Is("TABLE") { // TABLE takes a name alone
			edits = append(edits, edit{s.tokens[i-1].Start, s.tokens[i-1].End(), "FROM"})
		}
	}
	for _, c := range s.counts { // n is the column of a counted scan
		with := "(" + strconv.FormatInt(s.references[0].scan.told, 10) + "::BIGINT + n)"
		if !c.named {
			with += ` AS "count_star()"`
		}
		edits = append(edits, edit{c.from, c.to, with})
	}
	return s.source.apply(append(append(edits, s.unqualify()...), s.titles()...))
}

// unqualify takes the database, and the catalog, from columns named
// database.table.column, as DuckDB knows the table alone.
func (s *survey) unqualify() []edit {
	var edits []edit
	for _, n := range s.qualified {
		written := n.texts("column_names")
		if slices.ContainsFunc(s.references, func(r *reference) bool { return strings.EqualFold(r.visible(), written[0]) }) {
			continue // table.column.member
		}
		before := 0 // names before the table's
		for _, r := range s.references {
			if r.alias == "" {
				before = max(before, r.qualifies(written))
			}
		}
		at := n.location()
		i := slices.IndexFunc(s.tokens, func(t sqltext.Token) bool { return t.Start == at })
		if before == 0 || i < 0 || s.token(i).Name() != written[0] {
			continue
		}
		edits = append(edits, edit{s.token(i).Start, s.token(i + 2*before).Start, ""})
	}
	return edits
}

// qualifies is how many names stand before the table's where a column is written
// with r's database, or with its catalog too; 0 when it is not.
func (r *reference) qualifies(written []string) int {
	full := []string{r.catalog, r.scan.table.Name().Database, r.name()}
	for before := len(full) - 1; before > 0; before-- {
		part := full[len(full)-1-before:]
		if len(written) > len(part) && slices.EqualFunc(written[:len(part)], part, strings.EqualFold) {
			return before
		}
	}
	return 0
}
