package aggregate

import (
	"math/big"
	"math/bits"

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

// sums adds up values of up to 18 digits while they stay in 64 bits.
func sums(f *column, vals [][]decimal128.Num, a *apart, out []decimal128.Num) bool {
	if !f.t.Compact() {
		return false
	}
	beyond := int64(0) // bits above 64 of anything
	for i, r := range a.first {
		v := vals[r>>32][uint32(r)]
		beyond |= v.HighBits() ^ int64(v.LowBits())>>63
		out[i] = v
	}
	for j, r := range a.later {
		at, v := &out[a.of[j]], vals[r>>32][uint32(r)]
		low, carry := bits.Add64(at.LowBits(), v.LowBits(), 0)
		high := at.HighBits() + v.HighBits() + int64(carry)
		beyond |= (high ^ int64(low)>>63) | (v.HighBits() ^ int64(v.LowBits())>>63)
		*at = decimal128.New(high, low)
	}
	return beyond == 0
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

// times rounds the product of two unscaled values to the scale, half away from zero.
// It computes in 256 bits, of which nothing is allocated.
func times(f *column, a, b decimal128.Num) (decimal128.Num, bool) {
	p := product256(magnitude(a), magnitude(b))
	half := decimal128.GetScaleMultiplier(f.t.Scale)
	p.add(half.LowBits()>>1|uint64(half.HighBits())<<63, uint64(half.HighBits())>>1)
	for left := f.t.Scale; left > 0; left -= maxPower {
		p.divide(powers[min(left, maxPower)])
	}
	v := decimal128.New(int64(p[1]), p[0])
	if p[2]|p[3] != 0 || v.HighBits() < 0 || !v.Less(f.limit) {
		return decimal128.Num{}, false
	}
	if (a.HighBits() < 0) != (b.HighBits() < 0) {
		v = v.Negate()
	}
	return v, true
}

// maxPower is the largest power of ten of 64 bits.
const maxPower = 19

var powers = func() (out [maxPower + 1]uint64) {
	out[0] = 1
	for i := 1; i <= maxPower; i++ {
		out[i] = out[i-1] * 10
	}
	return out
}()

// words is a number of 256 bits, the lowest ones first.
type words [4]uint64

// magnitude is the absolute value of a number, the low bits first.
func magnitude(v decimal128.Num) (m [2]uint64) {
	if v.HighBits() < 0 {
		v = v.Negate()
	}
	return [2]uint64{v.LowBits(), uint64(v.HighBits())}
}

func product256(a, b [2]uint64) (p words) {
	for i, x := range a {
		var carry uint64
		for j, y := range b {
			hi, lo := bits.Mul64(x, y)
			var c uint64
			lo, c = bits.Add64(lo, p[i+j], 0)
			hi += c
			lo, c = bits.Add64(lo, carry, 0)
			p[i+j], carry = lo, hi+c
		}
		p[i+2] = carry
	}
	return p
}

func (p *words) add(lo, hi uint64) {
	var c uint64
	p[0], c = bits.Add64(p[0], lo, 0)
	p[1], c = bits.Add64(p[1], hi, c)
	p[2], c = bits.Add64(p[2], 0, c)
	p[3] += c
}

// divide drops the remainder.
func (p *words) divide(by uint64) {
	var rest uint64
	for i := len(p) - 1; i >= 0; i-- {
		p[i], rest = bits.Div64(rest, p[i], by)
	}
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
