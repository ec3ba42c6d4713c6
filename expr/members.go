package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// longList is from how many literals on looking each row up beats a pass over the
// rows for each literal.
const longList = 8

// maskMembers sets dst[i] where row i holds one of the values. It reports false, and
// does nothing, for columns of a type that it does not look up.
func maskMembers(col arrow.Array, values []types.Value, dst []bool) bool {
	switch a := col.(type) {
	case *array.Int8:
		members[int64](a.Int8Values(), values, dst)
	case *array.Int16:
		members[int64](a.Int16Values(), values, dst)
	case *array.Int32:
		members[int64](a.Int32Values(), values, dst)
	case *array.Int64:
		members[int64](a.Int64Values(), values, dst)
	case *array.Date32:
		members[int32](a.Date32Values(), values, dst)
	case *array.Time32:
		members[int32](a.Time32Values(), values, dst)
	case *array.String:
		set := make(map[string]bool, len(values))
		for _, v := range values {
			set[v.(string)] = true
		}
		for i := range dst {
			dst[i] = set[a.Value(i)]
		}
	case *array.Binary:
		set := make(map[string]bool, len(values))
		for _, v := range values {
			set[string(v.([]byte))] = true
		}
		for i := range dst {
			dst[i] = set[string(a.Value(i))]
		}
	default:
		return false
	}
	if col.NullN() > 0 {
		for i := range dst {
			dst[i] = dst[i] && col.IsValid(i)
		}
	}
	return true
}

// members looks rows up among literals, which are L, of the type T.
func members[L int32 | int64, T int8 | int16 | int32 | int64 | arrow.Date32 | arrow.Time32](rows []T, values []types.Value, dst []bool) {
	set := make(map[T]bool, len(values))
	low, high := T(0), T(0)
	for i, v := range values {
		x := T(v.(L))
		if set[x] = true; i == 0 {
			low, high = x, x
		}
		low, high = min(low, x), max(high, x)
	}
	for i, x := range rows {
		dst[i] = x >= low && x <= high && set[x]
	}
}
