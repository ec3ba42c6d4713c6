package aggregate

import (
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/types"
)

// A product of decimals is that of numbers of any size, rounded to the scale.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := types.Type{Root: types.Decimal, Precision: rapid.IntRange(1, 38).Draw(t, "precision")}
		typ.Scale = rapid.IntRange(0, typ.Precision).Draw(t, "scale")
		f := &column{t: typ, limit: decimal128.GetScaleMultiplier(typ.Precision)}
		draw := func(name string) decimal128.Num {
			n := new(big.Int).SetUint64(rapid.Uint64().Draw(t, name))
			n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(rapid.Uint64().Draw(t, name)))
			n.Mod(n, pow10(rapid.IntRange(1, 38).Draw(t, name+" digits")))
			if rapid.Bool().Draw(t, name+" negative") {
				n.Neg(n)
			}
			return decimal128.FromBigInt(n)
		}
		a, b := draw("a"), draw("b")
		got, ok := times(f, a, b)
		want, fits := rounded(typ, new(big.Int).Mul(a.BigInt(), b.BigInt()), pow10(typ.Scale))
		if ok != fits || ok && got != want {
			t.Fatalf("%v times %v of %v: %v %v, want %v %v", a.BigInt(), b.BigInt(), typ, got.BigInt(), ok, want.BigInt(), fits)
		}
	})
}
