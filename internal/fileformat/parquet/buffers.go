package parquet

import (
	"math/bits"
	"sync"
)

// Buffers for compressed and decompressed pages come and go with every file and
// row group; they are used again. Classes are at most a fifth apart.
const (
	smallestShift = 10
	largestBuffer = 16 << 20
)

var buffers [96]sync.Pool

// classOf is the class of buffers for n bytes, and how long these are.
func classOf(n int) (class, size int) {
	shift := max(bits.Len(uint(n-1))-3, smallestShift)
	steps := (n-1)>>shift + 1
	return (shift-smallestShift)*8 + steps - 1, steps << shift
}

// takeBuffer gives n bytes that hold anything.
func takeBuffer(n int) []byte {
	if n < 1 || n > largestBuffer {
		return make([]byte, n)
	}
	class, size := classOf(n)
	if b, ok := buffers[class].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, size)
}

// giveBuffer takes back what takeBuffer gave, and leaves to the garbage collector
// what it did not. Nobody may use b any more.
func giveBuffer(b []byte) {
	if cap(b) < 1 || cap(b) > largestBuffer {
		return
	}
	if class, size := classOf(cap(b)); size == cap(b) {
		buffers[class].Put(&b)
	}
}
