package kvbatch

import (
	"github.com/tarnlake/tarn/types"
)

// FileFields are the columns of a key-value data file in file order: the key
// columns (none in thin mode, where readers take keys from the values),
// _SEQUENCE_NUMBER, _VALUE_KIND, then the values. keys are the fields of the
// trimmed primary key in key order, values all columns of the table.
// Source: format-map §13.
func FileFields(keys, values []types.Field, thin bool) []types.Field {
	out := make([]types.Field, 0, len(keys)+2+len(values))
	if !thin {
		for _, k := range keys {
			out = append(out, types.KeyField(k))
		}
	}
	out = append(out, types.SequenceNumberField(), types.ValueKindField())
	return append(out, values...)
}

// The columns of a merge row, as readers of sorted runs give them: the sequence
// number (int64, never null), the value kind (int8, never null), then values.
// Keys are not there twice: a key is the value of its column, in every file.
const (
	SequenceColumn = 0
	KindColumn     = 1
	ValueColumns   = 2
)

// MergeFields are the columns of a merge row over the values given.
func MergeFields(values []types.Field) []types.Field {
	out := make([]types.Field, 0, ValueColumns+len(values))
	out = append(out, types.SequenceNumberField(), types.ValueKindField())
	return append(out, values...)
}
