package types

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Compare orders two values of type t as Java does: strings and bytes by
// unsigned bytes, floats by Double.compare (−0.0 before 0.0, NaN last and equal
// to itself), decimals by unscaled value, false before true. Neither may be
// nil. Nested types have no order: Compare gives 0.
func Compare(t Type, a, b Value) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case int32:
		return cmp.Compare(x, b.(int32))
	case string:
		return strings.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case bool:
		switch y := b.(bool); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case float64:
		return CompareDouble(x, b.(float64))
	case float32:
		return CompareDouble(float64(x), float64(b.(float32)))
	case decimal128.Num:
		return x.Cmp(b.(decimal128.Num))
	case Instant:
		y := b.(Instant)
		if c := cmp.Compare(x.Millis, y.Millis); c != 0 {
			return c
		}
		return cmp.Compare(x.NanoOfMilli, y.NanoOfMilli)
	}
	return 0
}

// CompareDouble is Java's Double.compare: −0.0 < 0.0 and NaN is the largest.
// Float.compare gives the same for floats widened to double.
func CompareDouble(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	if xn, yn := x != x, y != y; xn || yn {
		switch {
		case xn && yn:
			return 0
		case xn:
			return 1
		}
		return -1
	}
	return cmp.Compare(int64(math.Float64bits(x)), int64(math.Float64bits(y)))
}

// CompareInMerge orders values of key columns and sequence fields as merges do:
// as [Compare], but −0.0 and 0.0 are equal, because the comparators that Java
// 1.4.2 generates ask only for < and >. NaN, which those find equal to
// everything, stays the largest.
func CompareInMerge(t Type, a, b Value) int {
	switch x := a.(type) {
	case float64:
		return CompareDoubleInMerge(x, b.(float64))
	case float32:
		return CompareDoubleInMerge(float64(x), float64(b.(float32)))
	}
	return Compare(t, a, b)
}

// CompareDoubleInMerge is [CompareInMerge] of doubles and of widened floats.
func CompareDoubleInMerge(x, y float64) int {
	if x == y {
		return 0
	}
	return CompareDouble(x, y)
}
