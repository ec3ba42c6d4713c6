package aggregate

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// listColumn is an ARRAY or MAP column in the making: elements by reference.
type listColumn struct {
	mem     memory.Allocator
	offsets *memory.Buffer
	ends    []int32
	n       int
	valid   validity
	items   []batch.Ref
}

func newList(mem memory.Allocator, n int) *listColumn {
	l := &listColumn{mem: mem, offsets: memory.NewResizableBuffer(mem), valid: newValidity(mem, n)}
	l.offsets.Resize((n + 1) * arrow.Int32SizeBytes)
	l.ends = arrow.Int32Traits.CastFromBytes(l.offsets.Bytes())
	l.ends[0] = 0
	return l
}

// reserve makes room for the elements of the rows that refs name, as many as may come
// out at most.
func (l *listColumn) reserve(in *lists, refs []batch.Ref) {
	n := 0
	for _, r := range refs {
		if !in.nulls.at(r) {
			off, row := in.offsets[r.Source()], r.Row()
			n += int(off[row+1] - off[row])
		}
	}
	l.items = make([]batch.Ref, 0, n)
}

// end ends the row of the items appended since the row before.
func (l *listColumn) end(null bool) error {
	if null {
		l.valid.null(l.n)
	}
	return l.endAt(len(l.items))
}

func (l *listColumn) endAt(items int) error {
	if items > types.MaxLength {
		return batch.ErrTooLarge
	}
	l.n++
	l.ends[l.n] = int32(items)
	return nil
}

// finish gathers the elements and makes the column.
func (l *listColumn) finish(dt arrow.DataType, kids []arrow.Array) (arrow.Array, error) {
	elements, err := batch.GatherColumn(l.mem, dt.(arrow.ListLikeType).Elem(), kids, l.items)
	if err != nil {
		l.release()
		return nil, err
	}
	defer elements.Release()
	return l.of(dt, elements), nil
}

// of makes the column of elements given.
func (l *listColumn) of(dt arrow.DataType, elements arrow.Array) arrow.Array {
	return finishNested(dt, l.n, &l.valid, []arrow.ArrayData{elements.Data()}, l.offsets)
}

func (l *listColumn) release() {
	l.offsets.Release()
	l.valid.buf.Release()
}
