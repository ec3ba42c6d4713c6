package ocf

import (
	"encoding/binary"
	"math"

	"github.com/tarnlake/tarn/tarnerr"
)

// Cursor reads Avro values from bytes, mostly those of one block. The first error
// sticks: after it every read gives zero values, and whoever began looks at Err.
type Cursor struct {
	Buf []byte
	Pos int
	Err *ValueError
}

// ValueError says what is wrong with a value, and where in the bytes.
type ValueError struct {
	Kind  tarnerr.Kind
	Cause string
	At    int
	KV    []any
}

// Fail says that the bytes are Corrupt, unless something was wrong before.
func (c *Cursor) Fail(cause string, kv ...any) { c.FailAs(tarnerr.Corrupt, cause, kv...) }

// FailAs is Fail for another kind of error.
func (c *Cursor) FailAs(kind tarnerr.Kind, cause string, kv ...any) {
	if c.Err == nil {
		c.Err = &ValueError{kind, cause, c.Pos, kv}
	}
	c.Pos = len(c.Buf)
}

// Error gives what went wrong, nil when nothing did.
func (c *Cursor) Error(op string, kv ...any) error {
	e := c.Err
	if e == nil {
		return nil
	}
	return tarnerr.New(e.Kind, op, e.Cause, append(append(kv, "at", e.At), e.KV...)...)
}

// Long reads a zig-zag variable-length integer.
func (c *Cursor) Long() int64 {
	if c.Pos < len(c.Buf) && c.Buf[c.Pos] < 0x80 {
		b := c.Buf[c.Pos]
		c.Pos++
		return int64(b>>1) ^ -int64(b&1)
	}
	return c.longer()
}

func (c *Cursor) longer() int64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if c.Pos >= len(c.Buf) {
			c.Fail("number is cut off")
			return 0
		}
		b := c.Buf[c.Pos]
		c.Pos++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	c.Fail("number of more than 64 bits")
	return 0
}

// Take gives the next n bytes, shared.
func (c *Cursor) Take(n int) []byte {
	if n < 0 || n > len(c.Buf)-c.Pos {
		c.Fail("value is cut off", "length", n)
		return nil
	}
	b := c.Buf[c.Pos : c.Pos+n : c.Pos+n]
	c.Pos += n
	return b
}

// Text reads bytes or a string, shared.
func (c *Cursor) Text() []byte {
	n := c.Long()
	if n < 0 || n > int64(len(c.Buf)-c.Pos) {
		c.Fail("length beyond the end", "length", n)
		return nil
	}
	return c.Take(int(n))
}

// Float and Double read the bits of a number.
func (c *Cursor) Float() uint32 {
	if b := c.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Double reads the bits of a number.
func (c *Cursor) Double() uint64 {
	if b := c.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Items reads the head of a block of an array or a map: how many items follow,
// 0 at the end. Each takes a byte or more, so that more than there are bytes
// cannot be.
func (c *Cursor) Items() int {
	n := c.Long()
	if n < 0 {
		c.Long() // bytes of the block, for readers that pass over it
		if n == math.MinInt64 {
			c.Fail("more items than bytes", "items", n)
			return 0
		}
		n = -n
	}
	if n > int64(len(c.Buf)-c.Pos) {
		c.Fail("more items than bytes", "items", n)
		return 0
	}
	return int(n)
}

// Skip passes over a value. What it does is bounded by the bytes it passes:
// schemas are of little depth, and what takes no bytes is not looked at.
func (c *Cursor) Skip(s *Schema) {
	switch s.Kind {
	case Boolean:
		c.Take(1)
	case Int, Long, Enum:
		c.Long()
	case Float:
		c.Take(4)
	case Double:
		c.Take(8)
	case Fixed:
		c.Take(s.Size)
	case Bytes, String:
		c.Text()
	case Union:
		if i := c.Long(); i >= 0 && i < int64(len(s.Parts)) {
			c.Skip(s.Parts[i])
		} else {
			c.Fail("no such branch of a union", "branch", i)
		}
	case Record:
		for _, p := range s.solid {
			if c.Err != nil {
				return
			}
			c.Skip(p)
		}
	case Array, Map:
		for k := c.Items(); k > 0 && c.Err == nil; k = c.Items() {
			for ; k > 0 && c.Err == nil; k-- {
				if s.Kind == Map {
					c.Text()
				}
				c.Skip(s.Parts[0])
			}
		}
	}
}

// AppendLong writes an integer as Long reads it.
func AppendLong(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// AppendText writes bytes or a string.
func AppendText[T string | []byte](dst []byte, text T) []byte {
	return append(AppendLong(dst, int64(len(text))), text...)
}
