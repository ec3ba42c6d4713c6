package batch

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// children are child number at of every source.
func children(srcs []arrow.ArrayData, at int) []arrow.ArrayData {
	out := make([]arrow.ArrayData, len(srcs))
	for i, s := range srcs {
		if s != nil {
			out[i] = s.Children()[at]
		}
	}
	return out
}

func gatherStruct(mem memory.Allocator, dt *arrow.StructType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	inner := refs
	for _, s := range srcs {
		if s != nil && s.Offset() != 0 {
			inner = shifted(srcs, refs)
			break
		}
	}
	members := make([]arrow.ArrayData, 0, dt.NumFields())
	for i := range dt.NumFields() {
		m, err := gather(mem, dt.Field(i).Type, children(srcs, i), inner)
		if err != nil {
			for _, m := range members {
				m.Release()
			}
			return nil, err
		}
		members = append(members, m)
	}
	valid, nulls := validity(mem, srcs, refs)
	return finish(dt, len(refs), []*memory.Buffer{valid}, members, nulls), nil
}

// shifted are refs as rows of the children of sliced columns.
func shifted(srcs []arrow.ArrayData, refs []Ref) []Ref {
	out := make([]Ref, len(refs))
	for i, r := range refs {
		out[i] = r + Ref(srcs[r.Source()].Offset())
	}
	return out
}

// gatherLists gathers lists and maps with offsets of type O.
func gatherLists[O int32 | int64](mem memory.Allocator, dt, elem arrow.DataType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	views := make([][]O, len(srcs))
	for i, s := range srcs {
		views[i] = values[O](s, 1, 1)
	}
	total := 0
	for _, r := range refs {
		off, row := views[r.Source()], r.Row()
		total += int(off[row+1] - off[row])
	}
	if unsafe.Sizeof(O(0)) == 4 && total > maxOffset {
		return nil, ErrTooLarge
	}
	offsets := newBuffer(mem, (len(refs)+1)*int(unsafe.Sizeof(O(0))))
	dst := reinterpret[O](offsets.Bytes())
	dst[0] = 0
	inner := make([]Ref, 0, total)
	for i, r := range refs {
		off, row := views[r.Source()], r.Row()
		inner = AppendRange(inner, r.Source(), int(off[row]), int(off[row+1]))
		dst[i+1] = O(len(inner))
	}
	elements, err := gather(mem, elem, children(srcs, 0), inner)
	if err != nil {
		offsets.Release()
		return nil, err
	}
	valid, nulls := validity(mem, srcs, refs)
	return finish(dt, len(refs), []*memory.Buffer{valid, offsets}, []arrow.ArrayData{elements}, nulls), nil
}

func gatherFixedLists(mem memory.Allocator, dt *arrow.FixedSizeListType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	n := int(dt.Len())
	inner := make([]Ref, 0, n*len(refs))
	for _, r := range refs {
		from := (srcs[r.Source()].Offset() + r.Row()) * n
		inner = AppendRange(inner, r.Source(), from, from+n)
	}
	elements, err := gather(mem, dt.Elem(), children(srcs, 0), inner)
	if err != nil {
		return nil, err
	}
	valid, nulls := validity(mem, srcs, refs)
	return finish(dt, len(refs), []*memory.Buffer{valid}, []arrow.ArrayData{elements}, nulls), nil
}
