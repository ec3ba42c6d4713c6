package roaring

import (
	"encoding/binary"
	"math/bits"
)

// form is how a container holds its numbers; the values are those of the 64-bit format.
type form uint8

const (
	runs  form = iota // pairs of a first number and how many follow it
	bitsN             // a bit for each of the 65536 numbers
	array             // the numbers, ascending
)

const (
	maxArray  = 4096 // numbers an array may hold
	bitsBytes = 8192
	full      = 1 << 16
)

// container is a set of 16-bit numbers as it is stored: the payload of its form,
// without counts.
type container struct {
	form form
	card int
	data []byte
}

func u16(b []byte, i int) int { return int(binary.LittleEndian.Uint16(b[2*i:])) }

// valid reports that the payload is what its form says.
func (c *container) valid() bool {
	switch c.form {
	case array:
		if len(c.data) != 2*c.card || c.card > full {
			return false
		}
		for i := 1; i < c.card; i++ {
			if u16(c.data, i-1) >= u16(c.data, i) {
				return false
			}
		}
	case bitsN:
		n := 0
		for b := c.data; len(b) > 0; b = b[8:] {
			n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
		}
		return n == c.card
	case runs:
		c.card = 0
		next := 0
		for i := range len(c.data) / 4 {
			first, more := u16(c.data, 2*i), u16(c.data, 2*i+1)
			if first < next || first+more >= full {
				return false
			}
			c.card += more + 1
			next = first + more + 1
		}
	}
	return true
}

// size is the bytes of the payload as Java counts them for the offsets.
func (c *container) size() int {
	if c.form == runs {
		return 2 + len(c.data)
	}
	return len(c.data)
}

func (c *container) append(dst []byte) []byte {
	if c.form == runs {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(c.data)/4))
	}
	return append(dst, c.data...)
}

// set is a container as bits.
type set [1024]uint64

func (s *set) add(c *container) {
	switch c.form {
	case array:
		for i := range c.card {
			v := u16(c.data, i)
			s[v>>6] |= 1 << (v & 63)
		}
	case bitsN:
		for i := range s {
			s[i] |= binary.LittleEndian.Uint64(c.data[8*i:])
		}
	case runs:
		for i := range len(c.data) / 4 {
			first := u16(c.data, 2*i)
			s.fill(first, first+u16(c.data, 2*i+1))
		}
	}
}

// fill adds the numbers from first to last.
func (s *set) fill(first, last int) {
	low, high := ^uint64(0)<<(first&63), ^uint64(0)>>(63-last&63)
	if first>>6 == last>>6 {
		s[first>>6] |= low & high
		return
	}
	s[first>>6] |= low
	for i := first>>6 + 1; i < last>>6; i++ {
		s[i] = ^uint64(0)
	}
	s[last>>6] |= high
}

// count counts the numbers and the runs of them.
func (s *set) count() (card, runs int) {
	before := uint64(0)
	for _, w := range s {
		card += bits.OnesCount64(w)
		runs += bits.OnesCount64(w &^ (w<<1 | before))
		before = w >> 63
	}
	return card, runs
}

func (s *set) container(f form, card, nRuns int) *container {
	c := &container{form: f, card: card}
	switch f {
	case bitsN:
		c.data = make([]byte, 0, bitsBytes)
		for _, w := range s {
			c.data = binary.LittleEndian.AppendUint64(c.data, w)
		}
	case array:
		c.data = make([]byte, 0, 2*card)
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				c.data = binary.LittleEndian.AppendUint16(c.data, uint16(i<<6+bits.TrailingZeros64(w)))
			}
		}
	case runs:
		c.data = make([]byte, 0, 4*nRuns)
		for at := s.next(0, 0); at < full; {
			end := s.next(at, ^uint64(0))
			c.data = binary.LittleEndian.AppendUint16(c.data, uint16(at))
			c.data = binary.LittleEndian.AppendUint16(c.data, uint16(end-at-1))
			at = s.next(end, 0)
		}
	}
	return c
}

// next is the first number from at on that is in the set, or, where flip is all ones,
// that is not.
func (s *set) next(at int, flip uint64) int {
	for at < full {
		if w := (s[at>>6] ^ flip) >> (at & 63); w != 0 {
			return at + bits.TrailingZeros64(w)
		}
		at = at&^63 + 64
	}
	return full
}

// scratch is what unions need besides their result.
type scratch struct{ set set }

// union unites two containers, in the form Java's ior and runOptimize leave.
func (w *scratch) union(a, b *container) *container {
	w.set = set{}
	w.set.add(a)
	w.set.add(b)
	card, nRuns := w.set.count()
	f := array
	switch {
	case card == full:
		f = runs
	case a.form == bitsN || b.form == bitsN:
		f = bitsN
	case a.form == runs || b.form == runs:
		f = efficient(card, nRuns)
	case card > maxArray:
		f = bitsN
	}
	return w.set.container(compact(f, card, nRuns), card, nRuns)
}

// optimised is the container as runOptimize leaves it. keepRuns says that runs stay
// runs even if another form is smaller.
func (w *scratch) optimised(c *container, keepRuns bool) *container {
	if c.form == runs {
		n := len(c.data) / 4
		if keepRuns || efficient(c.card, n) == runs {
			return c
		}
		w.set = set{}
		w.set.add(c)
		return w.set.container(efficient(c.card, n), c.card, n)
	}
	w.set = set{}
	w.set.add(c)
	card, nRuns := w.set.count()
	if f := compact(c.form, card, nRuns); f != c.form {
		return w.set.container(f, card, nRuns)
	}
	return c
}

// efficient is the form that a container of runs takes.
func efficient(card, nRuns int) form {
	switch {
	case 2+4*nRuns <= min(bitsBytes, 2*card+2):
		return runs
	case card <= maxArray:
		return array
	}
	return bitsN
}

// compact is the form that runOptimize gives a container: runs where these are smaller.
func compact(f form, card, nRuns int) form {
	if f == array && 2*card > 2+4*nRuns || f == bitsN && bitsBytes > 2+4*nRuns {
		return runs
	}
	return f
}
