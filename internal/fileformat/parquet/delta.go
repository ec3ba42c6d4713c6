package parquet

import "encoding/binary"

// deltaBinary decodes a DELTA_BINARY_PACKED block of at most limit values and
// returns what follows it.
func deltaBinary[T int32 | int64](dst []T, b []byte, limit int) (out []T, rest []byte, ok bool) {
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, nil, false
		}
		head[i], b = v, b[n:]
	}
	block, minis, total := head[0], head[1], head[2]
	first, n := binary.Varint(b)
	if n <= 0 {
		return nil, nil, false
	}
	b = b[n:]
	if total > uint64(limit) || block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, nil, false
	}
	per := int(block / minis)
	out = grow(dst, int(total))[:0]
	if total == 0 {
		return out, b, true
	}
	last := first
	out = append(out, T(last))
	for len(out) < int(total) {
		least, n := binary.Varint(b)
		if n <= 0 || len(b)-n < int(minis) {
			return nil, nil, false
		}
		widths := b[n : n+int(minis)]
		b = b[n+int(minis):]
		for _, w := range widths {
			if len(out) == int(total) {
				break // the rest of the block's widths mean nothing
			}
			width := int(w)
			size := per / 8 * width
			if width > 64 {
				return nil, nil, false
			}
			mini := b
			if size <= len(b) {
				mini, b = b[:size], b[size:]
			} else if need := (min(per, int(total)-len(out))*width + 7) / 8; need <= len(b) {
				b = nil // some writers cut the padding of the last miniblock
			} else {
				return nil, nil, false
			}
			bit := 0
			for range min(per, int(total)-len(out)) {
				last += least + int64(bitsAt(mini, bit, width))
				out = append(out, T(last))
				bit += width
			}
		}
	}
	return out, b, true
}

// bitsAt reads width ≤ 64 bits at bit position bit.
func bitsAt(b []byte, bit, width int) uint64 {
	if width == 0 {
		return 0
	}
	at, shift := bit>>3, bit&7
	if at+8 <= len(b) {
		v := binary.LittleEndian.Uint64(b[at:]) >> shift
		if shift+width > 64 && at+8 < len(b) {
			v |= uint64(b[at+8]) << (64 - shift)
		}
		if width < 64 {
			v &= 1<<width - 1
		}
		return v
	}
	var v uint64
	for k := 0; k < 8 && at+k < len(b); k++ {
		v |= uint64(b[at+k]) << (8 * k)
	}
	v >>= shift
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}

// unsplit undoes BYTE_STREAM_SPLIT for values of width bytes.
func unsplit(dst, b []byte, width int) {
	n := len(b) / width
	for k := range width {
		stream := b[k*n : (k+1)*n]
		for i, v := range stream {
			dst[i*width+k] = v
		}
	}
}
