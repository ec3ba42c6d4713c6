//go:build cgo && !tarn_nosql

package tarnsql

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/types"
)

// Predicates are taken from WHERE, and from ON of inner joins, for tables that
// stand below inner joins alone, and only where every operator is known and
// means the same to DuckDB. They save reading; DuckDB filters again.

// entry is one source of rows in a FROM.
type entry struct {
	ref  *reference // nil for what is no table of ours
	push bool
}

// from is the FROM of one SELECT.
type from struct {
	entries    []entry
	conditions []node
}

// push gives each reference the predicate that its rows have to fulfil.
func (s *survey) push(zone string) {
	for _, sel := range s.selects {
		f := &from{}
		f.collect(s, sel.child("from_table"), true)
		if where := sel.child("where_clause"); where != nil {
			f.conditions = append(f.conditions, where)
		}
		for _, e := range f.entries {
			if e.push {
				e.ref.scan.where = f.predicate(e.ref, zone)
			}
		}
	}
}

func (f *from) collect(s *survey, n node, inner bool) {
	switch n.text("type") {
	case "EMPTY":
	case "JOIN":
		plain := slices.Contains([]string{"REGULAR", "CROSS", "NATURAL"}, n.text("ref_type")) && n.text("join_type") == "INNER"
		inner = inner && plain
		f.collect(s, n.child("left"), inner)
		f.collect(s, n.child("right"), inner)
		if c := n.child("condition"); inner && c != nil {
			f.conditions = append(f.conditions, c)
		}
	case "BASE_TABLE":
		if r := s.of[n.location()]; r != nil {
			f.entries = append(f.entries, entry{r, inner && !r.sampled && !r.renamed})
			return
		}
		fallthrough
	default:
		f.entries = append(f.entries, entry{})
	}
}

