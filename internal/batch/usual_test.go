package batch

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestBatchesStayLarge: what a column takes at once, because its last batch needed
// that much, does not end the next batch, however many batches and columns there are.
func TestBatchesStayLarge(t *testing.T) {
	const bound = 1 << 20
	for _, columns := range []int{1, 2, 20} {
		for _, length := range []int{100, 5 << 10, 20 << 10} {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			a := new(Allowance)
			cols := make([]*Column, columns)
			for i := range cols {
				cols[i] = &Column{Mem: mem, Width: WidthText, Allowance: a}
			}
			row := length * columns
			for batch := range 50 {
				a.Begin(true)
				rows := 0
				for ; a.Used() < bound; rows++ {
					for _, c := range cols {
						c.Reserve(c.N + 1)
						c.Room(length)
						c.Used += length
						c.N++
					}
				}
				for _, c := range cols {
					c.Finish(arrow.BinaryTypes.Binary, nil).Release()
				}
				if least := max(bound/4/row, 1); rows < least {
					t.Fatalf("%d columns of %d bytes: batch %d has %d rows, want %d", columns, length, batch, rows, least)
				}
			}
			mem.AssertSize(t, 0)
		}
	}
}

// TestUsualIsBounded: one long text does not make the next batch as long, and what
// was usual is forgotten where a batch is to be smaller.
func TestUsualIsBounded(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	c := &Column{Mem: mem, Width: WidthText}
	fill := func(n int) (capacity int) {
		c.Reserve(1)
		c.Room(n)
		c.N, c.Used = 1, n
		capacity = c.Data.Cap()
		c.Finish(arrow.BinaryTypes.Binary, nil).Release()
		return capacity
	}
	fill(2 * mostUsual)
	if n := fill(5); n > mostUsual+mostUsual/8 {
		t.Errorf("%d bytes after a long text", n)
	}
	fill(100_000)
	if n := fill(5); n < 100_000 || n > 110_000 {
		t.Errorf("%d bytes after a batch of 100,000", n)
	}
	fill(100_000)
	c.Forget()
	if n := fill(5); n > 1_000 {
		t.Errorf("%d bytes of a column that forgot what was usual", n)
	}
}
