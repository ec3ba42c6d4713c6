package batch

import (
	"errors"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// ErrTooLarge is returned by Gather when a column of the result would not fit
// its 32-bit offsets; the caller gathers fewer rows at a time.
var ErrTooLarge = errors.New("column of more than 2 GiB in one batch")

// Gather makes a batch of the rows named by refs, in their order. Column i of
// the result is column columns[i] of the sources (all columns when nil), which
// must have the type of schema's field i in every source that refs name.
//
// Sources that no ref names may be nil. The sources are borrowed.
func Gather(mem memory.Allocator, schema *arrow.Schema, sources []arrow.RecordBatch, columns []int, refs []Ref) (arrow.RecordBatch, error) {
	n := schema.NumFields()
	if columns != nil && len(columns) != n {
		return nil, tarnerr.New(tarnerr.Internal, "gathering rows", "column list does not fit the schema", "columns", len(columns), "fields", n)
	}
	cols := make([]arrow.Array, 0, n)
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	data := make([]arrow.ArrayData, len(sources))
	for i := range n {
		from := i
		if columns != nil {
			from = columns[i]
		}
		for s, src := range sources {
			data[s] = nil
			if src != nil {
				data[s] = src.Column(from).Data()
			}
		}
		out, err := gather(mem, schema.Field(i).Type, data, refs)
		if err != nil {
			if errors.Is(err, ErrTooLarge) {
				return nil, err
			}
			return nil, tarnerr.Trace("gathering rows", err, "column", schema.Field(i).Name)
		}
		cols = append(cols, array.MakeFromData(out))
		out.Release()
	}
	return array.NewRecordBatch(schema, cols, int64(len(refs))), nil
}

// GatherColumn gathers rows of one column, as Gather does for each of a batch.
// Sources that no ref names may be nil. The caller releases the result.
func GatherColumn(mem memory.Allocator, dt arrow.DataType, sources []arrow.Array, refs []Ref) (arrow.Array, error) {
	return gatherColumn(mem, dt, sources, refs, false)
}

// GatherValid gathers rows of one column none of which is null, and does not look for
// nulls among them, but in dictionaries.
func GatherValid(mem memory.Allocator, dt arrow.DataType, sources []arrow.Array, refs []Ref) (arrow.Array, error) {
	return gatherColumn(mem, dt, sources, refs, true)
}

func gatherColumn(mem memory.Allocator, dt arrow.DataType, sources []arrow.Array, refs []Ref, valid bool) (arrow.Array, error) {
	data := make([]arrow.ArrayData, len(sources))
	for i, s := range sources {
		if s == nil {
			continue
		}
		data[i] = s.Data()
		// Data made of buffers would lose a dictionary.
		if d := data[i]; valid && d.NullN() > 0 && d.DataType().ID() != arrow.DICTIONARY {
			buffers := append([]*memory.Buffer{nil}, d.Buffers()[1:]...)
			data[i] = array.NewData(d.DataType(), d.Len(), buffers, d.Children(), 0, d.Offset())
			defer data[i].Release()
		}
	}
	out, err := gather(mem, dt, data, refs)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return array.MakeFromData(out), nil
}

// gather makes one column. The caller releases the result.
func gather(mem memory.Allocator, dt arrow.DataType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	for _, s := range srcs {
		if s != nil && s.DataType().ID() != dt.ID() {
			return nil, tarnerr.New(tarnerr.Internal, "gathering column", "sources of different types", "want", dt, "got", s.DataType())
		}
	}
	switch t := dt.(type) {
	case *arrow.NullType:
		return array.NewData(t, len(refs), []*memory.Buffer{nil}, nil, len(refs), 0), nil
	case arrow.ExtensionType:
		storage := make([]arrow.ArrayData, len(srcs))
		for i, s := range srcs {
			if s != nil {
				storage[i] = array.NewData(t.StorageType(), s.Len(), s.Buffers(), s.Children(), s.NullN(), s.Offset())
				defer storage[i].Release()
			}
		}
		out, err := gather(mem, t.StorageType(), storage, refs)
		if err != nil {
			return nil, err
		}
		defer out.Release()
		return array.NewData(t, out.Len(), out.Buffers(), out.Children(), out.NullN(), 0), nil
	case *arrow.BooleanType:
		return gatherBits(mem, t, srcs, refs), nil
	case *arrow.StringType, *arrow.BinaryType:
		return gatherBytes[int32](mem, t, srcs, refs)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return gatherBytes[int64](mem, t, srcs, refs)
	case *arrow.StructType:
		return gatherStruct(mem, t, srcs, refs)
	case *arrow.ListType:
		return gatherLists[int32](mem, t, t.Elem(), srcs, refs)
	case *arrow.MapType:
		return gatherLists[int32](mem, t, t.Elem(), srcs, refs)
	case *arrow.LargeListType:
		return gatherLists[int64](mem, t, t.Elem(), srcs, refs)
	case *arrow.FixedSizeListType:
		return gatherFixedLists(mem, t, srcs, refs)
	case *arrow.DictionaryType:
		return gatherSlices(mem, t, srcs, refs)
	case arrow.FixedWidthDataType:
		return gatherFixed(mem, t, srcs, refs)
	}
	return gatherSlices(mem, dt, srcs, refs)
}

// gatherSlices is the way for types without a way of their own: it cuts the
// sources into slices and concatenates them.
func gatherSlices(mem memory.Allocator, dt arrow.DataType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	arrays := make([]arrow.Array, len(srcs))
	for i, s := range srcs {
		if s != nil {
			arrays[i] = array.MakeFromData(s)
			defer arrays[i].Release()
		}
	}
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for len(refs) > 0 {
		n := run(refs)
		from := int64(refs[0].Row())
		parts = append(parts, array.NewSlice(arrays[refs[0].Source()], from, from+int64(n)))
		refs = refs[n:]
	}
	if len(parts) == 0 {
		empty := array.NewBuilder(mem, dt)
		defer empty.Release()
		parts = append(parts, empty.NewArray())
	}
	out, err := array.Concatenate(parts, mem)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "concatenating column", err)
	}
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}

