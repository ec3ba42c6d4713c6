package binaryrow

import (
	"encoding/binary"
	"math/bits"
)

// Murmur3 x86_32 as Paimon uses it: seed 42 and whole words only, because the
// bytes of a row are always a multiple of eight.
const (
	hashSeed uint32 = 42
	hashC1   uint32 = 0xcc9e2d51
	hashC2   uint32 = 0x1b873593
)

// Hash is Java's BinaryRow.hashCode: over all bytes of the row, header and null
// bits included, without the arity prefix ([Row.Body]). Bytes beyond the last
// whole word do not occur in a row and do not count.
func Hash(body []byte) int32 {
	h := hashSeed
	for p := body; len(p) >= 4; p = p[4:] {
		h = mixHash(h, binary.LittleEndian.Uint32(p))
	}
	return finishHash(h, uint32(len(body)))
}

// Hash is the hash that buckets are made of.
func (r Row) Hash() int32 { return Hash(r.Body()) }

func mixHash(h, word uint32) uint32 {
	k := bits.RotateLeft32(word*hashC1, 15) * hashC2
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

func finishHash(h, length uint32) int32 {
	h ^= length
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}
