package player

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var (
	conjunction = regexp.MustCompile(`(?i)\s+and\s+`)
	term        = regexp.MustCompile(`(?is)^\s*(\w+)\s*(=|!=|<=|>=|<|>|in\b|prefix\b|is not null|is null)\s*(.*?)\s*$`)
	comparisons = map[string]expr.Op{"=": expr.Eq, "!=": expr.Ne, "<": expr.Lt, "<=": expr.Le, ">": expr.Gt, ">=": expr.Ge}
)

// parseFilter reads a scenario's filter: `col OP json` joined by AND.
func parseFilter(text string, fields []types.Field) (expr.Expr, error) {
	var all expr.And
	for _, t := range conjunction.Split(text, -1) {
		m := term.FindStringSubmatch(t)
		if m == nil {
			return nil, tarnerr.New(tarnerr.Invalid, "reading filter", "not a term", "term", t)
		}
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == m[1] })
		if i < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "reading filter", "no such column", "column", m[1])
		}
		e, err := parseTerm(fields[i], strings.ToLower(m[2]), m[3])
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func parseTerm(f types.Field, op, literal string) (expr.Expr, error) {
	switch op {
	case "is null":
		return expr.IsNull{Column: f.Name}, nil
	case "is not null":
		return expr.Not{Child: expr.IsNull{Column: f.Name}}, nil
	case "in":
		list, err := decode[[]json.RawMessage](json.RawMessage(literal))
		if err != nil {
			return nil, err
		}
		in := expr.In{Column: f.Name}
		for _, v := range list {
			value, err := parseLiteral(f.Type, v)
			if err != nil {
				return nil, err
			}
			in.Values = append(in.Values, value)
		}
		return in, nil
	case "prefix":
		prefix, err := decode[string](json.RawMessage(literal))
		return expr.Prefix{Column: f.Name, Prefix: prefix}, err
	}
	value, err := parseLiteral(f.Type, json.RawMessage(literal))
	return expr.Compare{Column: f.Name, Op: comparisons[op], Value: value}, err
}

// parseLiteral reads a canonical value: a string's content or a number's text.
func parseLiteral(t types.Type, literal json.RawMessage) (types.Value, error) {
	text := string(bytes.TrimSpace(literal))
	if text == "null" {
		return nil, nil
	}
	if strings.HasPrefix(text, `"`) {
		var err error
		if text, err = decode[string](literal); err != nil {
			return nil, err
		}
	}
	return types.ParseValue(t, text)
}
