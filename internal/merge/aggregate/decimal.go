package aggregate

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// kept is what Java keeps of a sum. Up to 18 digits it computes in 64 bits and looks
// no further, so that a sum may have more digits than its type; above, and where 64
// bits overflow, a result of too many digits is null.
func kept(f *column, v decimal128.Num, overflow bool) (decimal128.Num, bool) {
	if f.t.Compact() && !overflow && isLong(v) {
		return v, true
	}
	return v, !overflow && f.fits(v)
}

// isLong reports that v is a number of 64 bits.
func isLong(v decimal128.Num) bool { return v.HighBits() == int64(v.LowBits())>>63 }

// fits reports that v has no more digits than its type.
func (c *column) fits(v decimal128.Num) bool {
	if v.HighBits() < 0 {
		v = v.Negate()
	}
	return v.HighBits() >= 0 && v.Less(c.limit)
}

func plus(f *column, a, b decimal128.Num) (decimal128.Num, bool) {
	v := a.Add(b)
	negative := v.HighBits() < 0
	return kept(f, v, (a.HighBits() < 0) == (b.HighBits() < 0) && negative != (a.HighBits() < 0))
}

func minus(f *column, a, b decimal128.Num) (decimal128.Num, bool, error) {
	v := a.Sub(b)
	negative := v.HighBits() < 0
	v, ok := kept(f, v, (a.HighBits() < 0) != (b.HighBits() < 0) && negative != (a.HighBits() < 0))
	return v, ok, nil
}

// negated is what a sum begins with when its first row takes a value back.
func negated(f *column, v decimal128.Num) (decimal128.Num, bool) {
	v = v.Negate()
	return v, f.fits(v)
}

func times(f *column, a, b decimal128.Num) (decimal128.Num, bool) {
	v := new(big.Int).Mul(a.BigInt(), b.BigInt())
	return rounded(f.t, v, pow10(f.t.Scale))
}

// divided is a quotient that Java computes exactly before it rounds: it refuses what
// has no end in decimals.
func divided(f *column, a, b decimal128.Num) (decimal128.Num, bool, error) {
	num, den := a.BigInt(), b.BigInt()
	if den.Sign() == 0 {
		return a, false, f.byZero()
	}
	if num.Sign() != 0 && !terminates(num, den) {
		return a, false, f.invalid("a retraction divides the product into a fraction without end").
			WithHint("Set %s = true to leave retractions out of this column.", f.key("ignore-retract"))
	}
	v, ok := rounded(f.t, num.Mul(num, pow10(f.t.Scale)), den)
	return v, ok, nil
}

// terminates reports that num/den has finitely many decimals.
func terminates(num, den *big.Int) bool {
	d := new(big.Int).Abs(den)
	d.Quo(d, new(big.Int).GCD(nil, nil, new(big.Int).Abs(num), d))
	for _, p := range []int64{2, 5} {
		prime, q, rest := big.NewInt(p), new(big.Int), new(big.Int)
		for {
			if q.QuoRem(d, prime, rest); rest.Sign() != 0 {
				break
			}
			d.Set(q)
		}
	}
	return d.Cmp(big.NewInt(1)) == 0
}

// rounded is num/den rounded to a whole number, half away from zero; it reports false
// where that has more digits than the type.
func rounded(t types.Type, num, den *big.Int) (decimal128.Num, bool) {
	sign := num.Sign() * den.Sign()
	n := new(big.Int).Abs(num)
	d := new(big.Int).Abs(den)
	n.Lsh(n, 1).Add(n, d)
	n.Quo(n, d.Lsh(d, 1))
	if n.Cmp(pow10(t.Precision)) >= 0 {
		return decimal128.Num{}, false
	}
	if sign < 0 {
		n.Neg(n)
	}
	return decimal128.FromBigInt(n), true
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
