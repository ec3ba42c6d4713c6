package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// leafOut gathers the values of one leaf for one batch in Arrow's layout.
// Values are first appended densely, then spread over the rows that have one.
type leafOut struct {
	mem   memory.Allocator
	width int // bytes of a value; 0 for booleans, −1 for strings and bytes

	n        int // slots so far
	nulls    int
	validity *memory.Buffer // nil while there was no null
	data     *memory.Buffer // values, or bits
	offsets  *memory.Buffer // width −1: n+1 of them
	used     int            // width −1: bytes of data in use
	usual    int            // width −1: about what a batch uses
}

// reserve makes room for n slots in all.
func (o *leafOut) reserve(n int) {
	switch {
	case o.width > 0:
		o.data = sized(o.mem, o.data, n*o.width)
	case o.width == 0:
		old := bufLen(o.data)
		o.data = sized(o.mem, o.data, int(bitutil.BytesForBits(int64(n))))
		clear(o.data.Bytes()[min(old, o.data.Len()):])
	default:
		fresh := o.offsets == nil
		o.offsets = sized(o.mem, o.offsets, (n+1)*4)
		if fresh {
			clear(o.offsets.Bytes()[:4])
		}
	}
	if o.validity != nil {
		o.growValidity(n)
	}
}

func (o *leafOut) growValidity(n int) {
	old := bufLen(o.validity)
	o.validity = sized(o.mem, o.validity, int(bitutil.BytesForBits(int64(n))))
	clear(o.validity.Bytes()[min(old, o.validity.Len()):])
}

// nullable makes sure there is a bitmap for n slots, those so far being valid.
func (o *leafOut) nullable(n int) []byte {
	if o.validity == nil {
		o.growValidity(n)
		setBits(o.validity.Bytes(), 0, o.n)
	} else if o.validity.Len()*8 < n {
		o.growValidity(n)
	}
	return o.validity.Bytes()
}

func bufLen(b *memory.Buffer) int {
	if b == nil {
		return 0
	}
	return b.Len()
}

func sized(mem memory.Allocator, b *memory.Buffer, n int) *memory.Buffer {
	if b == nil {
		b = memory.NewResizableBuffer(mem)
	}
	if n > b.Len() {
		b.ResizeNoShrink(n)
	}
	return b
}

// room is where the next n bytes of strings go.
func (o *leafOut) room(n int) []byte {
	if n == 0 {
		return nil
	}
	if o.used+n > bufLen(o.data) {
		// Batches of a column are alike: begin with what the last one needed.
		o.data = sized(o.mem, o.data, max(o.used+n, 2*bufLen(o.data), o.usual, 256))
	}
	return o.data.Bytes()[o.used : o.used+n]
}

// spread moves the last valid values, which lie densely at the end, to the rows
// of the last k slots that the bitmap marks.
func (o *leafOut) spread(k, valid int) {
	if valid < k {
		bits := o.validity.Bytes()
		switch o.width {
		case 0:
			spreadBits(o.data.Bytes(), bits, o.n, k, valid)
		case 1:
			spread(o.data.Bytes()[o.n:], bits, o.n, k, valid)
		case 2:
			spread(valuesOf[uint16](o.data.Bytes())[o.n:], bits, o.n, k, valid)
		case 4:
			spread(valuesOf[uint32](o.data.Bytes())[o.n:], bits, o.n, k, valid)
		case 8:
			spread(valuesOf[uint64](o.data.Bytes())[o.n:], bits, o.n, k, valid)
		case 16:
			spread(valuesOf[[2]uint64](o.data.Bytes())[o.n:], bits, o.n, k, valid)
		default:
			spreadOffsets(valuesOf[int32](o.offsets.Bytes())[o.n:], bits, o.n, k, valid)
		}
		o.nulls += k - valid
	}
	o.n += k
}

func spread[T any](vals []T, bits []byte, off, k, valid int) {
	var zero T
	j := valid - 1
	for i := k - 1; i > j; i-- {
		if bitutil.BitIsSet(bits, off+i) {
			vals[i] = vals[j]
			j--
		} else {
			vals[i] = zero
		}
	}
}

func spreadBits(data, bits []byte, off, k, valid int) {
	j := valid - 1
	for i := k - 1; i > j; i-- {
		if bitutil.BitIsSet(bits, off+i) {
			bitutil.SetBitTo(data, off+i, bitutil.BitIsSet(data, off+j))
			j--
		} else {
			bitutil.ClearBit(data, off+i)
		}
	}
}

// spreadOffsets works on offsets[0…k]: offsets[0…valid] bound the dense values.
func spreadOffsets(offsets []int32, bits []byte, off, k, valid int) {
	j := valid
	for i := k; i > j; i-- {
		offsets[i] = offsets[j]
		if bitutil.BitIsSet(bits, off+i-1) {
			j--
		}
	}
}

// finish gives the array's data and empties o.
func (o *leafOut) finish(dt arrow.DataType) arrow.ArrayData {
	o.reserve(o.n) // a batch without rows of this leaf has buffers too
	bufs := []*memory.Buffer{o.validity}
	switch {
	case o.width > 0:
		o.data.ResizeNoShrink(o.n * o.width)
		bufs = append(bufs, o.data)
	case o.width == 0:
		bufs = append(bufs, o.data)
	default:
		o.data = sized(o.mem, o.data, 0)
		o.data.ResizeNoShrink(o.used)
		o.offsets.ResizeNoShrink((o.n + 1) * 4)
		o.usual = o.used + o.used/32
		bufs = append(bufs, o.offsets, o.data)
	}
	if o.nulls == 0 && o.validity != nil {
		o.validity.Release()
		bufs[0], o.validity = nil, nil
	}
	out := array.NewData(dt, o.n, bufs, nil, o.nulls, 0)
	o.release()
	return out
}

func (o *leafOut) release() {
	for _, b := range []**memory.Buffer{&o.validity, &o.data, &o.offsets} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
	o.n, o.nulls, o.used = 0, 0, 0
}
