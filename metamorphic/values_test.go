package metamorphic

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/types"
)

// value makes a value of a type of [setsOfFunctions].
func (g *generator) value(text string) types.Value { return g.valueOf(types.MustParse(text)) }

func (g *generator) valueOf(t types.Type) types.Value {
	small := func() types.Value { return g.Int64N(4) }
	switch t.Root {
	case types.Boolean:
		return g.IntN(2) == 0
	case types.Int:
		return small()
	case types.BigInt:
		return g.Int64N(100)
	case types.VarChar:
		return fmt.Sprint("t", g.IntN(4))
	case types.VarBinary:
		// Even numbers, for numbers in a row would be runs.
		numbers := make([]uint32, 1+g.IntN(3))
		for i := range numbers {
			numbers[i] = uint32(g.IntN(3))<<16 | uint32(2*g.IntN(5))
		}
		return oracle.Bitmap(numbers...)
	case types.Array:
		out := make([]types.Value, g.IntN(4))
		for i := range out {
			if g.IntN(8) > 0 {
				out[i] = g.valueOf(*t.Element)
			}
		}
		return out
	case types.Map:
		var out []types.Entry
		for key := range int64(4) {
			if g.IntN(2) > 0 {
				continue
			}
			e := types.Entry{Key: key}
			if g.IntN(4) > 0 {
				e.Value = g.valueOf(*t.Element)
			}
			out = append(out, e)
		}
		return out
	case types.Row:
		out := make([]types.Value, len(t.Fields))
		for i, f := range t.Fields {
			// A key is never null.
			if f.Name == "k" || g.IntN(4) > 0 {
				out[i] = g.valueOf(f.Type)
			}
		}
		return out
	}
	panic("no values of " + t.String())
}
