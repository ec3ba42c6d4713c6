package avro

import (
	"encoding/binary"
	"math"

	"github.com/tarnlake/tarn/tarnerr"
)

// cursor reads Avro values from the bytes of one block. The first error sticks:
// after it every read gives zero values, and whoever began looks at err.
type cursor struct {
	buf   []byte
	pos   int
	err   *dataError
	depth int // of the value being passed over
}

// dataError says what is wrong with a value, and where in its block.
type dataError struct {
	kind   tarnerr.Kind
	cause  string
	column string
	at     int
}

func (c *cursor) fail(cause string) { c.failAs(tarnerr.Corrupt, cause, "") }

func (c *cursor) failAs(kind tarnerr.Kind, cause, column string) {
	if c.err == nil {
		c.err = &dataError{kind, cause, column, c.pos}
	}
	c.pos = len(c.buf)
}

// long reads a zig-zag variable-length integer.
func (c *cursor) long() int64 {
	if c.pos < len(c.buf) && c.buf[c.pos] < 0x80 {
		b := c.buf[c.pos]
		c.pos++
		return int64(b>>1) ^ -int64(b&1)
	}
	return c.longer()
}

func (c *cursor) longer() int64 {
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

// take returns the next n bytes, shared.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.buf)-c.pos {
		c.fail("value is cut off")
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

// text reads bytes or a string.
func (c *cursor) text() []byte {
	n := c.long()
	if n < 0 || n > int64(len(c.buf)-c.pos) {
		c.fail("length beyond the end")
		return nil
	}
	return c.take(int(n))
}

func (c *cursor) float() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) double() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// items reads the head of a block of an array or a map: how many items follow,
// 0 at the end. Each has at least a byte (see node.check).
func (c *cursor) items() int {
	n := c.long()
	if n < 0 {
		c.long() // bytes of the block, for readers that pass over it
		if n == math.MinInt64 {
			c.fail("more items than bytes")
			return 0
		}
		n = -n
	}
	if n > int64(len(c.buf)-c.pos) {
		c.fail("more items than bytes")
		return 0
	}
	return int(n)
}

// maxDepth bounds values that nest in themselves; schemas are bounded when parsed.
const maxDepth = 64

// skip passes over a value.
func (c *cursor) skip(n *node) {
	if c.depth++; c.depth > maxDepth {
		c.fail("value nested too deeply")
	}
	if c.err == nil {
		c.skipValue(n)
	}
	c.depth--
}

func (c *cursor) skipValue(n *node) {
	switch n.kind {
	case kindNull:
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
		c.text()
	case kindUnion:
		if i := c.long(); i >= 0 && i < int64(len(n.parts)) {
			c.skip(n.parts[i])
		} else {
			c.fail("no such branch of a union")
		}
	case kindRecord:
		for _, p := range n.parts {
			c.skip(p)
		}
	case kindArray, kindMap:
		for k := c.items(); k > 0 && c.err == nil; k = c.items() {
			for ; k > 0 && c.err == nil; k-- {
				if n.kind == kindMap {
					c.text()
				}
				c.skip(n.parts[0])
			}
		}
	}
}
