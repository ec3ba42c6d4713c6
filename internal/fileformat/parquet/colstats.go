package parquet

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// statsCollector keeps the exact statistics of one column while it is written,
// as Java takes them from the Parquet writer: no minimum and maximum for bytes
// and INT96, nothing at all for nested types, floats in the order of
// Float.compare (−0.0 before 0.0, NaN last).
type statsCollector struct {
	typ      types.Type
	nulls    int64
	min, max types.Value
}

func (c *statsCollector) result() fileformat.ColumnStats {
	if c.typ.IsNested() {
		return fileformat.ColumnStats{NullCount: -1}
	}
	return fileformat.ColumnStats{Min: c.min, Max: c.max, NullCount: c.nulls}
}

func (c *statsCollector) update(arr arrow.Array) {
	c.nulls += int64(arr.NullN())
	if arr.NullN() == arr.Len() {
		return
	}
	switch a := arr.(type) {
	case *array.Boolean:
		c.booleans(a)
	case *array.Int8:
		merge(c, a, a.Int8Values(), func(v int8) types.Value { return int64(v) })
	case *array.Int16:
		merge(c, a, a.Int16Values(), func(v int16) types.Value { return int64(v) })
	case *array.Int32:
		merge(c, a, a.Int32Values(), func(v int32) types.Value { return int64(v) })
	case *array.Int64:
		merge(c, a, a.Int64Values(), func(v int64) types.Value { return v })
	case *array.Date32:
		merge(c, a, a.Date32Values(), func(v arrow.Date32) types.Value { return int32(v) })
	case *array.Time32:
		merge(c, a, a.Time32Values(), func(v arrow.Time32) types.Value { return int32(v) })
	case *array.Timestamp:
		if c.typ.Precision <= 6 {
			unit := a.DataType().(*arrow.TimestampType).Unit
			merge(c, a, a.TimestampValues(), func(v arrow.Timestamp) types.Value { return instant(int64(v), unit) })
		}
	case *array.Float32:
		floats(c, a, a.Float32Values(), func(v float32) types.Value { return v })
	case *array.Float64:
		floats(c, a, a.Float64Values(), func(v float64) types.Value { return v })
	case *array.Decimal128:
		c.decimals(a)
	case *array.String:
		c.strings(a)
	}
}

// widen takes a batch's minimum and maximum into the column's.
func (c *statsCollector) widen(lo, hi types.Value) {
	if c.min == nil || types.Compare(c.typ, lo, c.min) < 0 {
		c.min = lo
	}
	if c.max == nil || types.Compare(c.typ, hi, c.max) > 0 {
		c.max = hi
	}
}

func (c *statsCollector) booleans(a *array.Boolean) {
	for i := range a.Len() {
		if a.IsValid(i) {
			c.widen(a.Value(i), a.Value(i))
			if c.min == false && c.max == true {
				return
			}
		}
	}
}

func merge[T cmp.Ordered](c *statsCollector, a arrow.Array, vs []T, value func(T) types.Value) {
	var lo, hi T
	if a.NullN() == 0 {
		lo, hi = vs[0], vs[0]
		for _, v := range vs {
			lo, hi = min(lo, v), max(hi, v)
		}
	} else {
		first := true
		for i, v := range vs {
			if a.IsNull(i) {
				continue
			}
			if first {
				lo, hi, first = v, v, false
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	c.widen(value(lo), value(hi))
}

func floats[T float32 | float64](c *statsCollector, a arrow.Array, vs []T, value func(T) types.Value) {
	var lo, hi T
	first, nulls := true, a.NullN() > 0
	for i, v := range vs {
		if nulls && a.IsNull(i) {
			continue
		}
		switch {
		case first:
			lo, hi, first = v, v, false
		case v > lo && v < hi: // the common case, and never true for NaN and zeros at a bound
		default:
			if types.CompareDouble(float64(v), float64(lo)) < 0 {
				lo = v
			}
			if types.CompareDouble(float64(v), float64(hi)) > 0 {
				hi = v
			}
		}
	}
	c.widen(value(lo), value(hi))
}

func (c *statsCollector) decimals(a *array.Decimal128) {
	var lo, hi decimal128.Num
	first := true
	for i, v := range a.Values() {
		if a.IsNull(i) {
			continue
		}
		if first {
			lo, hi, first = v, v, false
			continue
		}
		if v.Cmp(lo) < 0 {
			lo = v
		} else if v.Cmp(hi) > 0 {
			hi = v
		}
	}
	c.widen(lo, hi)
}

func (c *statsCollector) strings(a *array.String) {
	offsets, data := a.ValueOffsets(), a.ValueBytes()
	base := offsets[0]
	var lo, hi []byte
	first, nulls := true, a.NullN() > 0
	for i := range a.Len() {
		if nulls && a.IsNull(i) {
			continue
		}
		v := data[offsets[i]-base : offsets[i+1]-base]
		if first {
			lo, hi, first = v, v, false
			continue
		}
		if bytes.Compare(v, lo) < 0 {
			lo = v
		} else if bytes.Compare(v, hi) > 0 {
			hi = v
		}
	}
	c.widen(string(lo), string(hi))
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
