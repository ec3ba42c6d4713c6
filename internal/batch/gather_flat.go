package batch

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gatherFixed gathers values of whole bytes.
func gatherFixed(mem memory.Allocator, dt arrow.FixedWidthDataType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	width := dt.BitWidth() / 8
	valid, nulls := validity(mem, srcs, refs)
	buf := newBuffer(mem, width*len(refs))
	switch width {
	case 1:
		pick[uint8](buf, srcs, refs)
	case 2:
		pick[uint16](buf, srcs, refs)
	case 4:
		pick[uint32](buf, srcs, refs)
	case 8:
		pick[uint64](buf, srcs, refs)
	case 16:
		pick[[2]uint64](buf, srcs, refs)
	case 32:
		pick[[4]uint64](buf, srcs, refs)
	default:
		pickBytes(buf, width, srcs, refs)
	}
	return finish(dt, len(refs), []*memory.Buffer{valid, buf}, nil, nulls), nil
}

func pick[T any](out *memory.Buffer, srcs []arrow.ArrayData, refs []Ref) {
	dst := reinterpret[T](out.Bytes())[:len(refs)]
	views := make([][]T, len(srcs))
	for i, s := range srcs {
		views[i] = values[T](s, 1)
	}
	if len(views) == 1 {
		src := views[0]
		for i, r := range refs {
			dst[i] = src[uint32(r)]
		}
		return
	}
	for i, r := range refs {
		dst[i] = views[r>>32][uint32(r)]
	}
}

func pickBytes(out *memory.Buffer, width int, srcs []arrow.ArrayData, refs []Ref) {
	views := make([][]byte, len(srcs))
	for i, s := range srcs {
		if s == nil {
			continue
		}
		if b := s.Buffers()[1]; b != nil {
			views[i] = b.Bytes()[s.Offset()*width:]
		} else {
			views[i] = make([]byte, s.Len()*width)
		}
	}
	dst := out.Bytes()
	for at := 0; len(refs) > 0; {
		n := run(refs)
		from := refs[0].Row() * width
		at += copy(dst[at:], views[refs[0].Source()][from:from+n*width])
		refs = refs[n:]
	}
}

func gatherBits(mem memory.Allocator, dt arrow.DataType, srcs []arrow.ArrayData, refs []Ref) arrow.ArrayData {
	valid, nulls := validity(mem, srcs, refs)
	buf := newBuffer(mem, (len(refs)+7)/8)
	views := bitmaps(len(srcs), zeroes)
	for i, s := range srcs {
		if s != nil && s.Buffers()[1] != nil {
			views[i] = bitsOf(s.Buffers()[1], s.Offset())
		}
	}
	pickBits(buf.Bytes(), views, refs)
	return finish(dt, len(refs), []*memory.Buffer{valid, buf}, nil, nulls)
}

// gatherBytes gathers strings and binaries with offsets of type O. Bytes of
// consecutive rows are copied in one go.
func gatherBytes[O int32 | int64](mem memory.Allocator, dt arrow.DataType, srcs []arrow.ArrayData, refs []Ref) (arrow.ArrayData, error) {
	views := make([][]O, len(srcs))
	bytes := make([][]byte, len(srcs))
	for i, s := range srcs {
		views[i] = values[O](s, 1, 1)
		if s != nil && s.Buffers()[2] != nil {
			bytes[i] = s.Buffers()[2].Bytes()
		}
	}
	offsets := newBuffer(mem, (len(refs)+1)*int(unsafe.Sizeof(O(0))))
	dst := reinterpret[O](offsets.Bytes())
	total := int64(0)
	dst[0] = 0
	for i, r := range refs {
		off, row := views[r>>32], uint32(r)
		total += int64(off[row+1] - off[row])
		dst[i+1] = O(total)
	}
	if int64(O(total)) != total || (unsafe.Sizeof(O(0)) == 4 && total > maxOffset) {
		offsets.Release()
		return nil, ErrTooLarge
	}
	valid, nulls := validity(mem, srcs, refs)
	data := newBuffer(mem, int(total))
	out := data.Bytes()
	for i := 0; i < len(refs); {
		n := run(refs[i:])
		src, at := refs[i].Source(), int(dst[i])
		CopyShort(out, at, bytes[src], int(views[src][refs[i].Row()]), int(dst[i+n])-at)
		i += n
	}
	return finish(dt, len(refs), []*memory.Buffer{valid, offsets, data}, nil, nulls), nil
}

// CopyShort copies n bytes from src[from:] to dst[at:]. Short strings, which most
// are, go as two words of fixed size when both sides have room for them: what is
// written too much lies where the caller writes what follows later.
func CopyShort(dst []byte, at int, src []byte, from, n int) {
	const word = 16
	if n <= 2*word && at+2*word <= len(dst) && from+2*word <= len(src) {
		d, s := unsafe.Pointer(&dst[at]), unsafe.Pointer(&src[from])
		*(*[word]byte)(d) = *(*[word]byte)(s)
		if n > word {
			*(*[word]byte)(unsafe.Add(d, word)) = *(*[word]byte)(unsafe.Add(s, word))
		}
		return
	}
	copy(dst[at:at+n], src[from:from+n])
}

// values is buffer number at of a column as values of type T from the column's
// offset on, with extra values behind the last row. A column without the buffer
// counts as zeroes.
func values[T any](s arrow.ArrayData, at int, extra ...int) []T {
	if s == nil {
		return nil
	}
	n := s.Len()
	for _, e := range extra {
		n += e
	}
	b := s.Buffers()[at]
	if b == nil || b.Len() == 0 {
		return make([]T, n)
	}
	return reinterpret[T](b.Bytes())[s.Offset():][:n]
}

func reinterpret[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}
