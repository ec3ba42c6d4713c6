package aggregate

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// quickExtremes chooses the largest or smallest values where all add, or gives false.
// It gives each row a number in whose order its value is, and compares these.
func (f *chooser) quickExtremes(sources []arrow.Array, g *Groups, n nulls, out []batch.Ref) bool {
	e, ok := f.rule.(extremum)
	if !ok {
		return false
	}
	if cap(g.order) < len(g.Refs) {
		g.order = make([]uint64, len(g.Refs), len(g.Refs)+len(g.Refs)/4)
	}
	g.order = g.order[:len(g.Refs)]
	switch f.t.Root {
	case types.TinyInt:
		orderNumbers[int8](sources, g)
	case types.SmallInt:
		orderNumbers[int16](sources, g)
	case types.Int:
		orderNumbers[int32](sources, g)
	case types.BigInt:
		orderNumbers[int64](sources, g)
	case types.Date:
		orderNumbers[arrow.Date32](sources, g)
	case types.Time:
		orderNumbers[arrow.Time32](sources, g)
	case types.Timestamp, types.TimestampLTZ:
		orderNumbers[arrow.Timestamp](sources, g)
	case types.Float:
		orderFloats[float32](sources, g)
	case types.Double:
		orderFloats[float64](sources, g)
	case types.Boolean:
		if !e.truth {
			return false
		}
		orderBools(sources, g)
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		texts := bytesOf(sources)
		for i, r := range g.Refs {
			g.order[i] = head(texts.at(r))
		}
		g.extremeTexts(f.less(sources), n, e.larger, out)
		return true
	default:
		return false
	}
	if n == nil {
		g.extremes(e.larger, out)
	} else {
		g.extremeValues(n, e.larger, out)
	}
	return true
}

// orderNumbers makes of whole numbers numbers without sign.
func orderNumbers[T interface {
	arrow.FixedWidthType
	~int8 | ~int16 | ~int32 | ~int64
}](sources []arrow.Array, g *Groups) {
	vals := valuesOf[T](sources)
	for i, r := range g.Refs {
		g.order[i] = uint64(int64(vals[r>>32][uint32(r)])) ^ 1<<63
	}
}

// orderFloats makes of floats numbers in the order of [types.CompareDouble].
func orderFloats[T float32 | float64](sources []arrow.Array, g *Groups) {
	vals := valuesOf[T](sources)
	for i, r := range g.Refs {
		v := float64(vals[r>>32][uint32(r)])
		b := math.Float64bits(v)
		b ^= uint64(int64(b)>>63) | 1<<63
		if v != v {
			b = math.MaxUint64
		}
		g.order[i] = b
	}
}

func orderBools(sources []arrow.Array, g *Groups) {
	for i, r := range g.Refs {
		g.order[i] = 0
		if sources[r>>32].(*array.Boolean).Value(int(uint32(r))) {
			g.order[i] = 1
		}
	}
}

// head is the first eight bytes as a number, zeroes behind a shorter value.
func head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}

// flipOf turns "less" into "not less" for the smallest: of equal values the largest
// keeps the first one, the smallest the last.
func flipOf(larger bool) uint64 {
	if larger {
		return 0
	}
	return 1
}

// extremes chooses among values none of which is null, without branches: which is
// larger is a matter of chance.
func (g *Groups) extremes(larger bool, out []batch.Ref) {
	flip, from := flipOf(larger), 0
	for i, end := range g.Ends {
		if from == end {
			out[i] = none
			continue
		}
		refs, order := g.Refs[from:end], g.order[from:end]
		best, top := refs[0], order[0]
		for j := 1; j < len(refs) && j < len(order); j++ {
			_, less := bits.Sub64(top, order[j], 0)
			take := -(less ^ flip)
			top ^= (top ^ order[j]) & take
			best ^= (best ^ refs[j]) & batch.Ref(take)
		}
		out[i], from = best, end
	}
}

// extremeValues chooses among values of which some are null.
func (g *Groups) extremeValues(n nulls, larger bool, out []batch.Ref) {
	flip, from := flipOf(larger), 0
	for i, end := range g.Ends {
		best, top := none, uint64(0)
		for j := from; j < end; j++ {
			r := g.Refs[j]
			if n.at(r) {
				continue
			}
			if _, less := bits.Sub64(top, g.order[j], 0); less^flip == 1 || best == none {
				best, top = r, g.order[j]
			}
		}
		out[i], from = best, end
	}
}

// extremeTexts chooses among values whose order is that of their numbers where these
// differ, and else what less says.
func (g *Groups) extremeTexts(less func(a, b batch.Ref) bool, n nulls, larger bool, out []batch.Ref) {
	flip, from := flipOf(larger), 0
	for i, end := range g.Ends {
		best, top := none, uint64(0)
		for j := from; j < end; j++ {
			r := g.Refs[j]
			if n.at(r) {
				continue
			}
			if best == none {
				best, top = r, g.order[j]
				continue
			}
			_, take := bits.Sub64(top, g.order[j], 0)
			take ^= flip
			if top == g.order[j] {
				take = flipOf(larger)
				if less(best, r) {
					take ^= 1
				}
			}
			take = -take
			top ^= (top ^ g.order[j]) & take
			best ^= (best ^ r) & batch.Ref(take)
		}
		out[i], from = best, end
	}
}
