package budget

import "github.com/apache/arrow-go/v18/arrow/memory"

// Allocator returns an Arrow allocator that counts what it hands out against b.
// An allocation cannot wait or fail, so it may overdraw the budget; reservations
// then wait until it is even again. Memory counted here must not be reserved too.
func Allocator(parent memory.Allocator, b *Budget) memory.Allocator {
	return &allocator{parent, b}
}

type allocator struct {
	parent memory.Allocator
	b      *Budget
}

func (a *allocator) Allocate(size int) []byte {
	buf := a.parent.Allocate(size)
	a.b.charge(int64(len(buf)))
	return buf
}

func (a *allocator) Reallocate(size int, b []byte) []byte {
	before := len(b)
	buf := a.parent.Reallocate(size, b)
	a.b.charge(int64(len(buf) - before))
	return buf
}

func (a *allocator) Free(b []byte) {
	n := len(b)
	a.parent.Free(b)
	a.b.charge(-int64(n))
}
