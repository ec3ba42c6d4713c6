package roaring

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// nodeKind is the kind of a node of the radix tree, as it is stored.
type nodeKind uint8

const (
	node4 nodeKind = iota
	node16
	node48
	node256
	leafNode
)

var capacity = [...]int{4, 16, 48, 256}

// keyBytes are the upper bytes of a number, which the tree is over.
const keyBytes = 6

// node is a node of the tree. A leaf has the whole key; an inner node has the bytes
// that all keys below it share and then the byte by which they part.
type node struct {
	kind   nodeKind
	prefix []byte
	bytes  []byte // ascending
	kids   []*node
	slots  []byte // of a node of 48: where Java keeps the kids

	key   [keyBytes]byte
	index int64 // of the container
}

// walk visits the leaves, ascending.
func (n *node) walk(visit func(leaf *node)) {
	if n == nil {
		return
	}
	if n.kind == leafNode {
		visit(n)
	}
	for _, k := range n.kids {
		k.walk(visit)
	}
}

func (n *node) find(key [keyBytes]byte) *node {
	for depth := 0; n != nil; {
		if n.kind == leafNode {
			if n.key != key {
				return nil
			}
			return n
		}
		if string(n.prefix) != string(key[depth:depth+len(n.prefix)]) {
			return nil
		}
		depth += len(n.prefix)
		i, ok := slices.BinarySearch(n.bytes, key[depth])
		if !ok {
			return nil
		}
		n, depth = n.kids[i], depth+1
	}
	return nil
}

// insert puts a leaf, whose key is new, below n and returns what takes n's place.
func (n *node) insert(leaf *node, depth int) *node {
	switch {
	case n == nil:
		return leaf
	case n.kind == leafNode:
		same := common(n.key[depth:], leaf.key[depth:])
		out := &node{kind: node4, prefix: slices.Clone(leaf.key[depth : depth+same])}
		out.put(n.key[depth+same], n)
		out.put(leaf.key[depth+same], leaf)
		return out
	}
	if same := common(n.prefix, leaf.key[depth:]); same < len(n.prefix) {
		out := &node{kind: node4, prefix: n.prefix[:same:same]}
		out.put(n.prefix[same], n)
		out.put(leaf.key[depth+same], leaf)
		n.prefix = n.prefix[same+1:]
		return out
	}
	depth += len(n.prefix)
	if i, ok := slices.BinarySearch(n.bytes, leaf.key[depth]); ok {
		n.kids[i] = n.kids[i].insert(leaf, depth+1)
		return n
	}
	n.put(leaf.key[depth], leaf)
	return n
}

// put adds a kid, whose byte is new; the node grows when it is full.
func (n *node) put(b byte, kid *node) {
	if len(n.kids) == capacity[n.kind] {
		n.kind++
		n.slots = nil
		if n.kind == node48 {
			for i := range n.kids {
				n.slots = append(n.slots, byte(i))
			}
		}
	}
	i, _ := slices.BinarySearch(n.bytes, b)
	if n.kind == node48 {
		n.slots = slices.Insert(n.slots, i, n.freeSlot())
	}
	n.bytes = slices.Insert(n.bytes, i, b)
	n.kids = slices.Insert(n.kids, i, kid)
}

// freeSlot is the slot after the last one if all are dense, else the first free one.
func (n *node) freeSlot() byte {
	var taken [48]bool
	for _, s := range n.slots {
		taken[s] = true
	}
	if s := len(n.slots); !taken[s] {
		return byte(s)
	}
	return byte(slices.Index(taken[:], false))
}

func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (n *node) append(dst []byte) []byte {
	dst = append(dst, byte(n.kind))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(n.kids)))
	dst = append(append(dst, byte(len(n.prefix))), n.prefix...)
	switch n.kind {
	case leafNode:
		dst = append(dst, n.key[:]...)
		return binary.LittleEndian.AppendUint64(dst, uint64(n.index))
	case node4, node16:
		words := make([]byte, capacity[n.kind])
		copy(words, n.bytes)
		dst = append(dst, flipped(words, min(len(words), 8))...)
	case node48:
		slots := make([]byte, 256)
		for i := range slots {
			slots[i] = 0xff
		}
		for i, b := range n.bytes {
			slots[b] = n.slots[i]
		}
		dst = append(dst, flipped(slots, 8)...)
	case node256:
		var mask [4]uint64
		for _, b := range n.bytes {
			mask[b>>6] |= 1 << (b & 63)
		}
		for _, w := range mask {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	for _, k := range n.kids {
		dst = k.append(dst)
	}
	return dst
}

// flipped turns each word of n bytes around: Java holds the bytes in numbers, highest
// first, and stores numbers lowest byte first.
func flipped(b []byte, n int) []byte {
	for w := b; len(w) > 0; w = w[n:] {
		slices.Reverse(w[:n])
	}
	return b
}

// node reads a node and all below it, whose keys begin with path.
func (r *reader) node(path []byte) (*node, error) {
	depth := len(path)
	n := &node{kind: nodeKind(r.u8())}
	count := r.u16()
	prefix := r.u8()
	if r.short {
		return nil, r.err()
	}
	if n.kind > leafNode {
		return nil, corrupt("no such node of the tree", "kind", n.kind)
	}
	if n.kind == leafNode {
		// What leaves once shared with others is forgotten.
		r.take(prefix)
		copy(n.key[:], r.take(keyBytes))
		n.index = r.i64()
		if r.short {
			return nil, r.err()
		}
		if !bytes.HasPrefix(n.key[:], path) {
			return nil, corrupt("a key lies elsewhere in the tree", "key", n.key)
		}
		return n, nil
	}
	if count > capacity[n.kind] || depth+prefix >= keyBytes {
		return nil, corrupt("impossible node of the tree", "kids", count, "depth", depth, "prefix", prefix)
	}
	n.prefix = slices.Clone(r.take(prefix))
	switch n.kind {
	case node4, node16:
		words := slices.Clone(r.take(capacity[n.kind]))
		n.bytes = flipped(words, min(len(words), 8))[:count]
	case node48:
		slots := flipped(slices.Clone(r.take(256)), 8)
		var taken [48]bool
		for b, s := range slots {
			if s == 0xff {
				continue
			}
			if s >= 48 || taken[s] {
				return nil, corrupt("impossible slots of a node of the tree")
			}
			taken[s] = true
			n.bytes, n.slots = append(n.bytes, byte(b)), append(n.slots, s)
		}
	case node256:
		for w := range 4 {
			mask := uint64(r.i64())
			for i := range 64 {
				if mask>>i&1 == 1 {
					n.bytes = append(n.bytes, byte(w<<6+i))
				}
			}
		}
	}
	if r.short {
		return nil, r.err()
	}
	if len(n.bytes) != count {
		return nil, corrupt("a node of the tree has other kids than it says", "kids", len(n.bytes), "said", count)
	}
	for i := range n.bytes {
		if i > 0 && n.bytes[i-1] >= n.bytes[i] {
			return nil, corrupt("kids of a node of the tree are out of order")
		}
		kid, err := r.node(append(append(path[:depth:depth], n.prefix...), n.bytes[i]))
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	return n, nil
}
