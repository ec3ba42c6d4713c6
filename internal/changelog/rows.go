package changelog

import "github.com/tarnlake/tarn/types"

// None is the kind of no row.
const None types.RowKind = -1

// Rows says which rows tell of a change: the one from before it and the one from
// after it, each with its kind. before and after report that the key had a live
// row, and has one; same, which may be nil, that the two are equal, which is no
// change then.
func Rows(before, after bool, same func() bool) (was, is types.RowKind) {
	switch {
	case before && after:
		if same != nil && same() {
			return None, None
		}
		return types.UpdateBefore, types.UpdateAfter
	case before:
		return types.Delete, None
	case after:
		return None, types.Insert
	}
	return None, None
}