// validity gathers the null bits. It returns nil when no row is null.
func validity(mem memory.Allocator, srcs []arrow.ArrayData, refs []Ref) (*memory.Buffer, int) {
	var views []bitmap
	for i, s := range srcs {
		if s == nil || s.Buffers()[0] == nil || s.NullN() == 0 {
			continue
		}
		if views == nil {
			views = bitmaps(len(srcs), ones)
		}
		views[i] = bitsOf(s.Buffers()[0], s.Offset())
	}
	if views == nil {
		return nil, 0
	}
	buf := newBuffer(mem, (len(refs)+7)/8)
	valid := pickBits(buf.Bytes(), views, refs)
	if valid == len(refs) {
		buf.Release()
		return nil, 0
	}
	return buf, len(refs) - valid
}

// bitmap is the bits of one source from off on. Where all are the same, the mask of
// the number of the byte leaves the first byte alone.
type bitmap struct {
	b    []byte
	off  uint
	mask uint
}

func bitsOf(b *memory.Buffer, off int) bitmap { return bitmap{b.Bytes(), uint(off), ^uint(0)} }

var ones, zeroes = bitmap{b: []byte{0xff}}, bitmap{b: []byte{0}}

// bitmaps are as many times the same.
func bitmaps(n int, b bitmap) []bitmap {
	out := make([]bitmap, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// pickBits gathers bits and counts the ones.
func pickBits(out []byte, views []bitmap, refs []Ref) (ones int) {
	for i := 0; i < len(refs); i += 8 {
		var b byte
		for j, r := range refs[i:min(i+8, len(refs))] {
			v := &views[r>>32]
			at := v.off + uint(uint32(r))
			b |= v.b[at>>3&v.mask] >> (at & 7) & 1 << (j & 7)
		}
		out[i>>3] = b
		ones += bits.OnesCount8(b)
	}
	return ones
}

func newBuffer(mem memory.Allocator, bytes int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(bytes)
	return b
}

// finish wraps buffers into column data and drops the caller's references to them.
func finish(dt arrow.DataType, n int, buffers []*memory.Buffer, children []arrow.ArrayData, nulls int) arrow.ArrayData {
	out := array.NewData(dt, n, buffers, children, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return out
}

const maxOffset = math.MaxInt32
