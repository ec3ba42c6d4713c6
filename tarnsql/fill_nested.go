//go:build cgo && !tarn_nosql

package tarnsql

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/types"
)

// listEntry is where the elements of one LIST or MAP lie in the child vector.
type listEntry struct{ offset, length uint64 }

func fillNested(vec mapping.Vector, t types.Type, arr arrow.Array, from, n int) error {
	switch a := arr.(type) {
	case *array.Map:
		child, first, count, err := fillEntries(vec, a, from, n)
		if err != nil {
			return err
		}
		key, value := entryTypes(t)
		if err := fill(mapping.StructVectorGetChild(child, 0), key, a.Keys(), first, count); err != nil {
			return err
		}
		return fill(mapping.StructVectorGetChild(child, 1), value, a.Items(), first, count)
	case *array.List:
		child, first, count, err := fillEntries(vec, a, from, n)
		if err != nil {
			return err
		}
		return fill(child, *t.Element, a.ListValues(), first, count)
	case *array.FixedSizeList:
		first, _ := a.ValueOffsets(from)
		if err := fill(mapping.ArrayVectorGetChild(vec), *t.Element, a.ListValues(), int(first), n*t.Length); err != nil {
			return err
		}
	case *array.Struct:
		for i, f := range members(t) {
			if err := fill(mapping.StructVectorGetChild(vec, mapping.IdxT(i)), f.Type, a.Field(i), from, n); err != nil {
				return err
			}
		}
	}
	// What is inside a null is null as well: DuckDB looks at the inside alone.
	if arr.NullN() > 0 {
		for i := range n {
			if arr.IsNull(from + i) {
				clearInside(vec, t, i)
			}
		}
	}
	return nil
}

// fillEntries sets the entries of a LIST or MAP and makes room in its child,
// which takes count elements of the array's from first on.
func fillEntries(vec mapping.Vector, a array.ListLike, from, n int) (child mapping.Vector, first, count int, err error) {
	lo, _ := a.ValueOffsets(from)
	_, hi := a.ValueOffsets(from + n - 1)
	entries := vectorData[listEntry](vec, n)
	for i := range entries {
		start, end := a.ValueOffsets(from + i)
		entries[i] = listEntry{uint64(start - lo), uint64(end - start)}
	}
	count = int(hi - lo)
	if err := resizeList(vec, count); err != nil {
		return child, 0, 0, err
	}
	return mapping.ListVectorGetChild(vec), int(lo), count, nil
}

// clearInside makes all that lies inside row null.
func clearInside(vec mapping.Vector, t types.Type, row int) {
	switch t.Root {
	case types.Vector:
		child := mapping.ArrayVectorGetChild(vec)
		for i := range t.Length {
			setNull(child, *t.Element, row*t.Length+i)
		}
	case types.Row, types.Variant:
		for i, f := range members(t) {
			setNull(mapping.StructVectorGetChild(vec, mapping.IdxT(i)), f.Type, row)
		}
	}
}

func setNull(vec mapping.Vector, t types.Type, row int) {
	mapping.VectorEnsureValidityWritable(vec)
	word := (*uint64)(unsafe.Add(mapping.VectorGetValidity(vec), row/64*8))
	*word &^= 1 << (row % 64)
	clearInside(vec, t, row)
}
