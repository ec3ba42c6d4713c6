package fileformat

import "github.com/apache/arrow-go/v18/arrow"

// SameLayout reports types whose arrays look alike: names, nullability and
// metadata inside nested types do not count, nor does a timestamp's zone.
func SameLayout(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	switch a := a.(type) {
	case arrow.NestedType:
		af, bf := a.Fields(), b.(arrow.NestedType).Fields()
		if len(af) != len(bf) {
			return false
		}
		for i := range af {
			if !SameLayout(af[i].Type, bf[i].Type) {
				return false
			}
		}
		return true
	case *arrow.TimestampType:
		return a.Unit == b.(*arrow.TimestampType).Unit
	}
	return arrow.TypeEqual(a, b)
}
