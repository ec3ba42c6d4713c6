package batch

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Column gathers the values of one column for one batch in Arrow's layout, for
// decoders of columnar files. Values are first appended densely from slot N on,
// then spread over the slots that have one.
type Column struct {
	Mem   memory.Allocator
	Width int // bytes of a value, or one of the widths below
	// Allowance is told what the column grows by; nil tells nobody.
	Allowance *Allowance

	N        int // slots so far
	Nulls    int
	Validity *memory.Buffer // nil while there was no null
	Data     *memory.Buffer // values, or bits
	Offsets  *memory.Buffer // WidthText: N+1 of them
	Used     int            // WidthText: bytes of Data in use, or elements of a list
	usual    int            // WidthText: about what a batch uses
	counted  int            // WidthText: bytes of Data that the allowance knows of
}

// Widths of columns that have no values of whole bytes.
const (
	WidthBits = 0  // booleans
	WidthText = -1 // strings, bytes and lists: whatever has offsets
	WidthNone = -2 // structs, which have validity alone
)

// Reserve makes room for n slots in all. Bits are zero where there were none.
func (c *Column) Reserve(n int) {
	switch {
	case c.Width > 0:
		c.Data = c.sized(c.Data, n*c.Width)
	case c.Width == WidthBits:
		c.Data = c.cleared(c.Data, int(bitutil.BytesForBits(int64(n))))
	case c.Width == WidthText:
		fresh := c.Offsets == nil
		c.Offsets = c.sized(c.Offsets, (n+1)*4)
		if fresh {
			clear(c.Offsets.Bytes()[:4])
		}
	}
}

// Nullable makes sure that there is a bitmap for n slots: those so far are as
// they were, the others not valid yet.
func (c *Column) Nullable(n int) []byte {
	fresh := c.Validity == nil
	c.Validity = c.cleared(c.Validity, int(bitutil.BytesForBits(int64(n))))
	if fresh {
		bitutil.SetBitsTo(c.Validity.Bytes(), 0, int64(c.N), true)
	}
	return c.Validity.Bytes()
}

// sized gives b at least n bytes of slots.
func (c *Column) sized(b *memory.Buffer, n int) *memory.Buffer {
	before := 0
	if b != nil {
		if before = b.Cap(); n <= before {
			if n > b.Len() {
				b.ResizeNoShrink(n)
			}
			return b
		}
	}
	b = c.grown(b, n)
	c.Allowance.Spend(int64(b.Cap() - before))
	return b
}

// grown gives b at least n bytes. What grows more than once doubles.
func (c *Column) grown(b *memory.Buffer, n int) *memory.Buffer {
	if b == nil {
		b = memory.NewResizableBuffer(c.Mem)
	}
	if n > b.Len() {
		if n > b.Cap() && b.Cap() > 0 {
			b.Reserve(max(n, 2*b.Cap()))
		}
		b.ResizeNoShrink(n)
	}
	return b
}

func (c *Column) cleared(b *memory.Buffer, n int) *memory.Buffer {
	old := 0
	if b != nil {
		old = b.Len()
	}
	b = c.sized(b, n)
	clear(b.Bytes()[min(old, b.Len()):])
	return b
}

// Room is where the next n bytes of strings go. What the allowance is told of grows
// as if the column had begun empty and doubled: were it told at once what the last
// batch needed, the first row could end a batch.
func (c *Column) Room(n int) []byte {
	if n == 0 {
		return nil
	}
	need := c.Used + n
	if c.Data == nil {
		// Batches of a column are alike: begin with what the last one needed.
		c.Data = c.grown(nil, max(n, c.usual, leastText))
	}
	c.Data = c.grown(c.Data, need)
	if need > c.counted {
		counted := max(need, 2*c.counted, leastText)
		c.Allowance.spendText(int64(counted - c.counted))
		c.counted = counted
	}
	return c.Data.Bytes()[c.Used:need]
}

// leastText is the room for texts that a column begins with.
const leastText = 256

// mostUsual bounds what a column begins with, by what readers make a batch of.
const mostUsual = MostBytes / 4

