package roaring

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/tarnerr"
)

const (
	cookie        = 12347 // with runs: below the number of containers less one
	cookieNoRuns  = 12346
	offsetsFrom   = 4 // containers, with runs; without runs there are always offsets
	maxContainers = 1 << 16
)

// bitmap32 is a bitmap of 32-bit numbers: containers by the upper half, ascending.
type bitmap32 struct {
	keys  []uint16
	parts []*container
}

// Union32 unites two bitmaps of 32-bit numbers and appends the result to dst. It fails
// with Corrupt where one of them cannot be read.
func Union32(dst, a, b []byte) ([]byte, error) {
	x, err := decode32(a)
	if err != nil {
		return dst, err
	}
	y, err := decode32(b)
	if err != nil {
		return dst, err
	}
	var w scratch
	var out bitmap32
	i, j := 0, 0
	for i < len(x.keys) || j < len(y.keys) {
		switch {
		case j == len(y.keys) || i < len(x.keys) && x.keys[i] < y.keys[j]:
			out.add(x.keys[i], w.optimised(x.parts[i], false))
			i++
		case i == len(x.keys) || y.keys[j] < x.keys[i]:
			out.add(y.keys[j], w.optimised(y.parts[j], false))
			j++
		default:
			out.add(x.keys[i], w.union(x.parts[i], y.parts[j]))
			i, j = i+1, j+1
		}
	}
	return out.append(dst), nil
}

func (m *bitmap32) add(key uint16, c *container) {
	m.keys, m.parts = append(m.keys, key), append(m.parts, c)
}

func corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading roaring bitmap", cause, kv...)
}

// reader takes bytes off the front of a stored bitmap.
type reader struct {
	b     []byte
	total int
	short bool // asked for more than there is
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short = true
		return make([]byte, min(max(n, 0), bitsBytes))
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() int  { return int(r.take(1)[0]) }
func (r *reader) u16() int { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *reader) i32() int { return int(int32(binary.LittleEndian.Uint32(r.take(4)))) }
func (r *reader) i64() int64 {
	return int64(binary.LittleEndian.Uint64(r.take(8)))
}

func (r *reader) err() error {
	return corrupt("the bytes end too early", "bytes", r.total)
}

func decode32(b []byte) (*bitmap32, error) {
	r := &reader{b: b, total: len(b)}
	head := r.i32()
	n, hasRuns := 0, head&0xffff == cookie
	switch {
	case hasRuns:
		n = int(uint32(head)>>16) + 1
	case head == cookieNoRuns:
		n = r.i32()
	default:
		return nil, corrupt("no cookie of a bitmap", "cookie", head, "bytes", len(b))
	}
	if n < 0 || n > maxContainers {
		return nil, corrupt("impossible number of containers", "containers", n)
	}
	var marks []byte
	if hasRuns {
		marks = r.take((n + 7) / 8)
	}
	heads := r.take(4 * n)
	if !hasRuns || n >= offsetsFrom {
		r.take(4 * n)
	}
	if r.short {
		return nil, r.err()
	}
	m := &bitmap32{keys: make([]uint16, 0, n), parts: make([]*container, 0, n)}
	for i := range n {
		key, card := uint16(u16(heads, 2*i)), u16(heads, 2*i+1)+1
		f := array
		if marks != nil && marks[i/8]>>(i%8)&1 == 1 {
			f = runs
		} else if card > maxArray {
			f = bitsN
		}
		c, err := r.container(f, card)
		if err != nil {
			return nil, err
		}
		if i > 0 && key <= m.keys[i-1] {
			return nil, corrupt("containers out of order", "container", i)
		}
		m.add(key, c)
	}
	return m, nil
}

// container reads the payload of a container.
func (r *reader) container(f form, card int) (*container, error) {
	c := &container{form: f, card: card}
	switch f {
	case runs:
		c.data = r.take(4 * r.u16())
	case bitsN:
		c.data = r.take(bitsBytes)
	case array:
		c.data = r.take(2 * card)
	}
	if r.short {
		return nil, r.err()
	}
	if !c.valid() {
		return nil, corrupt("a container holds other numbers than it says", "numbers", card)
	}
	return c, nil
}

func (m *bitmap32) append(dst []byte) []byte {
	n := len(m.parts)
	marks, hasRuns := make([]byte, (n+7)/8), false
	for i, c := range m.parts {
		if c.form == runs {
			hasRuns = true
			marks[i/8] |= 1 << (i % 8)
		}
	}
	start := len(dst)
	if hasRuns {
		dst = binary.LittleEndian.AppendUint32(dst, cookie|uint32(n-1)<<16)
		dst = append(dst, marks...)
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, cookieNoRuns)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	for i, c := range m.parts {
		dst = binary.LittleEndian.AppendUint16(dst, m.keys[i])
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.card-1))
	}
	if !hasRuns || n >= offsetsFrom {
		at := len(dst) - start + 4*n
		for _, c := range m.parts {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(at))
			at += c.size()
		}
	}
	for _, c := range m.parts {
		dst = c.append(dst)
	}
	return dst
}
