package aggregate

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

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
	a := g.apart()
	if a == nil {
		return false
	}
	a.top, a.order = sized(a.top, len(a.first)), sized(a.order, len(a.later))
	var less func(a, b batch.Ref) bool
	switch f.t.Root {
	case types.TinyInt:
		orderNumbers[int8](sources, a)
	case types.SmallInt:
		orderNumbers[int16](sources, a)
	case types.Int:
		orderNumbers[int32](sources, a)
	case types.BigInt:
		orderNumbers[int64](sources, a)
	case types.Date:
		orderNumbers[arrow.Date32](sources, a)
	case types.Time:
		orderNumbers[arrow.Time32](sources, a)
	case types.Timestamp, types.TimestampLTZ:
		orderNumbers[arrow.Timestamp](sources, a)
	case types.Float:
		orderFloats[float32](sources, a)
	case types.Double:
		orderFloats[float64](sources, a)
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		orderTexts(sources, a)
		less = f.less(sources)
	case types.Boolean:
		if !e.truth {
			return false
		}
		orderBools(sources, a)
	default:
		return false
	}
	// Of equal values the largest keeps the first one, the smallest the last.
	flip := uint64(1)
	if e.larger {
		flip = 0
	}
	if n == nil && less == nil {
		a.extremes(flip, out)
	} else {
		a.extremeValues(n, flip, less, out)
	}
	return true
}

func sized(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n, n+n/4)
	}
	return s[:n]
}

// orderNumbers makes of whole numbers numbers without sign.
func orderNumbers[T interface {
	arrow.FixedWidthType
	~int8 | ~int16 | ~int32 | ~int64
}](sources []arrow.Array, a *apart) {
	vals := valuesOf[T](sources)
	for i, r := range a.first {
		a.top[i] = uint64(int64(vals[r>>32][uint32(r)])) ^ 1<<63
	}
	for i, r := range a.later {
		a.order[i] = uint64(int64(vals[r>>32][uint32(r)])) ^ 1<<63
	}
}

// orderFloats makes of floats numbers in the order of [types.CompareDouble].
func orderFloats[T float32 | float64](sources []arrow.Array, a *apart) {
	vals := valuesOf[T](sources)
	for i, r := range a.first {
		a.top[i] = normal(float64(vals[r>>32][uint32(r)]))
	}
	for i, r := range a.later {
		a.order[i] = normal(float64(vals[r>>32][uint32(r)]))
	}
}

func normal(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

func orderBools(sources []arrow.Array, a *apart) {
	vals := truths(sources)
	for i, r := range a.first {
		a.top[i] = vals.bit(r)
	}
	for i, r := range a.later {
		a.order[i] = vals.bit(r)
	}
}

// orderTexts makes numbers of the beginning of texts.
func orderTexts(sources []arrow.Array, a *apart) {
	vals := bytesOf(sources)
	for i, r := range a.first {
		a.top[i] = head(vals.at(r))
	}
	for i, r := range a.later {
		a.order[i] = head(vals.at(r))
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

// extremes chooses among values none of which is null, without branches: which is
// larger is a matter of chance. flip turns "less" into "not less".
func (a *apart) extremes(flip uint64, out []batch.Ref) {
	copy(out, a.first)
	for j, r := range a.later {
		i := a.of[j]
		top, v := a.top[i], a.order[j]
		_, less := bits.Sub64(top, v, 0)
		take := -(less ^ flip)
		a.top[i] = top ^ (top^v)&take
		out[i] ^= (out[i] ^ r) & batch.Ref(take)
	}
}

// extremeValues chooses among values of which some may be null. Where numbers are
// equal, less tells, if there is one.
func (a *apart) extremeValues(n nulls, flip uint64, less func(a, b batch.Ref) bool, out []batch.Ref) {
	copy(out, a.first)
	if n != nil {
		for i, r := range a.first {
			out[i] |= batch.Ref(n.bit(r)) - 1 // none for a null
		}
	}
	for j, r := range a.later {
		i := a.of[j]
		top, v := a.top[i], a.order[j]
		_, take := bits.Sub64(top, v, 0)
		if best := out[i]; best == none {
			take = flip ^ 1
		} else if top == v && less != nil && !n.at(r) && less(best, r) {
			take = 1
		}
		take ^= flip
		if n != nil {
			take &= n.bit(r)
		}
		a.top[i] = top ^ (top^v)&-take
		out[i] ^= (out[i] ^ r) & -batch.Ref(take)
	}
}