// predicate is what the conditions say about r; nil for nothing.
func (f *from) predicate(r *reference, zone string) expr.Expr {
	p := &predicates{f, r, zone}
	var out expr.And
	for _, c := range f.conditions {
		if e, _ := p.convert(c); e != nil {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if _, err := expr.Bind(out, r.scan.fields); err != nil {
		return nil // DuckDB says what is wrong, or knows better
	}
	return out
}

// predicates converts expressions to predicates on the columns of ref.
type predicates struct {
	*from
	ref  *reference
	zone string
}

// convert returns what n implies, nil for nothing; exact tells that it is n itself.
func (p *predicates) convert(n node) (e expr.Expr, exact bool) {
	switch n.text("type") {
	case "CONJUNCTION_AND":
		return p.and(n.list("children"))
	case "CONJUNCTION_OR":
		return p.or(n.list("children"))
	case "OPERATOR_NOT":
		if list := n.list("children"); len(list) == 1 {
			if e, exact := p.convert(asNode(list[0])); e != nil && exact {
				return expr.Not{Child: e}, true
			}
		}
		return nil, false
	}
	e = p.test(n)
	return e, e != nil
}

func (p *predicates) and(list []any) (expr.Expr, bool) {
	var out expr.And
	exact := true
	for _, c := range list {
		e, ok := p.convert(asNode(c))
		if e != nil {
			out = append(out, e)
		}
		exact = exact && ok
	}
	if out == nil {
		return nil, false
	}
	return out, exact
}

func (p *predicates) or(list []any) (expr.Expr, bool) {
	var out expr.Or
	exact := true
	for _, c := range list {
		e, ok := p.convert(asNode(c))
		if e == nil {
			return nil, false
		}
		out = append(out, e)
		exact = exact && ok
	}
	return out, exact
}

var comparisons = map[string]struct{ op, mirrored expr.Op }{
	"COMPARE_EQUAL": {expr.Eq, expr.Eq}, "COMPARE_NOTEQUAL": {expr.Ne, expr.Ne},
	"COMPARE_LESSTHAN": {expr.Lt, expr.Gt}, "COMPARE_GREATERTHAN": {expr.Gt, expr.Lt},
	"COMPARE_LESSTHANOREQUALTO": {expr.Le, expr.Ge}, "COMPARE_GREATERTHANOREQUALTO": {expr.Ge, expr.Le},
}

// test converts a test of one column against literals; nil when it is none.
func (p *predicates) test(n node) expr.Expr {
	children := n.list("children")
	switch kind := n.text("type"); kind {
	case "COLUMN_REF":
		if f, ok := p.column(n); ok && f.Type.Root == types.Boolean {
			return expr.Compare{Column: f.Name, Op: expr.Eq, Value: true}
		}
	case "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
		"COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO":
		op := comparisons[kind]
		if e := p.compare(n.child("left"), op.op, n.child("right")); e != nil {
			return e
		}
		return p.compare(n.child("right"), op.mirrored, n.child("left"))
	case "COMPARE_BETWEEN":
		lo, hi := p.compare(n.child("input"), expr.Ge, n.child("lower")), p.compare(n.child("input"), expr.Le, n.child("upper"))
		if lo != nil && hi != nil {
			return expr.And{lo, hi}
		}
	case "COMPARE_IN", "COMPARE_NOT_IN":
		if e := p.in(children); e != nil {
			if kind == "COMPARE_NOT_IN" {
				return expr.Not{Child: e}
			}
			return e
		}
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		if len(children) != 1 {
			return nil
		}
		if f, ok := p.column(asNode(children[0])); ok {
			if kind == "OPERATOR_IS_NULL" {
				return expr.IsNull{Column: f.Name}
			}
			return expr.Not{Child: expr.IsNull{Column: f.Name}}
		}
	case "FUNCTION":
		return p.like(n, children)
	}
	return nil
}

func (p *predicates) compare(column node, op expr.Op, value node) expr.Expr {
	f, ok := p.column(column)
	if !ok {
		return nil
	}
	v, ok := literal(f.Type, value, p.zone)
	if !ok {
		return nil
	}
	return expr.Compare{Column: f.Name, Op: op, Value: v}
}

func (p *predicates) in(children []any) expr.Expr {
	if len(children) < 2 {
		return nil
	}
	f, ok := p.column(asNode(children[0]))
	if !ok {
		return nil
	}
	var values []types.Value
	for _, c := range children[1:] {
		v, ok := literal(f.Type, asNode(c), p.zone)
		if !ok {
			return nil
		}
		values = append(values, v)
	}
	return expr.In{Column: f.Name, Values: values}
}

func (p *predicates) like(n node, children []any) expr.Expr {
	name := n.text("function_name")
	if len(children) != 2 || n.text("schema") != "" {
		return nil
	}
	f, ok := p.column(asNode(children[0]))
	if !ok || !f.Type.IsString() {
		return nil
	}
	v, ok := literal(f.Type, asNode(children[1]), p.zone)
	pattern, isText := v.(string)
	if !ok || !isText {
		return nil
	}
	head, isPrefix := strings.CutSuffix(pattern, "%")
	if strings.ContainsAny(head, `%_\`) {
		return nil
	}
	var e expr.Expr = expr.Compare{Column: f.Name, Op: expr.Eq, Value: head}
	if isPrefix {
		e = expr.Prefix{Column: f.Name, Prefix: head}
	}
	switch name {
	case "~~":
		return e
	case "!~~":
		return expr.Not{Child: e}
	}
	return nil
}

// column finds the column of ref that n names; not when n may name another's.
func (p *predicates) column(n node) (types.Field, bool) {
	names := n.texts("column_names")
	if n.text("type") != "COLUMN_REF" {
		return types.Field{}, false
	}
	switch len(names) {
	case 1:
		found := 0
		for _, e := range p.entries {
			if e.ref == nil {
				return types.Field{}, false
			}
			if _, ok := e.ref.field(names[0]); ok {
				found++
			}
		}
		if found != 1 {
			return types.Field{}, false
		}
	case 2:
		if !strings.EqualFold(names[0], p.ref.visible()) {
			return types.Field{}, false
		}
	default:
		return types.Field{}, false
	}
	return p.ref.field(names[len(names)-1])
}

// field finds a column as DuckDB does, in any case.
func (r *reference) field(name string) (types.Field, bool) {
	var out types.Field
	found := 0
	for _, f := range r.scan.fields {
		if strings.EqualFold(f.Name, name) {
			out = f
			found++
		}
	}
	return out, found == 1
}