// Spread moves the last valid values, which lie densely at the end, to the slots
// of the last k that the bitmap marks, and counts the slots.
func (c *Column) Spread(k, valid int) {
	if valid < k {
		bits := c.Validity.Bytes()
		switch c.Width {
		case WidthBits:
			spreadBits(c.Data.Bytes(), bits, c.N, k, valid)
		case 1:
			spread[uint8](c, bits, k, valid)
		case 2:
			spread[uint16](c, bits, k, valid)
		case 4:
			spread[uint32](c, bits, k, valid)
		case 8:
			spread[uint64](c, bits, k, valid)
		case 16:
			spreadWide(c, bits, k, valid)
		case WidthText:
			spreadOffsets(reinterpret[int32](c.Offsets.Bytes())[c.N:], bits, c.N, k, valid)
		}
		c.Nulls += k - valid
	}
	c.N += k
}

// spread and its kin go without branches: which slots are null is anybody's guess.
func spread[T uint8 | uint16 | uint32 | uint64](c *Column, bits []byte, k, valid int) {
	vals := reinterpret[T](c.Data.Bytes())[c.N:]
	for i, j := k-1, valid-1; i > j; i-- {
		set := bit(bits, c.N+i)
		vals[i] = vals[max(j, 0)] & -T(set)
		j -= set
	}
}

func spreadWide(c *Column, bits []byte, k, valid int) {
	vals := reinterpret[[2]uint64](c.Data.Bytes())[c.N:]
	for i, j := k-1, valid-1; i > j; i-- {
		set := bit(bits, c.N+i)
		v, mask := vals[max(j, 0)], -uint64(set)
		vals[i] = [2]uint64{v[0] & mask, v[1] & mask}
		j -= set
	}
}

func spreadBits(data, bits []byte, off, k, valid int) {
	for i, j := k-1, valid-1; i > j; i-- {
		set := bit(bits, off+i)
		v := bit(data, off+max(j, 0)) & set
		at := uint(off+i) % 8
		b := &data[(off+i)/8]
		*b = *b&^(1<<at) | byte(v)<<at
		j -= set
	}
}

// spreadOffsets works on offsets[0…k]: offsets[0…valid] bound the dense values.
func spreadOffsets(offsets []int32, bits []byte, off, k, valid int) {
	for i, j := k, valid; i > j; i-- {
		offsets[i] = offsets[j]
		j -= bit(bits, off+i-1)
	}
}

func bit(bits []byte, i int) int { return int(bits[uint(i)/8]>>(uint(i)%8)) & 1 }

// Finish gives the array's data and empties c. Kids, which lists and structs
// have, stay the caller's.
func (c *Column) Finish(dt arrow.DataType, kids []arrow.ArrayData) arrow.ArrayData {
	c.Reserve(c.N) // a batch without slots has buffers too
	bufs := []*memory.Buffer{c.Validity}
	if c.Nulls == 0 {
		bufs[0] = nil
	}
	switch {
	case c.Width > 0:
		c.Data.ResizeNoShrink(c.N * c.Width)
		bufs = append(bufs, c.Data)
	case c.Width == WidthBits:
		bufs = append(bufs, c.Data)
	case c.Width == WidthText:
		c.Offsets.ResizeNoShrink((c.N + 1) * 4)
		bufs = append(bufs, c.Offsets)
		if kids == nil {
			c.Data = c.sized(c.Data, 0)
			c.Data.ResizeNoShrink(c.Used)
			c.usual = min(c.Used+c.Used/32, mostUsual)
			bufs = append(bufs, c.Data)
		}
	}
	out := array.NewData(dt, c.N, bufs, kids, c.Nulls, 0)
	c.Release()
	return out
}

// Forget makes the next batch begin with little room for texts: it is to be smaller
// than the last one was.
func (c *Column) Forget() { c.usual = 0 }

// Release drops what was gathered.
func (c *Column) Release() {
	for _, b := range []**memory.Buffer{&c.Validity, &c.Data, &c.Offsets} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
	c.N, c.Nulls, c.Used, c.counted = 0, 0, 0, 0
}
