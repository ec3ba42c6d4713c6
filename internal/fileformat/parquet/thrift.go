package parquet

import (
	"encoding/binary"
	"math"
)

// compact reads Thrift's compact protocol from memory. Every length is checked
// against the bytes that are left, so hostile input cannot make it allocate
// more than a small multiple of its own size. Errors stick: after the first,
// all reads give zero.
type compact struct {
	b   []byte
	pos int
	bad bool
}

// Types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// maxThriftDepth bounds how deep skipped values nest.
const maxThriftDepth = 32

func (c *compact) fail() { c.bad, c.pos = true, len(c.b) }

func (c *compact) byte() byte {
	if c.pos >= len(c.b) {
		c.fail()
		return 0
	}
	c.pos++
	return c.b[c.pos-1]
}

func (c *compact) uvarint() uint64 {
	v, n := binary.Uvarint(c.b[c.pos:])
	if n <= 0 {
		c.fail()
		return 0
	}
	c.pos += n
	return v
}

func (c *compact) int64() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (c *compact) int32() int32 {
	v := c.int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		c.fail()
		return 0
	}
	return int32(v)
}

// bytes returns a view into the input.
func (c *compact) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.b)-c.pos) {
		c.fail()
		return nil
	}
	c.pos += int(n)
	return c.b[c.pos-int(n) : c.pos : c.pos]
}

func (c *compact) string() string { return string(c.bytes()) }

// fields calls field for each field of a struct; field must read the value or
// leave it to be skipped by returning false without having read anything.
func (c *compact) fields(field func(id int16, typ byte) bool) {
	c.fieldsAt(0, field)
}

func (c *compact) fieldsAt(depth int, field func(id int16, typ byte) bool) {
	var id int16
	for !c.bad {
		h := c.byte()
		typ := h & 0x0f
		if typ == thriftStop {
			return
		}
		if delta := h >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(c.int64())
		}
		if field == nil || !field(id, typ) {
			c.skip(typ, depth+1)
		}
	}
}

// list reads the head of a list. Each element takes at least one byte, so a
// length beyond the input is wrong.
func (c *compact) list() (n int, typ byte) {
	h := c.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = c.uvarint()
	}
	if size > uint64(len(c.b)-c.pos) {
		c.fail()
		return 0, 0
	}
	return int(size), h & 0x0f
}

func (c *compact) skip(typ byte, depth int) {
	if depth > maxThriftDepth {
		c.fail()
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		c.byte()
	case thriftI16, thriftI32, thriftI64:
		c.uvarint()
	case thriftDouble:
		if len(c.b)-c.pos < 8 {
			c.fail()
			return
		}
		c.pos += 8
	case thriftBinary:
		c.bytes()
	case thriftList, thriftSet:
		n, t := c.list()
		for range n {
			if c.bad {
				return
			}
			c.skipElement(t, depth+1)
		}
	case thriftMap:
		n := c.uvarint()
		if n == 0 {
			return
		}
		if n > uint64(len(c.b)-c.pos) {
			c.fail()
			return
		}
		kv := c.byte()
		for range int(n) {
			if c.bad {
				return
			}
			c.skipElement(kv>>4, depth+1)
			c.skipElement(kv&0x0f, depth+1)
		}
	case thriftStruct:
		c.fieldsAt(depth, nil)
	default:
		c.fail()
	}
}

// skipElement skips a value inside a list or map, where booleans take a byte.
func (c *compact) skipElement(typ byte, depth int) {
	if typ == thriftTrue || typ == thriftFalse {
		c.byte()
		return
	}
	c.skip(typ, depth)
}

// Bounds of lists: in memory an element takes many times the bytes that can stand
// for it. No real file comes near them.
const (
	maxColumns = 1 << 17
	maxGroups  = 1 << 20
	maxPages   = 1 << 24
)

func listOf[T any](c *compact, typ byte, most int, element func(*compact) T) []T {
	n, t := c.list()
	if n > most {
		c.fail()
		return nil
	}
	if t != typ {
		for range n {
			c.skipElement(t, 1)
		}
		return nil
	}
	// The claim is bounded by the bytes left, but elements in memory are larger
	// than in the file: grow as they come.
	out := make([]T, 0, min(n, 1024))
	for range n {
		if c.bad {
			return nil
		}
		out = append(out, element(c))
	}
	return out
}
