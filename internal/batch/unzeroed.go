package batch

import (
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/invariants"
)

// Unzeroed is mem for arrays that callers keep, of which every value is written
// before anybody looks: where mem is Go's memory it comes as it is, not cleared
// first, which is a twentieth of a scan. What counts on zeroes must write them.
func Unzeroed(mem memory.Allocator) memory.Allocator {
	switch m := mem.(type) {
	case *memory.GoAllocator:
		return unzeroed{m}
	case reused:
		return m.recycled
	}
	return mem
}

// unzeroed leaves what was allocated to the garbage collector, as Go's allocator does.
type unzeroed struct{ *memory.GoAllocator }

// clearedAnyway is up to which size it does not matter.
const clearedAnyway = 32 << 10

func (u unzeroed) Allocate(size int) []byte {
	if size <= clearedAnyway {
		return u.GoAllocator.Allocate(size)
	}
	b := asItIs(size)
	if invariants.Enabled {
		spoil(b)
	}
	return b
}

func (u unzeroed) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := u.Allocate(size)
	copy(out, b)
	return out
}

// asItIs allocates n bytes, which hold anything. Nothing in Go's library but the
// buffer of a strings.Builder is allocated without being cleared. No string of it
// is left that could be seen to change.
func asItIs(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // an empty string need not have an address
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
