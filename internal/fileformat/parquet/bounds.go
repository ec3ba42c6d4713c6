package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// bounds are the least and greatest value of a page, a chunk or a file, in the
// order of the column's physical type: signed numbers, floats as Float.compare
// has them (−0.0 before 0.0, NaN last), bytes unsigned, decimals by value. They
// are taken once, when a page is filled, and serve the column index, the footer
// and the manifest.
type bounds struct {
	known          bool
	lo, hi         int64   // BOOLEAN, INT32, INT64
	floLo, floHi   float64 // FLOAT, DOUBLE
	textLo, textHi []byte  // BYTE_ARRAY
	decLo, decHi   decimal128.Num
}

// compareBounds compares the least and the greatest values of a and b.
func compareBounds(p physical, a, b *bounds) (lo, hi int) {
	switch p {
	case physFloat, physDouble:
		return types.CompareDouble(a.floLo, b.floLo), types.CompareDouble(a.floHi, b.floHi)
	case physByteArray:
		return bytes.Compare(a.textLo, b.textLo), bytes.Compare(a.textHi, b.textHi)
	case physFixed:
		return a.decLo.Cmp(b.decLo), a.decHi.Cmp(b.decHi)
	}
	return cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi)
}

// widen takes in b, of the same physical type. Bytes are shared.
func (s *bounds) widen(p physical, b *bounds) {
	if !b.known {
		return
	}
	if !s.known {
		*s = *b
		return
	}
	lo, hi := compareBounds(p, b, s)
	if lo < 0 {
		s.lo, s.floLo, s.textLo, s.decLo = b.lo, b.floLo, b.textLo, b.decLo
	}
	if hi > 0 {
		s.hi, s.floHi, s.textHi, s.decHi = b.hi, b.floHi, b.textHi, b.decHi
	}
}

func integerBounds[T cmp.Ordered](values []T) (lo, hi T) {
	lo, hi = values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func floatBounds[T float32 | float64](values []T) bounds {
	lo, hi := values[0], values[0]
	for _, v := range values {
		if v > lo && v < hi { // the common case, and never true for NaN and zeros at a bound
			continue
		}
		if types.CompareDouble(float64(v), float64(lo)) < 0 {
			lo = v
		}
		if types.CompareDouble(float64(v), float64(hi)) > 0 {
			hi = v
		}
	}
	return bounds{known: true, floLo: float64(lo), floHi: float64(hi)}
}

// textBounds compares by the first eight bytes wherever they tell.
type textBounds struct {
	known             bool
	lo, hi            []byte
	lowFirst, hiFirst uint64
}

func (t *textBounds) add(v []byte) {
	first := bits.ReverseBytes64(firstEight(v))
	if t.known && first > t.lowFirst && first < t.hiFirst {
		return
	}
	t.compare(v, first)
}

func (t *textBounds) compare(v []byte, first uint64) {
	if !t.known || first < t.lowFirst || first == t.lowFirst && bytes.Compare(v, t.lo) < 0 {
		t.lo, t.lowFirst = v, first
	}
	if !t.known || first > t.hiFirst || first == t.hiFirst && bytes.Compare(v, t.hi) > 0 {
		t.hi, t.hiFirst = v, first
	}
	t.known = true
}

func decimalBounds(a *array.Decimal128, v *leafValues) (out bounds) {
	values := a.Values()
	v.each(func(i int) {
		x := values[i]
		if !out.known {
			out = bounds{known: true, decLo: x, decHi: x}
			return
		}
		if x.Less(out.decLo) {
			out.decLo = x
		} else if x.Greater(out.decHi) {
			out.decHi = x
		}
	})
	return out
}

// greatestStats is how many bytes the two bounds of a chunk may have together in
// the footer (parquet-java: MAX_STATS_SIZE).
const greatestStats = 4096

// raw are the bounds as Parquet stores them, nil when unknown: without values,
// in columns that have no order, and where there is a NaN, which is in no order
// that readers agree on. Of zeroes the wider one is stored.
func (s *bounds) raw(c *column) (lo, hi []byte) {
	if !s.known {
		return nil, nil
	}
	switch c.phys {
	case physBoolean:
		return []byte{byte(s.lo)}, []byte{byte(s.hi)}
	case physInt32:
		return binary.LittleEndian.AppendUint32(nil, uint32(s.lo)), binary.LittleEndian.AppendUint32(nil, uint32(s.hi))
	case physInt64:
		return binary.LittleEndian.AppendUint64(nil, uint64(s.lo)), binary.LittleEndian.AppendUint64(nil, uint64(s.hi))
	case physFloat, physDouble:
		low, high := s.floLo, s.floHi
		if math.IsNaN(low) || math.IsNaN(high) {
			return nil, nil
		}
		if low == 0 {
			low = math.Copysign(0, -1)
		}
		if high == 0 {
			high = 0
		}
		if c.phys == physFloat {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(low))), binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(high)))
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(low)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(high))
	case physByteArray:
		if len(s.textLo)+len(s.textHi) >= greatestStats {
			return nil, nil
		}
		return s.textLo, s.textHi
	case physFixed:
		return appendDecimal(nil, s.decLo, c.width), appendDecimal(nil, s.decHi, c.width)
	}
	return nil, nil
}

// values are the bounds as values of the column's type, nil when unknown or
// when Java takes none of such columns: bytes and INT96.
func (s *bounds) values(c *column) (lo, hi types.Value) {
	if !s.known || c.phys == physInt96 {
		return nil, nil
	}
	switch c.typ.Root {
	case types.Boolean:
		return s.lo != 0, s.hi != 0
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return s.lo, s.hi
	case types.Date, types.Time:
		return int32(s.lo), int32(s.hi)
	case types.Timestamp, types.TimestampLTZ:
		unit := arrow.Millisecond
		if c.typ.Precision > 3 {
			unit = arrow.Microsecond
		}
		return instant(s.lo, unit), instant(s.hi, unit)
	case types.Float:
		return float32(s.floLo), float32(s.floHi)
	case types.Double:
		return s.floLo, s.floHi
	case types.Decimal:
		if c.phys == physFixed {
			return s.decLo, s.decHi
		}
		return decimal128.FromI64(s.lo), decimal128.FromI64(s.hi)
	case types.Char, types.VarChar:
		return string(s.textLo), string(s.textHi)
	}
	return nil, nil
}

// instant is v in the given unit as BinaryRow has it.
func instant(v int64, unit arrow.TimeUnit) types.Instant {
	perMilli := int64(1)
	switch unit {
	case arrow.Microsecond:
		perMilli = 1_000
	case arrow.Nanosecond:
		perMilli = 1_000_000
	}
	millis, rest := floorDiv(v, perMilli)
	return types.Instant{Millis: millis, NanoOfMilli: int32(rest * (1_000_000 / perMilli))}
}

func floorDiv(v, by int64) (quotient, rest int64) {
	quotient, rest = v/by, v%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}
