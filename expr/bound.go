package expr

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Bound is a predicate bound to columns: names resolved, literals converted to
// the columns' types, negations pushed to the leaves. Immutable and safe for
// concurrent use. A nil *Bound is the predicate that is always true.
//
// FLOAT and DOUBLE compare as SQL engines do: −0.0 equals 0.0, NaN equals NaN
// and is greater than every other value.
type Bound struct{ root node }

// node is a bound predicate. Leaves hold their own negation, so a node only
// needs to know for which rows it is true; null and false need no telling apart.
type node interface {
	// columns calls yield for every column the node reads.
	columns(yield func(string))
	// project returns what the node implies about the kept columns, nil for nothing.
	project(keep func(string) bool) node
	// rename returns the node with its columns renamed.
	rename(to func(string) string) node
	mayMatch(s StatsLookup, rows int64) bool
	match(row func(string) types.Value) bool
	masker
}

type (
	and      []node
	or       []node
	constant bool
	// cmp is column op value; value is never nil.
	cmp struct {
		field types.Field
		op    Op
		value types.Value
	}
	// in is column IN values, or NOT IN; values are sorted, not nil, and distinct.
	in struct {
		field  types.Field
		values []types.Value
		neg    bool
		set    *members
	}
	isNull struct {
		field types.Field
		neg   bool
	}
	prefix struct {
		field  types.Field
		prefix string
		neg    bool
	}
)

// Bind resolves e against fields. It fails with Invalid when a column does not
// exist, or a literal or an operator does not fit the column's type. A nil e binds to nil.
func Bind(e Expr, fields []types.Field) (*Bound, error) {
	if e == nil {
		return nil, nil
	}
	root, err := bind(e, fields, false)
	if err != nil {
		return nil, err
	}
	return &Bound{root}, nil
}

// All is the conjunction of several predicates; nil ones count as true.
func All(bs ...*Bound) *Bound {
	var out and
	for _, b := range bs {
		if b != nil {
			out = append(out, b.root)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return &Bound{out[0]}
	}
	return &Bound{out}
}

// Columns are the distinct columns the predicate reads, sorted.
func (b *Bound) Columns() []string {
	if b == nil {
		return nil
	}
	var out []string
	b.root.columns(func(c string) { out = append(out, c) })
	slices.Sort(out)
	return slices.Compact(out)
}

// Project returns the strongest predicate over the kept columns that b implies,
// nil when it implies nothing. Rows that match b match its projection.
func (b *Bound) Project(keep func(column string) bool) *Bound {
	if b == nil {
		return nil
	}
	if n := b.root.project(keep); n != nil {
		return &Bound{n}
	}
	return nil
}

// Rename returns b with its columns renamed.
func (b *Bound) Rename(to func(column string) string) *Bound {
	if b == nil {
		return nil
	}
	return &Bound{b.root.rename(to)}
}

// Conjuncts splits b at its top-level ANDs.
func (b *Bound) Conjuncts() []*Bound {
	if b == nil {
		return nil
	}
	var out []*Bound
	var walk func(node)
	walk = func(n node) {
		if a, ok := n.(and); ok {
			for _, c := range a {
				walk(c)
			}
			return
		}
		out = append(out, &Bound{n})
	}
	walk(b.root)
	return out
}

// Points returns the values column must have for b to be true, when b limits it
// to finitely many by = or IN at its top level. Bucket pruning hashes them.
func (b *Bound) Points(column string) ([]types.Value, bool) {
	for _, c := range b.Conjuncts() {
		switch n := c.root.(type) {
		case cmp:
			if n.field.Name == column && n.op == Eq {
				return []types.Value{n.value}, true
			}
		case in:
			if n.field.Name == column && !n.neg {
				return n.values, true
			}
		}
	}
	return nil, false
}

func bind(e Expr, fields []types.Field, neg bool) (node, error) {
	switch e := e.(type) {
	case And:
		return bindList(e, fields, neg, !neg)
	case Or:
		return bindList(e, fields, neg, neg)
	case Not:
		return bind(e.Child, fields, !neg)
	case Compare:
		f, err := column(fields, e.Column)
		if err != nil {
			return nil, err
		}
		op := e.Op
		if neg {
			op = negated[op]
		}
		return bindCompare(f, op, e.Value)
	case In:
		f, err := column(fields, e.Column)
		if err != nil {
			return nil, err
		}
		return bindIn(f, e.Values, neg)
	case IsNull:
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == e.Column })
		if i < 0 {
			return nil, noColumn(fields, e.Column)
		}
		return isNull{fields[i], neg}, nil
	case Prefix:
		f, err := column(fields, e.Column)
		if err != nil {
			return nil, err
		}
		if !f.Type.IsString() {
			return nil, tarnerr.New(tarnerr.Invalid, "binding predicate", "LIKE needs a string column",
				"column", f.Name, "type", f.Type)
		}
		return prefix{f, e.Prefix, neg}, nil
	}
	return nil, tarnerr.New(tarnerr.Invalid, "binding predicate", "empty predicate")
}

