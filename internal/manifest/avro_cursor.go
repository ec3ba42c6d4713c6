package manifest

import (
	"math/bits"
	"unsafe"

	"github.com/tarnlake/tarn/tarnerr"
)

// cursor reads Avro values from one decompressed block. The first error sticks:
// after it every read gives zero values, and whoever began the block looks at err.
type cursor struct {
	buf []byte
	pos int
	err error
	// own makes strings and bytes copies; otherwise they share buf, which is
	// never written again.
	own bool
	// noStats passes over statistics.
	noStats bool
	// visits counts the schemas passed over, which a hostile one could make
	// endless without using up a byte.
	visits int
	arena
}

func (c *cursor) fail(cause string, kv ...any) {
	if c.err == nil {
		c.err = tarnerr.New(tarnerr.Corrupt, "decoding Avro record", cause, append(kv, "at", c.pos)...)
	}
	c.pos = len(c.buf)
}

// long reads a zig-zag variable-length integer.
func (c *cursor) long() int64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if c.pos >= len(c.buf) {
			c.fail("number is cut off")
			return 0
		}
		b := c.buf[c.pos]
		c.pos++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	c.fail("number of more than 64 bits")
	return 0
}

// count reads a length that must not exceed what is left.
func (c *cursor) count() int {
	n := c.long()
	if n < 0 || n > int64(len(c.buf)-c.pos) {
		c.fail("length beyond the end", "length", n)
		return 0
	}
	return int(n)
}

// take returns the next n bytes, shared.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.buf)-c.pos {
		c.fail("value is cut off", "length", n)
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

// bytes reads bytes or a string.
func (c *cursor) bytes() []byte {
	b := c.take(c.count())
	if c.own {
		return c.copyBytes(b)
	}
	return b
}

// enter resolves a union to the branch the value has; a null gives nil.
func (c *cursor) enter(n *node) *node {
	if n.kind == kindUnion {
		i := c.long()
		if i < 0 || i >= int64(len(n.branches)) {
			c.fail("no such branch of a union", "branch", i)
			return nil
		}
		n = n.branches[i]
	}
	if n.kind == kindNull {
		return nil
	}
	return n
}

// blocks calls item for each item of an array or map; it returns how many there were.
func (c *cursor) blocks(item func()) int {
	total := 0
	for c.err == nil {
		n := c.blockLen()
		if n == 0 {
			return total
		}
		total += n
		for ; n > 0 && c.err == nil; n-- {
			item()
		}
	}
	return 0
}

// blockLen reads the head of a block of items: how many follow, 0 at the end.
func (c *cursor) blockLen() int {
	n := c.long()
	if n < 0 {
		c.long() // size in bytes, for readers that skip
		n = -n
	}
	// Every item kept has at least one byte, so a larger count is corrupt. Items of
	// no bytes (null) could be more, but nobody writes arrays of them.
	if n < 0 || n > int64(len(c.buf)-c.pos) {
		c.fail("more items than bytes", "items", n)
		return 0
	}
	return int(n)
}

// skip passes over a value.
func (c *cursor) skip(n *node) { c.skipAt(n, 0) }

func (c *cursor) skipAt(n *node, depth int) {
	c.visits++
	if depth > maxSchemaDepth || c.visits > 2*len(c.buf)+maxSchemaNodes {
		c.fail("value nested too deeply")
		return
	}
	if n = c.enter(n); n == nil || c.err != nil {
		return
	}
	switch n.kind {
	case kindBoolean:
		c.take(1)
	case kindInt, kindLong, kindEnum:
		c.long()
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindFixed:
		c.take(n.size)
	case kindBytes, kindString:
		c.take(c.count())
	case kindArray:
		c.blocks(func() { c.skipAt(n.items, depth+1) })
	case kindMap:
		c.blocks(func() {
			c.take(c.count())
			c.skipAt(n.items, depth+1)
		})
	case kindRecord:
		for _, f := range n.fields {
			c.skipAt(f.node, depth+1)
		}
	case kindUnion: // of a union: Avro forbids it
		c.fail("union in a union")
	}
}

// The typed reads resolve a union first and tell whether there was a value.

func (c *cursor) longOf(n *node) (v int64, ok bool) {
	if n = c.enter(n); n == nil {
		return 0, false
	}
	if n.kind != kindInt && n.kind != kindLong {
		c.fail("not an integer")
		return 0, false
	}
	return c.long(), true
}

func (c *cursor) intOf(n *node) (v int32, ok bool) {
	l, ok := c.longOf(n)
	if l != int64(int32(l)) {
		c.fail("integer of more than 32 bits", "value", l)
		return 0, false
	}
	return int32(l), ok
}

func (c *cursor) bytesOf(n *node) (v []byte, ok bool) {
	if n = c.enter(n); n == nil {
		return nil, false
	}
	if n.kind != kindBytes && n.kind != kindString {
		c.fail("not bytes")
		return nil, false
	}
	return c.bytes(), true
}

func (c *cursor) strOf(n *node) (v string, ok bool) {
	b, ok := c.bytesOf(n)
	// Neither the block nor the arena is written after this.
	return unsafe.String(unsafe.SliceData(b), len(b)), ok
}

func (c *cursor) arrayOf(n *node) *node {
	if n = c.enter(n); n == nil {
		return nil
	}
	if n.kind != kindArray {
		c.fail("not an array")
		return nil
	}
	return n.items
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
