package run

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Rows that a commit has added have the row ids and the sequence number that it gave
// their file. Rows that came from other files brought theirs along in columns of
// their own; a null there is a row that was changed on the way, or is new.
// Source: paimon-core io/DataFileRecordReader.

// tracking completes the row ids and sequence numbers of a file.
type tracking struct {
	mem  memory.Allocator
	file *datafile.Meta
}

// rowID reports that the column is to be completed with row ids, sequence that it is
// with sequence numbers.
func (t *tracking) rowID(c *schema.Column) bool { return t != nil && c.Wanted.ID == types.RowIDID }
func (t *tracking) sequence(c *schema.Column) bool {
	return t != nil && c.Wanted.ID == types.SequenceNumberID
}

// numbered reports that rows have to be known by their numbers to complete the columns.
func (t *tracking) numbered(cols []schema.Column) bool {
	return t != nil && t.file.FirstRowID != nil && slices.ContainsFunc(cols, func(c schema.Column) bool { return t.rowID(&c) })
}

// rowIDs are the row ids of rows with the numbers given; stored is what the file holds
// of them, nil for nothing. The caller releases them.
func (t *tracking) rowIDs(stored arrow.Array, numbers *array.Int64) (arrow.Array, error) {
	if stored != nil && stored.NullN() == 0 {
		stored.Retain()
		return stored, nil
	}
	if t.file.FirstRowID == nil {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading row ids", "rows of the file have none").
			WithHint("A compaction that did not know of row tracking has dropped them. The other columns can be read.")
	}
	first := *t.file.FirstRowID
	return t.completed(stored, numbers.Len(), func(i int) int64 { return first + numbers.Value(i) })
}

// sequences are the sequence numbers of n rows, likewise.
func (t *tracking) sequences(stored arrow.Array, n int) (arrow.Array, error) {
	if stored != nil && stored.NullN() == 0 {
		stored.Retain()
		return stored, nil
	}
	return t.completed(stored, n, func(int) int64 { return t.file.MaxSequence })
}

// completed is stored with values in place of its nulls.
func (t *tracking) completed(stored arrow.Array, n int, value func(i int) int64) (arrow.Array, error) {
	given, ok := stored.(*array.Int64)
	if stored != nil && !ok {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading row ids", "the column is no BIGINT", "type", stored.DataType())
	}
	return batch.Int64s(t.mem, n, func(out []int64) {
		for i := range out {
			if given != nil && given.IsValid(i) {
				out[i] = given.Value(i)
			} else {
				out[i] = value(i)
			}
		}
	}), nil
}

// columnsOf are the columns of a file that was written under a schema, as its format
// knows them.
func columnsOf(file *datafile.Meta, written *schema.Schema, tracks bool) []types.Field {
	if !tracks {
		return append([]types.Field{types.SequenceNumberField(), types.ValueKindField()}, written.Fields...)
	}
	if file.WriteCols == nil {
		return written.Fields
	}
	var out []types.Field
	for _, f := range written.Fields {
		if slices.Contains(file.WriteCols, f.Name) {
			out = append(out, f)
		}
	}
	for _, f := range types.RowTrackingFields() {
		if slices.Contains(file.WriteCols, f.Name) {
			f.Type = f.Type.WithNull(true)
			out = append(out, f)
		}
	}
	return out
}