var negated = [...]Op{Eq: Ne, Ne: Eq, Lt: Ge, Le: Gt, Gt: Le, Ge: Lt}

func bindList(children []Expr, fields []types.Field, neg, conjunction bool) (node, error) {
	nodes := make([]node, len(children))
	for i, c := range children {
		n, err := bind(c, fields, neg)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	if conjunction {
		return and(nodes), nil
	}
	return or(nodes), nil
}

func column(fields []types.Field, name string) (types.Field, error) {
	for _, f := range fields {
		if f.Name == name {
			if f.Type.IsNested() {
				return f, tarnerr.New(tarnerr.Invalid, "binding predicate", "column of a nested type can only be tested for null",
					"column", name, "type", f.Type)
			}
			return f, nil
		}
	}
	return types.Field{}, noColumn(fields, name)
}

func noColumn(fields []types.Field, name string) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return tarnerr.New(tarnerr.Invalid, "binding predicate", "no such column", "column", name).
		WithHint("The columns are %s.", strings.Join(names, ", "))
}

func (n and) columns(yield func(string)) {
	for _, c := range n {
		c.columns(yield)
	}
}
func (n or) columns(yield func(string))           { and(n).columns(yield) }
func (constant) columns(func(string))             {}
func (n cmp) columns(yield func(string))          { yield(n.field.Name) }
func (n in) columns(yield func(string))           { yield(n.field.Name) }
func (n isNull) columns(yield func(string))       { yield(n.field.Name) }
func (n prefix) columns(yield func(string))       { yield(n.field.Name) }
func (n constant) project(func(string) bool) node { return n }

func (n and) project(keep func(string) bool) node {
	var out and
	for _, c := range n {
		if p := c.project(keep); p != nil {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (n or) project(keep func(string) bool) node {
	out := make(or, 0, len(n))
	for _, c := range n {
		p := c.project(keep)
		if p == nil {
			return nil
		}
		out = append(out, p)
	}
	return out
}

func (n cmp) project(keep func(string) bool) node    { return leaf(n, n.field, keep) }
func (n in) project(keep func(string) bool) node     { return leaf(n, n.field, keep) }
func (n isNull) project(keep func(string) bool) node { return leaf(n, n.field, keep) }
func (n prefix) project(keep func(string) bool) node { return leaf(n, n.field, keep) }

func leaf(n node, f types.Field, keep func(string) bool) node {
	if keep(f.Name) {
		return n
	}
	return nil
}

func (n and) rename(to func(string) string) node {
	out := make(and, len(n))
	for i, c := range n {
		out[i] = c.rename(to)
	}
	return out
}
func (n or) rename(to func(string) string) node     { return or(and(n).rename(to).(and)) }
func (n constant) rename(func(string) string) node  { return n }
func (n cmp) rename(to func(string) string) node    { n.field.Name = to(n.field.Name); return n }
func (n in) rename(to func(string) string) node     { n.field.Name = to(n.field.Name); return n }
func (n isNull) rename(to func(string) string) node { n.field.Name = to(n.field.Name); return n }
func (n prefix) rename(to func(string) string) node { n.field.Name = to(n.field.Name); return n }
