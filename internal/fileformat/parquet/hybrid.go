package parquet

import (
	"encoding/binary"
	"math/bits"
)

// hybrid decodes the mix of runs and bit-packed groups that Parquet uses for
// levels, dictionary indices and booleans. It never yields more values than it
// is asked for, whatever length a run claims.
type hybrid struct {
	b     []byte
	width int

	left   int    // values left in the current run
	value  uint32 // of a repeated run
	packed bool
	bit    int // next bit of packed, in b
}

func newHybrid(b []byte, width int) hybrid { return hybrid{b: b, width: width} }

// run makes sure there are values left, false at the end of the input.
func (h *hybrid) run() bool {
	for h.left == 0 {
		if h.packed {
			h.b, h.packed, h.bit = h.b[h.bit/8:], false, 0
		}
		if len(h.b) == 0 {
			if h.width == 0 { // a dictionary of one entry may have no bytes at all
				h.left, h.value = 1<<30, 0
				return true
			}
			return false
		}
		u, n := binary.Uvarint(h.b)
		if n <= 0 || u>>1 > 1<<31 {
			h.b = nil
			return false
		}
		h.b = h.b[n:]
		if u&1 == 0 {
			size := (h.width + 7) / 8
			if len(h.b) < size {
				h.b = nil
				return false
			}
			h.value = 0
			for i := range size {
				h.value |= uint32(h.b[i]) << (8 * i)
			}
			h.b, h.left = h.b[size:], int(u>>1)
			continue
		}
		h.left = int(u>>1) * 8
		if h.width > 0 {
			// The last group may be cut after its last byte in use.
			h.left = min(h.left, len(h.b)*8/h.width)
		}
		h.packed, h.bit = true, 0
		if h.left == 0 {
			h.b = nil
			return false
		}
	}
	return true
}

// uints decodes len(dst) values.
func (h *hybrid) uints(dst []uint32) bool {
	for len(dst) > 0 {
		if !h.run() {
			return false
		}
		n := min(len(dst), h.left)
		if h.packed {
			unpack(dst[:n], h.b, h.bit, h.width)
			h.bit += n * h.width
		} else {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		}
		h.left -= n
		if h.left == 0 && h.packed {
			h.bit = (h.bit + 7) &^ 7
		}
		dst = dst[n:]
	}
	return true
}

// bytes decodes len(dst) values of at most 8 bits.
func (h *hybrid) bytes(dst []uint8) bool {
	for len(dst) > 0 {
		if !h.run() {
			return false
		}
		n := min(len(dst), h.left)
		if h.packed {
			mask := uint16(1)<<h.width - 1
			for i := range dst[:n] {
				at := h.bit >> 3
				v := uint16(h.b[at])
				if at+1 < len(h.b) {
					v |= uint16(h.b[at+1]) << 8
				}
				dst[i] = uint8(v >> (h.bit & 7) & mask)
				h.bit += h.width
			}
		} else {
			for i := range dst[:n] {
				dst[i] = uint8(h.value)
			}
		}
		h.left -= n
		if h.left == 0 && h.packed {
			h.bit = (h.bit + 7) &^ 7
		}
		dst = dst[n:]
	}
	return true
}

// bits decodes n values of width 1 into a bitmap at bit off and counts the
// ones. The bits written must be zero before.
func (h *hybrid) bits(dst []byte, off, n int) (ones int, ok bool) {
	for n > 0 {
		if !h.run() {
			return ones, false
		}
		k := min(n, h.left)
		if h.packed {
			ones += copyBits(dst, off, h.b, h.bit, k)
			h.bit += k
		} else if h.value&1 == 1 {
			setBits(dst, off, k)
			ones += k
		}
		h.left -= k
		if h.left == 0 && h.packed {
			h.bit = (h.bit + 7) &^ 7
		}
		off, n = off+k, n-k
	}
	return ones, true
}

// unpack reads values of width bits from bit position bit of b.
func unpack(dst []uint32, b []byte, bit, width int) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	i := 0
	if width <= 8 && bit&7 == 0 { // eight values fit a word
		for ; i+8 <= len(dst) && bit>>3+8 <= len(b); i += 8 {
			w := binary.LittleEndian.Uint64(b[bit>>3:])
			d := dst[i : i+8 : i+8]
			d[0] = uint32(w & mask)
			w >>= width
			d[1] = uint32(w & mask)
			w >>= width
			d[2] = uint32(w & mask)
			w >>= width
			d[3] = uint32(w & mask)
			w >>= width
			d[4] = uint32(w & mask)
			w >>= width
			d[5] = uint32(w & mask)
			w >>= width
			d[6] = uint32(w & mask)
			w >>= width
			d[7] = uint32(w & mask)
			bit += 8 * width
		}
	}
	for ; i < len(dst) && bit>>3+8 <= len(b); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var w uint64
		for k := 0; k < 8 && bit>>3+k < len(b); k++ {
			w |= uint64(b[bit>>3+k]) << (8 * k)
		}
		dst[i] = uint32(w >> (bit & 7) & mask)
		bit += width
	}
}

// setBits sets n bits from bit off.
func setBits(dst []byte, off, n int) {
	for n > 0 && off&7 != 0 {
		dst[off>>3] |= 1 << (off & 7)
		off, n = off+1, n-1
	}
	for ; n >= 8; off, n = off+8, n-8 {
		dst[off>>3] = 0xff
	}
	for ; n > 0; off, n = off+1, n-1 {
		dst[off>>3] |= 1 << (off & 7)
	}
}

// copyBits copies n bits into zeroed ones and counts those set.
func copyBits(dst []byte, off int, src []byte, from, n int) (ones int) {
	for n > 0 {
		// Take up to the end of the destination byte in one step.
		k := min(n, 8-off&7)
		v := uint(src[from>>3]) >> (from & 7)
		if have := 8 - from&7; have < k {
			v |= uint(src[from>>3+1]) << have
		}
		v &= 1<<k - 1
		dst[off>>3] |= byte(v << (off & 7))
		ones += bits.OnesCount(v)
		off, from, n = off+k, from+k, n-k
	}
	return ones
}
