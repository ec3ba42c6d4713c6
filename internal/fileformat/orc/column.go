package orc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column gathers the values of one node for one batch in Arrow's layout. Values
// are first appended densely, then spread over the slots that have one.
type column struct {
	mem   memory.Allocator
	width int // bytes of a value; 0 for booleans, −1 for strings and bytes, −2 for nested types without lengths

	n        int // slots so far
	nulls    int
	validity *memory.Buffer // nil while there was no null
	data     *memory.Buffer // values, or bits
	offsets  *memory.Buffer // width −1: n+1 of them
	used     int            // width −1: bytes of data in use
	usual    int            // width −1: about what a batch uses
}

// widthNone is the width of structs, which have validity alone.
const widthNone = -2

// reserve makes room for n slots in all.
func (c *column) reserve(n int) {
	switch {
	case c.width > 0:
		c.data = resized(c.mem, c.data, n*c.width)
	case c.width == 0:
		c.data = clearResized(c.mem, c.data, int(bitutil.BytesForBits(int64(n))))
	case c.width == -1:
		fresh := c.offsets == nil
		c.offsets = resized(c.mem, c.offsets, (n+1)*4)
		if fresh {
			clear(c.offsets.Bytes()[:4])
		}
	}
}

// nullable makes sure there is a bitmap for n slots; those beyond the slots so
// far are zero.
func (c *column) nullable(n int) []byte {
	fresh := c.validity == nil
	c.validity = clearResized(c.mem, c.validity, int(bitutil.BytesForBits(int64(n))))
	if fresh {
		bitutil.SetBitsTo(c.validity.Bytes(), 0, int64(c.n), true)
	}
	return c.validity.Bytes()
}

func resized(mem memory.Allocator, b *memory.Buffer, n int) *memory.Buffer {
	if b == nil {
		b = memory.NewResizableBuffer(mem)
	}
	if n > b.Len() {
		if n > b.Cap() && b.Cap() > 0 {
			b.Reserve(max(n, 2*b.Cap()))
		}
		b.ResizeNoShrink(n)
	}
	return b
}

func clearResized(mem memory.Allocator, b *memory.Buffer, n int) *memory.Buffer {
	old := 0
	if b != nil {
		old = b.Len()
	}
	b = resized(mem, b, n)
	clear(b.Bytes()[min(old, n):])
	return b
}

// room is where the next n bytes of strings go.
func (c *column) room(n int) []byte {
	if n == 0 {
		return nil
	}
	if c.data == nil {
		c.data = resized(c.mem, nil, max(n, c.usual, 256))
	}
	c.data = resized(c.mem, c.data, c.used+n)
	return c.data.Bytes()[c.used : c.used+n]
}

// spread moves the last valid values, which lie densely at the end, to the slots
// of the last k that the bitmap marks.
func (c *column) spread(k, valid int) {
	if valid < k {
		bits := c.validity.Bytes()
		switch c.width {
		case 0:
			spreadBits(c.data.Bytes(), bits, c.n, k, valid)
		case 1:
			spread(c.data.Bytes()[c.n:], bits, c.n, k, valid)
		case 2:
			spread(valuesOf[uint16](c.data.Bytes())[c.n:], bits, c.n, k, valid)
		case 4:
			spread(valuesOf[uint32](c.data.Bytes())[c.n:], bits, c.n, k, valid)
		case 8:
			spread(valuesOf[uint64](c.data.Bytes())[c.n:], bits, c.n, k, valid)
		case 16:
			spread(valuesOf[[2]uint64](c.data.Bytes())[c.n:], bits, c.n, k, valid)
		case -1:
			spreadOffsets(valuesOf[int32](c.offsets.Bytes())[c.n:], bits, c.n, k, valid)
		}
		c.nulls += k - valid
	}
	c.n += k
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

// finish gives the array's data and empties c. Kids stay the caller's.
func (c *column) finish(dt arrow.DataType, kids []arrow.ArrayData) arrow.ArrayData {
	c.reserve(c.n) // a batch without slots has buffers too
	bufs := []*memory.Buffer{c.validity}
	if c.nulls == 0 {
		bufs[0] = nil
	}
	switch {
	case c.width >= 0:
		bufs = append(bufs, c.data)
	case c.width == -1:
		bufs = append(bufs, c.offsets)
		if kids == nil {
			c.data = resized(c.mem, c.data, 0)
			c.data.ResizeNoShrink(c.used)
			c.usual = c.used + c.used/32
			bufs = append(bufs, c.data)
		}
	}
	out := array.NewData(dt, c.n, bufs, kids, c.nulls, 0)
	c.release()
	return out
}

func (c *column) release() {
	for _, b := range []**memory.Buffer{&c.validity, &c.data, &c.offsets} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
	c.n, c.nulls, c.used = 0, 0, 0
}
