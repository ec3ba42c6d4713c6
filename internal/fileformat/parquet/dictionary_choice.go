package parquet

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// sampleRows is how many values of a column are looked at before its first
// page to decide on a dictionary.
const sampleRows = 1024

// worthDictionary reports whether a dictionary makes the first values of a leaf
// smaller. Dictionaries that do not pay cost a sixth of the whole write in hash
// tables nobody keeps; the sample is on the careful side, because what a
// dictionary costs per row only falls with more rows.
func worthDictionary(v leafValues) bool {
	if v.idx == nil {
		v.idx = make([]int32, v.arr.Len())
		for i := range v.idx {
			v.idx[i] = int32(i)
		}
	}
	v.idx = v.idx[:min(len(v.idx), sampleRows)]
	n := len(v.idx)
	if n == 0 {
		return false
	}
	var distinct, raw, dict int
	switch a := v.arr.(type) {
	case *array.Int8:
		distinct, raw = count(a.Int8Values(), v.idx), 4*n
	case *array.Int16:
		distinct, raw = count(a.Int16Values(), v.idx), 4*n
	case *array.Int32:
		distinct, raw = count(a.Int32Values(), v.idx), 4*n
	case *array.Int64:
		distinct, raw = count(a.Int64Values(), v.idx), 8*n
	case *array.Date32:
		distinct, raw = count(a.Date32Values(), v.idx), 4*n
	case *array.Time32:
		distinct, raw = count(a.Time32Values(), v.idx), 4*n
	case *array.Timestamp:
		distinct, raw = count(a.TimestampValues(), v.idx), 8*n
	case *array.Float32:
		distinct, raw = count(bitsOf[uint32](a.Float32Values()), v.idx), 4*n
	case *array.Float64:
		distinct, raw = count(bitsOf[uint64](a.Float64Values()), v.idx), 8*n
	case *array.Decimal128:
		distinct, raw = countDecimals(a, v.idx)
	case array.BinaryLike:
		distinct, raw, dict = countBytes(a, v.idx)
		return pays(n, distinct, raw, dict)
	default:
		return false // BOOLEAN never has one
	}
	return pays(n, distinct, raw, raw/n*distinct)
}

// pays compares plain bytes with those of a dictionary and indices.
func pays(n, distinct, raw, dict int) bool {
	return dict+n*bits.Len(uint(distinct))/8 < raw
}

func bitsOf[D, S any](s []S) []D { return valuesOf[D](bytesOf(s)) }

func count[T comparable](values []T, idx []int32) int {
	seen := make(map[T]struct{}, 64)
	for _, i := range idx {
		seen[values[i]] = struct{}{}
	}
	return len(seen)
}

func countDecimals(a *array.Decimal128, idx []int32) (distinct, raw int) {
	width := 16
	switch p := a.DataType().(*arrow.Decimal128Type).Precision; {
	case p <= 9:
		width = 4
	case p <= 18:
		width = 8
	}
	return count[decimal128.Num](a.Values(), idx), width * len(idx)
}

func countBytes(a array.BinaryLike, idx []int32) (distinct, raw, dict int) {
	seen := make(map[string]struct{}, 64)
	for _, i := range idx {
		var s string
		switch a := a.(type) {
		case *array.String:
			s = a.Value(int(i))
		case *array.Binary:
			s = a.ValueString(int(i))
		}
		raw += 4 + len(s)
		if _, ok := seen[s]; !ok {
			seen[s] = struct{}{}
			dict += 4 + len(s)
		}
	}
	return len(seen), raw, dict
}
