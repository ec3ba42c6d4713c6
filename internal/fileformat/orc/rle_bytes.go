package orc

import "math/bits"

// byteRuns decodes ORC's byte run lengths: a control byte of 0…127 repeats the
// next byte 3 to 130 times, one of −1…−128 is followed by 1 to 128 bytes.
// Source: the ORC v1 specification, "Byte Run Length Encoding".
type byteRuns struct {
	in       *stream
	left     int // of the run at hand
	repeated bool
	value    byte
}

func (r *byteRuns) next() error {
	c, err := r.in.byte()
	if err != nil {
		return err
	}
	if n := int(int8(c)); n < 0 {
		r.left, r.repeated = -n, false
		return nil
	}
	r.left, r.repeated = int(c)+3, true
	r.value, err = r.in.byte()
	return err
}

// read decodes len(dst) bytes.
func (r *byteRuns) read(dst []byte) error {
	for len(dst) > 0 {
		if r.left == 0 {
			if err := r.next(); err != nil {
				return err
			}
		}
		n := min(len(dst), r.left)
		if r.repeated {
			for i := range dst[:n] {
				dst[i] = r.value
			}
		} else if err := r.in.read(dst[:n]); err != nil {
			return err
		}
		r.left -= n
		dst = dst[n:]
	}
	return nil
}

// bitRuns decodes booleans: byte runs of eight values each, the first in the
// highest bit.
type bitRuns struct {
	byteRuns
	rest byte // values not yet taken, the next in the lowest bit
	n    int  // how many they are
	buf  [512]byte
}

// read decodes k values into the bitmap dst, from bit off on, and counts the
// ones. Bits of dst from off on must be zero.
func (r *bitRuns) read(dst []byte, off, k int) (ones int, err error) {
	for k > 0 {
		if r.n == 0 && k >= 8 {
			n := min(k/8, len(r.buf))
			if err := r.byteRuns.read(r.buf[:n]); err != nil {
				return ones, err
			}
			for i, b := range r.buf[:n] {
				r.buf[i] = bits.Reverse8(b)
				ones += bits.OnesCount8(b)
			}
			putBytes(dst, off, r.buf[:n])
			off, k = off+8*n, k-8*n
			continue
		}
		if r.n == 0 {
			if err := r.byteRuns.read(r.buf[:1]); err != nil {
				return ones, err
			}
			r.rest, r.n = bits.Reverse8(r.buf[0]), 8
		}
		n := min(k, r.n)
		v := r.rest & byte(1<<n-1)
		ones += bits.OnesCount8(v)
		putBits(dst, off, v, n)
		r.rest, r.n = r.rest>>n, r.n-n
		off, k = off+n, k-n
	}
	return ones, nil
}

// putBits sets up to eight bits of a bitmap that are zero so far.
func putBits(dst []byte, off int, v byte, n int) {
	at, shift := off>>3, off&7
	dst[at] |= v << shift
	if shift+n > 8 {
		dst[at+1] |= v >> (8 - shift)
	}
}

// putBytes sets whole bytes of bits.
func putBytes(dst []byte, off int, src []byte) {
	at, shift := off>>3, off&7
	if shift == 0 {
		copy(dst[at:], src)
		return
	}
	for i, b := range src {
		dst[at+i] |= b << shift
		dst[at+i+1] |= b >> (8 - shift)
	}
}
