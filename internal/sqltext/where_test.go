package sqltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestParseWhere(t *testing.T) {
	for text, want := range map[string]expr.Expr{
		"a = 1":                  expr.Compare{Column: "a", Op: expr.Eq, Value: expr.Number("1")},
		"a<>-1.5e3":              expr.Compare{Column: "a", Op: expr.Ne, Value: expr.Number("-1.5e3")},
		"1 < a":                  expr.Compare{Column: "a", Op: expr.Gt, Value: expr.Number("1")},
		"`a``b` >= 'it''s'":      expr.Compare{Column: "a`b", Op: expr.Ge, Value: "it's"},
		`"odd name" is not null`: expr.Not{Child: expr.IsNull{Column: "odd name"}},
		"a in (1, null, 'x')":    expr.In{Column: "a", Values: []types.Value{expr.Number("1"), nil, "x"}},
		"a NOT IN (TRUE)":        expr.Not{Child: expr.In{Column: "a", Values: []types.Value{true}}},
		"s like 'ab%'":           expr.Prefix{Column: "s", Prefix: "ab"},
		"s not like 'ab'":        expr.Not{Child: expr.Compare{Column: "s", Op: expr.Eq, Value: "ab"}},
		"d between date '2024-01-01' and '2024-02-01'": expr.And{
			expr.Compare{Column: "d", Op: expr.Ge, Value: "2024-01-01"},
			expr.Compare{Column: "d", Op: expr.Le, Value: "2024-02-01"},
		},
		"date = x'00ff'": expr.Compare{Column: "date", Op: expr.Eq, Value: []byte{0, 255}},
		"a = 1 or b = 2 and not (c = 3)": expr.Or{
			expr.Compare{Column: "a", Op: expr.Eq, Value: expr.Number("1")},
			expr.And{
				expr.Compare{Column: "b", Op: expr.Eq, Value: expr.Number("2")},
				expr.Not{Child: expr.Compare{Column: "c", Op: expr.Eq, Value: expr.Number("3")}},
			},
		},
		"order_id = 1": expr.Compare{Column: "order_id", Op: expr.Eq, Value: expr.Number("1")},
		"größe > 1":    expr.Compare{Column: "größe", Op: expr.Gt, Value: expr.Number("1")},
	} {
		got, err := ParseWhere(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

func TestParseWherePointsAtTheError(t *testing.T) {
	for text, mark := range map[string]string{
		"a = ":                  "^",
		"a = 1 and":             "^",
		"(a = 1":                "^",
		"a ~ 1":                 "  ^",
		"s like '%x%'":          "^",
		"a = x'zz'":             "^",
		"a = 1 b = 2":           "      ^",
		"":                      "^",
		"a = 'unterminated":     "    ^",
		strings.Repeat("(", 50): "^",
	} {
		_, err := ParseWhere(text)
		if !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !strings.Contains(err.Error(), mark) {
			t.Errorf("%q: no mark %q in\n%v", text, mark, err)
		}
	}
}

func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"a = 1", "not (a in ('x') or b is null)", "a between 1 and 2", "'", "x'00'=a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { ParseWhere(s) })
}
