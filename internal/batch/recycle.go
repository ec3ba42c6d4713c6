package batch

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/invariants"
)

// Memory that only stages see comes and goes with every page and batch. It is
// used again, which spares clearing it and the garbage collector. Sizes of
// buffers are at most a fifth apart.
const (
	smallestShift = 10
	// LargestBuffer is the most bytes that are used again in one piece.
	LargestBuffer = 16 << 20
)

var buffers [96]sync.Pool

// classOf is the class of buffers for n bytes, and how long these are.
func classOf(n int) (class, size int) {
	shift := max(bits.Len(uint(n-1))-3, smallestShift)
	steps := (n-1)>>shift + 1
	return (shift-smallestShift)*8 + steps - 1, steps << shift
}

// TakeBuffer gives n bytes that hold anything.
func TakeBuffer(n int) []byte {
	if n < 1 || n > LargestBuffer {
		return make([]byte, n)
	}
	class, size := classOf(n)
	if b, ok := buffers[class].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	b := make([]byte, n, size)
	if invariants.Enabled {
		spoil(b)
	}
	return b
}

// GiveBuffer takes back what TakeBuffer gave, and leaves to the garbage collector
// what it did not. Nobody may use b any more.
func GiveBuffer(b []byte) {
	if cap(b) < 1 || cap(b) > LargestBuffer {
		return
	}
	if class, size := classOf(cap(b)); size == cap(b) {
		if invariants.Enabled {
			spoil(b[:cap(b)])
		}
		buffers[class].Put(&b)
	}
}

// spoil makes wrong what is read of memory that was given back.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

// Recycled is mem for arrays that no caller of the library gets to see: where
// mem is Go's memory, which nobody counts, freed buffers are used again.
func Recycled(mem memory.Allocator) memory.Allocator {
	switch mem.(type) {
	case *memory.GoAllocator, reused:
		return recycled{}
	}
	return mem
}

// Reused is memory for arrays that callers see: what they have released is used
// again. It comes cleared, but to those who ask for [Recycled] or [Unzeroed] memory.
func Reused() memory.Allocator { return reused{} }

type reused struct{ recycled }

func (r reused) Allocate(size int) []byte {
	if size < least {
		return small.Allocate(size)
	}
	b := TakeBuffer(size)
	clear(b)
	return b
}

// small aligns what is not worth recycling.
var small = memory.NewGoAllocator()

func (r reused) Reallocate(size int, b []byte) []byte {
	if size <= len(b) {
		return b[:size]
	}
	out := r.Allocate(size)
	copy(out, b)
	r.Free(b)
	return out
}

type recycled struct{}

// least is from which size on an array's buffer is worth recycling.
const least = 1 << smallestShift

func (recycled) Allocate(size int) []byte {
	if size < least {
		return make([]byte, size)
	}
	return TakeBuffer(size)
}

func (r recycled) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := r.Allocate(size)
	copy(out, b)
	r.Free(b)
	return out
}

func (recycled) Free(b []byte) {
	if cap(b) >= least {
		GiveBuffer(b)
	}
}
