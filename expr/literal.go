package expr

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Number is a numeric literal in text, kept exact: "1.50", "-3", "1e9".
type Number string

// literal is a value of a column's type, or where the true literal lies when
// the type has no such value.
type literal struct {
	value types.Value // the greatest value of the type that is ≤ the literal
	exact bool        // value is the literal itself
	below bool        // the literal is less than every value of the type
	above bool        // the literal is greater than every value of the type
}

func bindCompare(f types.Field, op Op, v types.Value) (node, error) {
	if v == nil {
		return constant(false), nil // comparison with null is never true
	}
	lit, err := convert(f, v)
	if err != nil {
		return nil, err
	}
	switch {
	case lit.below:
		op = map[Op]Op{Eq: never, Lt: never, Le: never, Ne: always, Gt: always, Ge: always}[op]
	case lit.above:
		op = map[Op]Op{Eq: never, Gt: never, Ge: never, Ne: always, Lt: always, Le: always}[op]
	case !lit.exact:
		op = map[Op]Op{Eq: never, Ne: always, Lt: Le, Le: Le, Gt: Gt, Ge: Gt}[op]
	}
	switch op {
	case never:
		return constant(false), nil
	case always:
		return isNull{f, true}, nil
	}
	return cmp{f, op, lit.value}, nil
}

const (
	never  Op = 100 // true for no row
	always Op = 101 // true for every row that is not null
)

func bindIn(f types.Field, vs []types.Value, neg bool) (node, error) {
	if len(vs) == 0 {
		return constant(neg), nil // nothing is in an empty list, null neither
	}
	var out []types.Value
	for _, v := range vs {
		if v == nil {
			if neg {
				return constant(false), nil // x NOT IN (…, NULL) is never true
			}
			continue
		}
		lit, err := convert(f, v)
		if err != nil {
			return nil, err
		}
		if lit.exact {
			out = append(out, lit.value)
		}
	}
	if len(out) == 0 {
		if neg {
			return isNull{f, true}, nil
		}
		return constant(false), nil
	}
	slices.SortFunc(out, func(a, b types.Value) int { return compare(f.Type, a, b) })
	out = slices.CompactFunc(out, func(a, b types.Value) bool { return compare(f.Type, a, b) == 0 })
	return in{f, out, neg, newMembers(out)}, nil
}

// compare orders two values of t as predicates do; it differs from
// types.Compare only in that −0.0 equals 0.0.
func compare(t types.Type, a, b types.Value) int {
	switch t.Root {
	case types.Float:
		return compareFloat(float64(a.(float32)), float64(b.(float32)))
	case types.Double:
		return compareFloat(a.(float64), b.(float64))
	}
	return types.Compare(t, a, b)
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	}
	return -1
}

func convert(f types.Field, v types.Value) (literal, error) {
	exact := func(v types.Value) (literal, error) { return literal{value: v, exact: true}, nil }
	t := f.Type
	switch t.Root {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		if r, ok := rational(v); ok {
			return integral(r, 0, integerMin[t.Root], integerMax[t.Root], func(u *big.Int) types.Value { return u.Int64() }), nil
		}
	case types.Decimal:
		if d, ok := v.(decimal128.Num); ok {
			return exact(d)
		}
		if r, ok := rational(v); ok {
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
			limit.Sub(limit, big.NewInt(1))
			return integral(r, t.Scale, new(big.Int).Neg(limit), limit, func(u *big.Int) types.Value { return decimal128.FromBigInt(u) }), nil
		}
	case types.Float, types.Double:
		if x, ok := float(v); ok {
			if t.Root == types.Float {
				return exact(float32(x))
			}
			return exact(x)
		}
	case types.Boolean:
		switch v := v.(type) {
		case bool:
			return exact(v)
		case string:
			if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
				return exact(b)
			}
		}
	case types.Char, types.VarChar:
		if s, ok := v.(string); ok {
			return exact(s)
		}
	case types.Date, types.Time:
		if d, ok := v.(int32); ok {
			return exact(d)
		}
		return parsed(f, v)
	case types.Timestamp, types.TimestampLTZ:
		if i, ok := v.(types.Instant); ok {
			return exact(i)
		}
		return parsed(f, v)
	default:
		if b, ok := v.([]byte); ok {
			return exact(b)
		}
		return parsed(f, v)
	}
	return literal{}, badLiteral(f, v)
}

// parsed reads the canonical text of a value. Timestamps are read at full
// precision, so that a literal finer than the column still compares right.
func parsed(f types.Field, v types.Value) (literal, error) {
	s, ok := v.(string)
	if !ok {
		return literal{}, badLiteral(f, v)
	}
	t := f.Type
	if t.Root == types.Timestamp || t.Root == types.TimestampLTZ {
		t.Precision = 9
	}
	out, err := types.ParseValue(t, s)
	if err != nil {
		return literal{}, tarnerr.Wrap(tarnerr.Invalid, "binding predicate", err, "column", f.Name)
	}
	return literal{value: out, exact: true}, nil
}

func badLiteral(f types.Field, v types.Value) error {
	return tarnerr.New(tarnerr.Invalid, "binding predicate", "literal does not fit the column",
		"column", f.Name, "type", f.Type, "literal", fmt.Sprintf("%v", v))
}

var (
	integerMin = map[types.Root]*big.Int{
		types.TinyInt: big.NewInt(math.MinInt8), types.SmallInt: big.NewInt(math.MinInt16),
		types.Int: big.NewInt(math.MinInt32), types.BigInt: big.NewInt(math.MinInt64),
	}
	integerMax = map[types.Root]*big.Int{
		types.TinyInt: big.NewInt(math.MaxInt8), types.SmallInt: big.NewInt(math.MaxInt16),
		types.Int: big.NewInt(math.MaxInt32), types.BigInt: big.NewInt(math.MaxInt64),
	}
)

// integral places r on the grid of values u·10^−scale with lo ≤ u ≤ hi.
func integral(r *big.Rat, scale int, lo, hi *big.Int, value func(*big.Int) types.Value) literal {
	num := new(big.Int).Mul(r.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	u, rem := new(big.Int).DivMod(num, r.Denom(), new(big.Int)) // Euclidean: floor, as the denominator is positive
	switch {
	case u.Cmp(lo) < 0:
		return literal{below: true}
	case u.Cmp(hi) > 0, u.Cmp(hi) == 0 && rem.Sign() != 0:
		return literal{above: true}
	}
	return literal{value: value(u), exact: rem.Sign() == 0}
}

// maxLiteral bounds the text of a number, so that "1e999999999" costs nothing.
const maxLiteral = 100

func rational(v types.Value) (*big.Rat, bool) {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v)), true
	case int8:
		return new(big.Rat).SetInt64(int64(v)), true
	case int16:
		return new(big.Rat).SetInt64(int64(v)), true
	case int32:
		return new(big.Rat).SetInt64(int64(v)), true
	case int64:
		return new(big.Rat).SetInt64(v), true
	case uint64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v)), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case Number:
		return rationalText(string(v))
	case string:
		return rationalText(v)
	}
	return nil, false
}

func rationalText(s string) (*big.Rat, bool) {
	if len(s) > maxLiteral || strings.ContainsAny(s, "/_xXpPbBoO") {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(s[i+1:]); err != nil || exp < -400 || exp > 400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

func float(v types.Value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case Number:
		return floatText(string(v))
	case string:
		return floatText(v)
	}
	if r, ok := rational(v); ok {
		x, _ := r.Float64()
		return x, true
	}
	return 0, false
}

func floatText(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}
