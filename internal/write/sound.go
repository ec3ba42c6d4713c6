package write

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
)

// Arrays made from foreign bytes may lead outside of their data, which arrow-go
// meets as a panic when a value is taken. Lengths of buffers cost nothing to check,
// offsets one pass over them and not over the values.

// checkArrays refuses a batch whose values are not where its arrays say.
func checkArrays(rec arrow.RecordBatch) error {
	for i, col := range rec.Columns() {
		err := array.Validate(col)
		switch {
		case err != nil:
		case int64(col.Len()) != rec.NumRows():
			err = fmt.Errorf("%d values in a batch of %d rows", col.Len(), rec.NumRows())
		case !sound(col, 0, col.Len()):
			err = fmt.Errorf("values that are not there, or offsets that do not ascend")
		}
		if err != nil {
			return tarnerr.Wrap(tarnerr.Invalid, "writing batch", fmt.Errorf("a malformed array: %w", err), "column", rec.ColumnName(i)).
				WithHint("Correct what made the array; nothing of the batch was taken.")
		}
	}
	return nil
}

// sound reports that values from to end of a, whose buffers are long enough, can be
// taken. What lies outside of them is not looked at: a may be a small part of much.
func sound(a arrow.Array, from, to int) bool {
	if from >= to {
		return from == to
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Data().Buffers()[1] != nil
	case *array.String:
		return ascending(a.ValueOffsets()[from : to+1])
	case *array.Binary:
		return ascending(a.ValueOffsets()[from : to+1])
	case *array.Map:
		first, last, ok := span(a.List, from, to)
		return ok && sound(a.Keys(), first, last) && sound(a.Items(), first, last)
	case *array.List:
		first, last, ok := span(a, from, to)
		return ok && sound(a.ListValues(), first, last)
	case *array.FixedSizeList:
		first, _ := a.ValueOffsets(from)
		_, last := a.ValueOffsets(to - 1)
		return sound(a.ListValues(), int(first), int(last))
	case *array.Struct:
		for i := range a.NumField() {
			if !sound(a.Field(i), from, to) {
				return false
			}
		}
	}
	return true
}

// span is where the elements of lists from to end of a lie.
func span(a *array.List, from, to int) (first, last int, ok bool) {
	at := a.Data().Offset()
	offsets := a.Offsets()[at+from : at+to+1]
	return int(offsets[0]), int(offsets[len(offsets)-1]), ascending(offsets)
}

// ascending reports offsets from 0 on of which none is below the one before.
func ascending(offsets []int32) bool {
	last := int32(0)
	for _, o := range offsets {
		if o < last {
			return false
		}
		last = o
	}
	return true
}
