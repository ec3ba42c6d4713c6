package batch

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestBufferClasses(t *testing.T) {
	last := -1
	for n := 1; n <= LargestBuffer; n += 1 + n/50 {
		class, size := classOf(n)
		if size < n || size > n+n/4 && size > n+1<<smallestShift {
			t.Fatalf("%d bytes get a buffer of %d", n, size)
		}
		if class < last || class >= len(buffers) {
			t.Fatalf("%d bytes are of class %d, fewer of %d; there are %d", n, class, last, len(buffers))
		}
		if c, s := classOf(size); c != class || s != size {
			t.Fatalf("a buffer of %d bytes does not return to its class", size)
		}
		last = class
	}
	for _, n := range []int{0, 1, 1000, 1 << 20, LargestBuffer, LargestBuffer + 1} {
		b := TakeBuffer(n)
		if len(b) != n {
			t.Errorf("%d bytes were asked for, %d given", n, len(b))
		}
		GiveBuffer(b)
		GiveBuffer(make([]byte, n)) // one that was not taken does no harm
	}
}

func TestRecycledGrowsAndKeeps(t *testing.T) {
	mem := Recycled(memory.NewGoAllocator())
	b := memory.NewResizableBuffer(mem)
	var want []byte
	for n := 1; n < 3<<20; n += 1 + n/3 {
		b.Resize(n)
		for len(want) < n {
			want = append(want, byte(len(want)*7))
		}
		copy(b.Bytes(), want)
		if b.Len() != n || !bytes.Equal(b.Bytes(), want) {
			t.Fatalf("%d bytes: content lost", n)
		}
	}
	b.Release()
	counted := memory.NewCheckedAllocator(memory.DefaultAllocator)
	if Recycled(counted) != memory.Allocator(counted) {
		t.Error("memory that is counted is not passed by")
	}
}

// Memory that callers release comes cleared and aligned the next time, and stages
// that write all of it get it as it is.
func TestReusedComesCleared(t *testing.T) {
	mem := Reused()
	for range 3 {
		for n := 1; n < 4<<20; n += 1 + n/2 {
			b := mem.Allocate(n)
			if len(b) != n || bytes.Count(b, []byte{0}) != n {
				t.Fatalf("%d bytes: %d given, not all 0", n, len(b))
			}
			if at := uintptr(unsafe.Pointer(&b[0])); at%64 != 0 {
				t.Fatalf("%d bytes lie at %x", n, at)
			}
			for i := range b {
				b[i] = 7
			}
			grown := mem.Reallocate(n+n/2+1, b)
			if bytes.Count(grown[:n], []byte{7}) != n || bytes.Count(grown[n:], []byte{0}) != len(grown)-n {
				t.Fatalf("%d bytes: not as before, then 0", n)
			}
			short := mem.Reallocate(1, grown)
			again := mem.Reallocate(n, short)
			if n > 1 && (again[0] != 7 || again[1] != 0) {
				t.Fatalf("%d bytes shrank and grew: %v", n, again[:2])
			}
			mem.Free(again)
		}
	}
	if Recycled(mem) != memory.Allocator(recycled{}) || Unzeroed(mem) != memory.Allocator(recycled{}) {
		t.Error("who writes all of it gets cleared memory")
	}
}

func TestUnzeroedIsMemoryOfItsOwn(t *testing.T) {
	mem := Unzeroed(memory.NewGoAllocator())
	var all [][]byte
	for n := 1; n < 4<<20; n += 1 + n/2 {
		b := mem.Allocate(n)
		if len(b) != n {
			t.Fatalf("%d bytes were asked for, %d given", n, len(b))
		}
		for i := range b {
			b[i] = byte(n)
		}
		all = append(all, b)
	}
	runtime.GC()
	for _, b := range all {
		if bytes.Count(b, []byte{byte(len(b))}) != len(b) {
			t.Fatalf("%d bytes: content lost", len(b))
		}
		grown := mem.Reallocate(len(b)+100_000, b)
		if !bytes.Equal(grown[:len(b)], b) || len(grown) != len(b)+100_000 {
			t.Fatalf("%d bytes: content lost in growing", len(b))
		}
	}
	counted := memory.NewCheckedAllocator(memory.DefaultAllocator)
	if Unzeroed(counted) != memory.Allocator(counted) {
		t.Error("memory that is counted is not passed by")
	}
}
