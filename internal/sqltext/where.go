package sqltext

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// ParseWhere reads a predicate:
//
//	a = 1 AND (b IN ('x', 'y') OR "odd name" IS NOT NULL) AND NOT c LIKE 'ab%' AND d BETWEEN DATE '2024-01-01' AND '2024-02-01'
//
// Names may be bare, "quoted" or in `backticks`; keywords are read in any case.
// An error is Invalid and points at its place in text.
func ParseWhere(text string) (expr.Expr, error) {
	tree, err := parser().ParseString("", text)
	if err != nil {
		var unexpected *participle.UnexpectedTokenError
		if errors.As(err, &unexpected) {
			why := "unexpected " + strconv.Quote(unexpected.Unexpected.Value)
			if unexpected.Unexpected.EOF() {
				why = "the predicate ends too early"
			}
			return nil, pointAt(text, unexpected.Position(), why)
		}
		var at participle.Error
		if errors.As(err, &at) {
			return nil, pointAt(text, at.Position(), at.Message())
		}
		return nil, tarnerr.Wrap(tarnerr.Invalid, "parsing predicate", err)
	}
	return tree.expr(text)
}

// parser is built when a predicate is read: that takes longer than starting does.
var parser = sync.OnceValue(func() *participle.Parser[disjunction] {
	return participle.MustBuild[disjunction](
		participle.Lexer(lexer.MustSimple([]lexer.SimpleRule{
			{Name: "Space", Pattern: `\s+`},
			{Name: "Bytes", Pattern: `[xX]'[^']*'`},
			{Name: "String", Pattern: `'(?:[^']|'')*'`},
			{Name: "Quoted", Pattern: `"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`"},
			{Name: "Number", Pattern: `[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`},
			{Name: "Op", Pattern: `<>|!=|<=|>=|==|[=<>]`},
			{Name: "Keyword", Pattern: `(?i:AND|OR|NOT|IN|IS|NULL|LIKE|BETWEEN|TRUE|FALSE|DATE|TIMESTAMP|TIME)\b`},
			{Name: "Ident", Pattern: `[\p{L}_][\p{L}\p{N}_$]*`},
			{Name: "Punct", Pattern: `[(),]`},
		})),
		participle.Elide("Space"),
		participle.CaseInsensitive("Keyword"),
		participle.UseLookahead(3),
	)
})

type disjunction struct {
	Terms []*conjunction `parser:"@@ ('OR' @@)*"`
}

type conjunction struct {
	Terms []*negation `parser:"@@ ('AND' @@)*"`
}

type negation struct {
	Not   *negation    `parser:"  'NOT' @@"`
	Group *disjunction `parser:"| '(' @@ ')'"`
	Test  *test        `parser:"| @@"`
}

type test struct {
	Pos     lexer.Position
	Flipped *flipped    `parser:"  @@"`
	Column  string      `parser:"| ( @Ident | @Quoted | @('DATE' | 'TIME' | 'TIMESTAMP') )"`
	Op      string      `parser:"  ( @Op"`
	Value   *value      `parser:"    @@"`
	IsNull  *nullTest   `parser:"  | @@"`
	Tail    *memberTest `parser:"  | @@ )"`
}

type flipped struct {
	Value  *value `parser:"@@"`
	Op     string `parser:"@Op"`
	Column string `parser:"( @Ident | @Quoted )"`
}

type nullTest struct {
	Not bool `parser:"'IS' @'NOT'? 'NULL'"`
}

type memberTest struct {
	Not     bool     `parser:"@'NOT'?"`
	In      []*value `parser:"(  'IN' '(' @@ (',' @@)* ')'"`
	Like    *string  `parser:" | 'LIKE' @String"`
	Between []*value `parser:" | 'BETWEEN' @@ 'AND' @@ )"`
}

type value struct {
	Number *string `parser:"  @Number"`
	Text   *string `parser:"| ('DATE' | 'TIMESTAMP' | 'TIME')? @String"`
	Bytes  *string `parser:"| @Bytes"`
	Bool   *string `parser:"| @('TRUE' | 'FALSE')"`
	Null   bool    `parser:"| @'NULL'"`
}

func (d *disjunction) expr(text string) (expr.Expr, error) {
	out := make(expr.Or, len(d.Terms))
	for i, t := range d.Terms {
		e, err := t.expr(text)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

func (c *conjunction) expr(text string) (expr.Expr, error) {
	out := make(expr.And, len(c.Terms))
	for i, t := range c.Terms {
		e, err := t.expr(text)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

func (n *negation) expr(text string) (expr.Expr, error) {
	switch {
	case n.Not != nil:
		e, err := n.Not.expr(text)
		if err != nil {
			return nil, err
		}
		return expr.Not{Child: e}, nil
	case n.Group != nil:
		return n.Group.expr(text)
	}
	return n.Test.expr(text)
}

func (t *test) expr(text string) (expr.Expr, error) {
	if f := t.Flipped; f != nil {
		v, err := f.Value.literal(text, t.Pos)
		if err != nil {
			return nil, err
		}
		return expr.Compare{Column: unquote(f.Column), Op: mirror[operators[f.Op]], Value: v}, nil
	}
	column := unquote(t.Column)
	switch {
	case t.Value != nil:
		v, err := t.Value.literal(text, t.Pos)
		if err != nil {
			return nil, err
		}
		return expr.Compare{Column: column, Op: operators[t.Op], Value: v}, nil
	case t.IsNull != nil:
		return negate(t.IsNull.Not, expr.IsNull{Column: column}), nil
	}
	return t.Tail.expr(text, t.Pos, column)
}

func (m *memberTest) expr(text string, pos lexer.Position, column string) (expr.Expr, error) {
	switch {
	case m.Like != nil:
		pattern := unquote(*m.Like)
		head, isPrefix := strings.CutSuffix(pattern, "%")
		if strings.ContainsAny(head, `%_\`) {
			return nil, pointAt(text, pos, "LIKE with a pattern other than 'prefix%'")
		}
		if isPrefix {
			return negate(m.Not, expr.Prefix{Column: column, Prefix: head}), nil
		}
		return negate(m.Not, expr.Compare{Column: column, Op: expr.Eq, Value: head}), nil
	case m.Between != nil:
		lo, err := m.Between[0].literal(text, pos)
		if err != nil {
			return nil, err
		}
		hi, err := m.Between[1].literal(text, pos)
		if err != nil {
			return nil, err
		}
		return negate(m.Not, expr.And{
			expr.Compare{Column: column, Op: expr.Ge, Value: lo},
			expr.Compare{Column: column, Op: expr.Le, Value: hi},
		}), nil
	}
	values := make([]types.Value, len(m.In))
	for i, v := range m.In {
		lit, err := v.literal(text, pos)
		if err != nil {
			return nil, err
		}
		values[i] = lit
	}
	return negate(m.Not, expr.In{Column: column, Values: values}), nil
}

func negate(not bool, e expr.Expr) expr.Expr {
	if not {
		return expr.Not{Child: e}
	}
	return e
}

func (v *value) literal(text string, pos lexer.Position) (types.Value, error) {
	switch {
	case v.Number != nil:
		return expr.Number(*v.Number), nil
	case v.Text != nil:
		return unquote(*v.Text), nil
	case v.Bool != nil:
		return strings.EqualFold(*v.Bool, "true"), nil
	case v.Bytes != nil:
		b, err := hex.DecodeString((*v.Bytes)[2 : len(*v.Bytes)-1])
		if err != nil {
			return nil, pointAt(text, pos, "bytes literal is not hexadecimal")
		}
		return b, nil
	}
	return nil, nil
}

// unquote removes the quotes of a name or string and their doubling inside.
func unquote(s string) string {
	if len(s) < 2 {
		return s
	}
	q := s[:1]
	if q != "'" && q != `"` && q != "`" {
		return s
	}
	return strings.ReplaceAll(s[1:len(s)-1], q+q, q)
}

var operators = map[string]expr.Op{
	"=": expr.Eq, "==": expr.Eq, "!=": expr.Ne, "<>": expr.Ne,
	"<": expr.Lt, "<=": expr.Le, ">": expr.Gt, ">=": expr.Ge,
}

// mirror turns "literal op column" into "column op literal".
var mirror = map[expr.Op]expr.Op{
	expr.Eq: expr.Eq, expr.Ne: expr.Ne, expr.Lt: expr.Gt, expr.Le: expr.Ge, expr.Gt: expr.Lt, expr.Ge: expr.Le,
}

// pointAt shows the line of text that holds pos with a mark below the place.
func pointAt(text string, pos lexer.Position, why string) error {
	lines := strings.Split(text, "\n")
	if pos.Line >= 1 && pos.Line <= len(lines) {
		why += "\n  " + lines[pos.Line-1] + "\n  " + strings.Repeat(" ", max(pos.Column-1, 0)) + "^"
	}
	return tarnerr.New(tarnerr.Invalid, "parsing predicate", why).
		WithHint("A predicate compares columns with values, such as id > 5 AND name LIKE 'a%%'.")
}
