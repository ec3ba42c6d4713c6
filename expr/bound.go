package expr

import "github.com/tarnlake/tarn/types"

// Bound is a predicate bound to columns: names resolved, literals converted to
// the columns' types. Immutable and safe for concurrent use.
type Bound struct {
	root   node
	fields map[string]types.Field
}
