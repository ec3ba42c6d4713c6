package manifest

import (
	"math/bits"
	"unsafe"

	"github.com/tarnlake/tarn/internal/ocf"
)

// cursor reads the values of manifests from one decompressed block.
type cursor struct {
	ocf.Cursor
	// own makes strings and bytes copies; otherwise they share the block, which is
	// never written again.
	own bool
	// noStats passes over statistics.
	noStats bool
	arena
}

// begin goes on with the next block.
func (c *cursor) begin(block []byte) { c.Cursor = ocf.Cursor{Buf: block} }

// broken is what is wrong with the records read so far, nil for nothing.
func (c *cursor) broken() error { return c.Error("decoding Avro record") }

// bytes reads bytes or a string.
func (c *cursor) bytes() []byte {
	if c.own {
		return c.copyBytes(c.Text())
	}
	return c.Text()
}

// enter resolves a union to the branch the value has; a null gives nil.
func (c *cursor) enter(n *ocf.Schema) *ocf.Schema {
	if n.Kind == ocf.Union {
		i := c.Long()
		if i < 0 || i >= int64(len(n.Parts)) {
			c.Fail("no such branch of a union", "branch", i)
			return nil
		}
		n = n.Parts[i]
	}
	if n.Kind == ocf.Null {
		return nil
	}
	return n
}

// blocks calls item for each item of an array.
func (c *cursor) blocks(item func()) {
	for n := c.Items(); n > 0 && c.Err == nil; n = c.Items() {
		for ; n > 0 && c.Err == nil; n-- {
			item()
		}
	}
}

// The typed reads resolve a union first and tell whether there was a value.

func (c *cursor) longOf(n *ocf.Schema) (v int64, ok bool) {
	if n = c.enter(n); n == nil {
		return 0, false
	}
	if n.Kind != ocf.Int && n.Kind != ocf.Long {
		c.Fail("not an integer")
		return 0, false
	}
	return c.Long(), true
}

func (c *cursor) intOf(n *ocf.Schema) (v int32, ok bool) {
	l, ok := c.longOf(n)
	if l != int64(int32(l)) {
		c.Fail("integer of more than 32 bits", "value", l)
		return 0, false
	}
	return int32(l), ok
}

func (c *cursor) bytesOf(n *ocf.Schema) (v []byte, ok bool) {
	if n = c.enter(n); n == nil {
		return nil, false
	}
	if n.Kind != ocf.Bytes && n.Kind != ocf.String {
		c.Fail("not bytes")
		return nil, false
	}
	return c.bytes(), true
}

func (c *cursor) strOf(n *ocf.Schema) (v string, ok bool) {
	b, ok := c.bytesOf(n)
	// Neither the block nor the arena is written after this.
	return unsafe.String(unsafe.SliceData(b), len(b)), ok
}

func (c *cursor) arrayOf(n *ocf.Schema) *ocf.Schema {
	if n = c.enter(n); n == nil {
		return nil
	}
	if n.Kind != ocf.Array {
		c.Fail("not an array")
		return nil
	}
	return n.Parts[0]
}

// arena hands out small values from larger pieces, one allocation for many.
type arena struct {
	longs   []int64
	ints    []int32
	ptrs    []*int64
	strings []string
	raw     []byte
}

const arenaPiece = 256

// piece returns n zero elements at the end of *from, which it replaces when it is too short.
func piece[T any](from *[]T, n int) []T {
	if n > cap(*from)-len(*from) {
		// Pieces grow with the need, so that few values do not pin a large one.
		*from = make([]T, 0, max(n, min(arenaPiece, 2*cap(*from)+8)))
	}
	at := len(*from)
	*from = (*from)[: at+n : cap(*from)]
	return (*from)[at : at+n : at+n]
}

func (a *arena) long(v int64) *int64 {
	p := piece(&a.longs, 1)
	p[0] = v
	return &p[0]
}

func (a *arena) int(v int32) *int32 {
	p := piece(&a.ints, 1)
	p[0] = v
	return &p[0]
}

func (a *arena) copyBytes(b []byte) []byte {
	if len(b) == 0 {
		return []byte{} // empty, not null
	}
	if n := len(b); n > cap(a.raw)-len(a.raw) {
		a.raw = make([]byte, 0, max(n, 1<<min(14, bits.Len(uint(2*cap(a.raw)+256)))))
	}
	at := len(a.raw)
	a.raw = append(a.raw, b...)
	return a.raw[at:len(a.raw):len(a.raw)]
}
