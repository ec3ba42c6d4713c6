package roaring

import (
	"encoding/binary"
	"slices"
)

const (
	emptyTag, filledTag         = 0, 1
	nullMark, presentMark       = 0, 1
	notTrimmed                  = 0xfe
	firstLevel                  = 1 // lists of containers: the first holds 2³¹ of them
	trailer                     = 16
	noLevel               int32 = -1
)

// bitmap64 is a bitmap of 64-bit numbers: containers in the order in which they came,
// and a radix tree that finds them by the upper 48 bits.
type bitmap64 struct {
	root  *node
	size  int64        // keys in the tree
	parts []*container // nil where there is room for more
	used  int          // parts in use; those from there on are nil
}

// Union64 unites two bitmaps of 64-bit numbers and appends the result to dst. It fails
// with Corrupt where one of them cannot be read.
func Union64(dst, a, b []byte) ([]byte, error) {
	x, err := decode64(a)
	if err != nil {
		return dst, err
	}
	y, err := decode64(b)
	if err != nil {
		return dst, err
	}
	var w scratch
	y.root.walk(func(leaf *node) {
		part := y.parts[leaf.index]
		if mine := x.root.find(leaf.key); mine != nil {
			x.parts[mine.index] = w.union(x.parts[mine.index], part)
			return
		}
		x.root = x.root.insert(&node{kind: leafNode, key: leaf.key, index: x.put(part)}, 0)
		x.size++
	})
	for i, c := range x.parts {
		if c != nil {
			x.parts[i] = w.optimised(c, true)
		}
	}
	return x.append(dst), nil
}

// put adds a container behind the others. Room grows as Java's does, for the room is
// stored as well.
func (m *bitmap64) put(c *container) int64 {
	if m.used == len(m.parts) {
		room := max(len(m.parts)+len(m.parts)/2, m.used+1)
		m.parts = append(slices.Clip(m.parts), make([]*container, room-len(m.parts))...)
	}
	m.parts[m.used] = c
	m.used++
	return int64(m.used - 1)
}

func decode64(b []byte) (*bitmap64, error) {
	r := &reader{b: b, total: len(b)}
	m := &bitmap64{}
	if tag := r.u8(); r.short {
		return nil, r.err()
	} else if tag == emptyTag {
		return m, nil
	}
	m.size = r.i64()
	var err error
	if m.root, err = r.node(nil); err != nil {
		return nil, err
	}
	if n := r.i32(); n != firstLevel {
		return nil, corrupt("impossible number of lists of containers", "lists", n)
	}
	r.take(1)
	n := r.i32()
	if r.short || n < 0 || n > len(r.b) {
		return nil, r.err()
	}
	m.parts = make([]*container, n)
	for i := range m.parts {
		switch mark := r.u8(); {
		case r.short:
			return nil, r.err()
		case mark == nullMark:
			continue
		case mark != presentMark:
			return nil, corrupt("no mark of a container", "container", i, "mark", mark)
		}
		f, card := form(r.u8()), r.i32()
		if f > array || card < 0 || card > full {
			return nil, corrupt("no such container", "container", i, "form", f, "numbers", card)
		}
		if m.parts[i], err = r.container(f, card); err != nil {
			return nil, err
		}
	}
	r.take(trailer - 4)
	m.used = r.i32() + 1
	if r.short || m.used < 0 || m.used > len(m.parts) {
		return nil, corrupt("containers in use and those there are differ", "used", m.used, "containers", n)
	}
	keys := int64(0)
	ok := true
	m.root.walk(func(leaf *node) {
		keys++
		ok = ok && leaf.index >= 0 && leaf.index < int64(m.used) && m.parts[leaf.index] != nil
	})
	if !ok || keys != m.size {
		return nil, corrupt("keys and containers differ", "keys", keys, "said", m.size)
	}
	return m, nil
}

func (m *bitmap64) append(dst []byte) []byte {
	if m.root == nil {
		return append(dst, emptyTag)
	}
	dst = append(dst, filledTag)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.size))
	dst = m.root.append(dst)
	dst = binary.LittleEndian.AppendUint32(dst, firstLevel)
	dst = append(dst, notTrimmed)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.parts)))
	present := uint64(0)
	for _, c := range m.parts {
		if c == nil {
			dst = append(dst, nullMark)
			continue
		}
		present++
		dst = append(dst, presentMark, byte(c.form))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.card))
		dst = c.append(dst)
	}
	dst = binary.LittleEndian.AppendUint64(dst, present)
	dst = binary.LittleEndian.AppendUint32(dst, 0) // the list in use
	return binary.LittleEndian.AppendUint32(dst, uint32(m.used-1))
}
