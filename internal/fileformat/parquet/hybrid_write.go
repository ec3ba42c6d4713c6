package parquet

import (
	"encoding/binary"
)

// shortestRun is from how many equal values on a run is worth its header.
const shortestRun = 8

// appendHybrid encodes values of width bits as [hybrid] decodes them: runs of
// equal values, and groups of eight packed values between them.
func appendHybrid[T int16 | uint32](dst []byte, values []T, width int) []byte {
	literal := 0 // first value that is not encoded yet
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		if n < shortestRun && width > 0 {
			i = min(i+8, len(values)) // runs begin where a group does
			continue
		}
		dst = appendLiterals(dst, values[literal:i], width)
		dst = binary.AppendUvarint(dst, uint64(n)<<1)
		for v, left := uint32(values[i]), width; left > 0; left -= 8 {
			dst, v = append(dst, byte(v)), v>>8
		}
		i += n
		literal = i
	}
	return appendLiterals(dst, values[literal:], width)
}

// appendLiterals packs values; what is missing of the last group of eight is zero.
func appendLiterals[T int16 | uint32](dst []byte, values []T, width int) []byte {
	if len(values) == 0 {
		return dst
	}
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	end := len(dst) + groups*width
	var acc uint64
	held := 0
	for _, v := range values {
		acc |= uint64(uint32(v)) << held
		held += width
		if held >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			held -= 32
		}
	}
	for len(dst) < end {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// appendBits encodes the first n bits of a bitmap as values of width 1. Bits
// beyond n in the last byte are zero.
func appendBits(dst, bits []byte, n int) []byte {
	const shortest = 8 // bytes: 64 values
	literal, whole := 0, n/8
	flush := func(to int) {
		if to > literal {
			dst = binary.AppendUvarint(dst, uint64(to-literal)<<1|1)
			dst = append(dst, bits[literal:to]...)
		}
	}
	for i := 0; i < whole; {
		b, run := bits[i], 1
		if b == 0 || b == 0xff {
			for i+run < whole && bits[i+run] == b {
				run++
			}
			if run >= shortest {
				flush(i)
				dst = append(binary.AppendUvarint(dst, uint64(run)<<4), b&1)
				literal = i + run
			}
		}
		i += run
	}
	flush((n + 7) / 8)
	return dst
}

// appendRun encodes n times v, which has at most eight bits.
func appendRun(dst []byte, n int, v byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(n)<<1), v)
}
