package cast

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// fromNumber has the rules of integers, floats and decimals.
func fromNumber(from, to types.Type) rule {
	switch {
	case isPrimitive(to):
		if from.Root == types.Decimal {
			return func(v types.Value) (types.Value, error) { return decimalNumber(v.(decimal128.Num), from, to), nil }
		}
		return func(v types.Value) (types.Value, error) { return number(v, to.Root), nil }
	case to.Root == types.Decimal:
		switch {
		case from.Root == types.Decimal:
			return func(v types.Value) (types.Value, error) {
				return fitDecimal(v.(decimal128.Num).BigInt(), int64(from.Scale), to), nil
			}
		case from.IsInteger():
			return func(v types.Value) (types.Value, error) { return fitDecimal(big.NewInt(v.(int64)), 0, to), nil }
		}
		// By the digits that the double shows.
		return func(v types.Value) (types.Value, error) { return textDecimal(floatText(v, true), to) }
	case to.IsString():
		return func(v types.Value) (types.Value, error) { return fitText(numberText(v, from), to), nil }
	case to.Root == types.Boolean && from.IsInteger():
		return func(v types.Value) (types.Value, error) { return v.(int64) != 0, nil }
	case isInstant(to) && (from.Root == types.Int || from.Root == types.BigInt):
		return func(v types.Value) (types.Value, error) { return types.Instant{Millis: v.(int64) * 1000}, nil }
	}
	return nil
}

func fromBoolean(to types.Type) rule {
	switch {
	case isPrimitive(to):
		return func(v types.Value) (types.Value, error) { return number(bit(v), to.Root), nil }
	case to.Root == types.Decimal:
		return func(v types.Value) (types.Value, error) { return fitDecimal(big.NewInt(bit(v)), 0, to), nil }
	case to.IsString():
		return func(v types.Value) (types.Value, error) { return fitText(strconv.FormatBool(v.(bool)), to), nil }
	}
	return nil
}

func bit(v types.Value) int64 {
	if v.(bool) {
		return 1
	}
	return 0
}

// number is an integer or a float as another, as whole columns are turned.
func number(v types.Value, to types.Root) types.Value {
	var f float64
	switch x := v.(type) {
	case int64:
		switch to {
		case types.Float:
			return float32(x)
		case types.Double:
			return float64(x)
		}
		return narrow(x, to)
	case float32:
		f = float64(x)
	case float64:
		f = x
	}
	switch to {
	case types.Float:
		return float32(f)
	case types.Double:
		return f
	case types.BigInt:
		return toLong(f)
	}
	return narrow(int64(toInt(f)), to)
}

// narrow keeps the lowest bits.
func narrow(v int64, to types.Root) types.Value {
	switch to {
	case types.TinyInt:
		return int64(int8(v))
	case types.SmallInt:
		return int64(int16(v))
	case types.Int:
		return int64(int32(v))
	}
	return v
}

// decimalNumber cuts the fraction off for integers, then keeps the lowest bits.
func decimalNumber(v decimal128.Num, from, to types.Type) types.Value {
	if to.IsInteger() {
		whole := new(big.Int).Quo(v.BigInt(), power(int64(from.Scale)))
		low := new(big.Int).And(whole, new(big.Int).SetUint64(1<<64-1))
		return narrow(int64(low.Uint64()), to.Root)
	}
	var f float64
	if from.Precision <= 18 {
		divisor, _ := new(big.Float).SetInt(power(int64(from.Scale))).Float64()
		f = float64(int64(v.LowBits())) / divisor
	} else {
		f, _ = strconv.ParseFloat(string(types.AppendDecimal(nil, v, from.Scale)), 64)
	}
	return number(f, to.Root)
}

func power(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// fitDecimal is unscaled·10^−scale as a decimal: rounded half up (away from
// zero), null when it has too many digits.
func fitDecimal(unscaled *big.Int, scale int64, to types.Type) types.Value {
	switch by := int64(to.Scale) - scale; {
	case unscaled.Sign() == 0:
	case by > 80: // more digits than any decimal has
		return nil
	case by > 0:
		unscaled = new(big.Int).Mul(unscaled, power(by))
	case by < 0:
		if -by > int64(unscaled.BitLen()) { // less than half of the last digit
			unscaled = new(big.Int)
			break
		}
		divisor := power(-by)
		rest := new(big.Int)
		sign := big.NewInt(int64(unscaled.Sign()))
		unscaled, rest = new(big.Int).QuoRem(unscaled, divisor, rest)
		if rest.Abs(rest).Lsh(rest, 1).Cmp(divisor) >= 0 {
			unscaled.Add(unscaled, sign)
		}
	}
	if new(big.Int).Abs(unscaled).Cmp(power(int64(to.Precision))) >= 0 {
		return nil
	}
	return decimal128.FromBigInt(unscaled)
}

// textDecimal reads what Java's BigDecimal reads: [+-]digits[.digits][e[+-]digits].
func textDecimal(text string, to types.Type) (types.Value, error) {
	mantissa, exponent := text, int64(0)
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		digits := strings.TrimPrefix(text[at+1:], "+")
		e, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || strings.HasPrefix(digits, "+") || strings.HasPrefix(text[at+1:], "+-") {
			return nil, bad(text, to)
		}
		mantissa, exponent = text[:at], e
	}
	digits := strings.TrimLeft(mantissa, "+-")
	if len(mantissa)-len(digits) > 1 {
		return nil, bad(text, to)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, bad(text, to)
	}
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, bad(text, to)
	}
	if strings.HasPrefix(mantissa, "-") {
		n.Neg(n)
	}
	return fitDecimal(n, int64(len(fraction))-exponent, to), nil
}

// numberText is what Java's toString shows.
func numberText(v types.Value, from types.Type) string {
	switch x := v.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case decimal128.Num:
		return string(types.AppendDecimal(nil, x, from.Scale))
	}
	return floatText(v, false)
}

// floatText shows a float, widened to a double before when asked for.
func floatText(v types.Value, widen bool) string {
	f, bits := 0.0, 64
	switch x := v.(type) {
	case float64:
		f = x
	case float32:
		f = float64(x)
		if !widen {
			bits = 32
		}
	}
	return string(types.AppendFloat(nil, f, bits))
}
