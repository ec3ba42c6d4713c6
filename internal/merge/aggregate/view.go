package aggregate

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// None is the reference of a value that is null.
const None = ^batch.Ref(0)

const none = None

// nulls are the null bits of sources, nil where none of them has a null.
type nulls = bitmaps

// bitmaps are bits of sources.
type bitmaps []bitsOfSource

// bitsOfSource are the bits of one source from off on. Where all are the same, the mask of
// the number of the byte leaves the first byte alone.
type bitsOfSource struct {
	bits      []byte
	off, mask uint
}

func nullsOf(sources []arrow.Array) nulls {
	var out nulls
	for i, s := range sources {
		if s == nil || s.NullN() == 0 {
			continue
		}
		if out == nil {
			out = make(nulls, len(sources))
			for i := range out {
				out[i].bits = allSet
			}
		}
		if bits := s.NullBitmapBytes(); bits != nil {
			out[i] = bitsOfSource{bits, uint(s.Data().Offset()), ^uint(0)}
		} else {
			out[i].bits = noneSet // all are null, which needs no bits
		}
	}
	return out
}

var allSet, noneSet = []byte{0xff}, []byte{0}

// at reports a null.
func (b bitmaps) at(r batch.Ref) bool { return b != nil && b.bit(r) == 0 }

// bit is the bit of a row, 1 or 0. It is not asked of nil.
func (b bitmaps) bit(r batch.Ref) uint64 {
	v := &b[r>>32]
	i := v.off + uint(uint32(r))
	return uint64(v.bits[i>>3&v.mask] >> (i & 7) & 1)
}

// truths are the values of sources of booleans, as bits.
func truths(sources []arrow.Array) bitmaps {
	out := make(bitmaps, len(sources))
	for i, s := range sources {
		out[i].bits = noneSet
		if s != nil && s.Data().Buffers()[1] != nil {
			out[i] = bitsOfSource{s.Data().Buffers()[1].Bytes(), uint(s.Data().Offset()), ^uint(0)}
		}
	}
	return out
}

// valuesOf are the values of sources of fixed width, which nulls have, too: where all
// are null there may be no buffer of them.
func valuesOf[T arrow.FixedWidthType](sources []arrow.Array) [][]T {
	out := make([][]T, len(sources))
	for i, s := range sources {
		if s == nil {
			continue
		}
		if d := s.Data(); d.Buffers()[1] != nil {
			out[i] = arrow.GetValues[T](d, 1)
		} else {
			out[i] = make([]T, d.Len())
		}
	}
	return out
}

// stringsOf are the values of sources of bytes or strings, as they lie there.
type stringsOf []bytesView

type bytesView struct {
	offsets []int32
	data    []byte
}

func bytesOf(sources []arrow.Array) stringsOf {
	out := make(stringsOf, len(sources))
	for i, s := range sources {
		if s == nil || s.Len() == 0 {
			continue
		}
		d := s.Data()
		out[i].offsets = offsetsOf(d)
		if b := d.Buffers()[2]; b != nil {
			out[i].data = b.Bytes()
		}
	}
	return out
}

// offsetsOf are the offsets of a column of bytes, lists or maps, from its first row on.
func offsetsOf(d arrow.ArrayData) []int32 {
	return arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()+1]
}

func (s stringsOf) at(r batch.Ref) []byte {
	v, i := &s[r>>32], uint32(r)
	return v.data[v.offsets[i]:v.offsets[i+1]]
}

// flat is a column of fixed width in the making.
type flat[T any] struct {
	values *memory.Buffer
	out    []T
	valid  validity
}

func newFlat[T any](mem memory.Allocator, n int) *flat[T] {
	var zero T
	f := &flat[T]{values: memory.NewResizableBuffer(mem), valid: newValidity(mem, n)}
	f.values.Resize(n * int(unsafe.Sizeof(zero)))
	if n > 0 {
		f.out = unsafe.Slice((*T)(unsafe.Pointer(&f.values.Bytes()[0])), n)
	}
	return f
}

func (f *flat[T]) set(i int, v T, ok bool) {
	f.out[i] = v
	if !ok {
		f.valid.null(i)
	}
}

func (f *flat[T]) finish(dt arrow.DataType) arrow.Array {
	return finish(dt, len(f.out), &f.valid, f.values)
}

func (f *flat[T]) release() {
	f.values.Release()
	f.valid.buf.Release()
}

// validity are the null bits of a column in the making.
type validity struct {
	buf   *memory.Buffer
	bits  []byte
	nulls int
}

func newValidity(mem memory.Allocator, n int) validity {
	b := memory.NewResizableBuffer(mem)
	b.Resize((n + 7) / 8)
	v := validity{buf: b, bits: b.Bytes()}
	for i := range v.bits {
		v.bits[i] = 0xff
	}
	return v
}

func (v *validity) null(i int) {
	v.bits[i>>3] &^= 1 << (i & 7)
	v.nulls++
}

// finish makes the array of buffers, whose references it takes over.
func finish(dt arrow.DataType, n int, valid *validity, buffers ...*memory.Buffer) arrow.Array {
	return finishNested(dt, n, valid, nil, buffers...)
}

func finishNested(dt arrow.DataType, n int, valid *validity, kids []arrow.ArrayData, buffers ...*memory.Buffer) arrow.Array {
	all := append([]*memory.Buffer{valid.buf}, buffers...)
	if valid.nulls == 0 {
		all[0] = nil
	}
	d := array.NewData(dt, n, all, kids, valid.nulls, 0)
	defer d.Release()
	valid.buf.Release()
	for _, b := range buffers {
		b.Release()
	}
	return array.MakeFromData(d)
}
