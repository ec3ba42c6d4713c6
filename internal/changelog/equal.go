package changelog

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Equal compares rows of two batches in some of their columns: values as they
// are stored, so that −0.0 differs from 0.0, but any NaN equals any other, nulls
// equal nulls, and the order of a map's entries does not matter. Immutable and
// safe for concurrent use.
type Equal struct{ columns []int }

// NewEqual compares the columns named by their places in both batches.
func NewEqual(columns []int) *Equal { return &Equal{columns} }

// Rows reports that row i of a and row j of b are equal.
func (e *Equal) Rows(a arrow.RecordBatch, i int, b arrow.RecordBatch, j int) bool {
	for _, c := range e.columns {
		if !valuesEqual(a.Column(c), i, b.Column(c), j) {
			return false
		}
	}
	return true
}

func valuesEqual(a arrow.Array, i int, b arrow.Array, j int) bool {
	if null := a.IsNull(i); null || b.IsNull(j) {
		return null && b.IsNull(j)
	}
	switch x := a.(type) {
	case *array.Int64:
		return x.Value(i) == b.(*array.Int64).Value(j)
	case *array.Int32:
		return x.Value(i) == b.(*array.Int32).Value(j)
	case *array.String:
		return x.Value(i) == b.(*array.String).Value(j)
	case *array.Float64:
		return floatsEqual(x.Value(i), b.(*array.Float64).Value(j))
	case *array.Float32:
		return floatsEqual(float64(x.Value(i)), float64(b.(*array.Float32).Value(j)))
	case *array.Boolean:
		return x.Value(i) == b.(*array.Boolean).Value(j)
	case *array.Timestamp:
		return x.Value(i) == b.(*array.Timestamp).Value(j)
	case *array.Decimal128:
		return x.Value(i) == b.(*array.Decimal128).Value(j)
	case *array.Date32:
		return x.Value(i) == b.(*array.Date32).Value(j)
	case *array.Time32:
		return x.Value(i) == b.(*array.Time32).Value(j)
	case *array.Int8:
		return x.Value(i) == b.(*array.Int8).Value(j)
	case *array.Int16:
		return x.Value(i) == b.(*array.Int16).Value(j)
	case *array.Binary:
		return bytes.Equal(x.Value(i), b.(*array.Binary).Value(j))
	case *array.FixedSizeBinary:
		return bytes.Equal(x.Value(i), b.(*array.FixedSizeBinary).Value(j))
	case *array.Struct:
		y := b.(*array.Struct)
		for f := range x.NumField() {
			if !valuesEqual(x.Field(f), i, y.Field(f), j) {
				return false
			}
		}
		return true
	case *array.Map:
		return mapsEqual(x, i, b.(*array.Map), j)
	case array.ListLike:
		y := b.(array.ListLike)
		from, to := x.ValueOffsets(i)
		other, end := y.ValueOffsets(j)
		if to-from != end-other {
			return false
		}
		for k := range int(to - from) {
			if !valuesEqual(x.ListValues(), int(from)+k, y.ListValues(), int(other)+k) {
				return false
			}
		}
		return true
	}
	return array.SliceEqual(a, int64(i), int64(i+1), b, int64(j), int64(j+1))
}

func floatsEqual(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// mapsEqual wants each entry of one map among those of the other, whose keys are
// as many and unique.
func mapsEqual(a *array.Map, i int, b *array.Map, j int) bool {
	from, to := a.ValueOffsets(i)
	other, end := b.ValueOffsets(j)
	if to-from != end-other {
		return false
	}
	for k := from; k < to; k++ {
		found := false
		for step := range end - other {
			// Entries mostly stand in the same order: begin at the same place.
			l := other + (k-from+step)%(end-other)
			if valuesEqual(a.Keys(), int(k), b.Keys(), int(l)) {
				found = valuesEqual(a.Items(), int(k), b.Items(), int(l))
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
