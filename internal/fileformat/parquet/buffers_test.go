package parquet

import "testing"

func TestBufferClasses(t *testing.T) {
	last := -1
	for n := 1; n <= largestBuffer; n += 1 + n/50 {
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
	for _, n := range []int{0, 1, 1000, 1 << 20, largestBuffer, largestBuffer + 1} {
		b := takeBuffer(n)
		if len(b) != n {
			t.Errorf("%d bytes were asked for, %d given", n, len(b))
		}
		giveBuffer(b)
		giveBuffer(make([]byte, n)) // one that was not taken does no harm
	}
}
