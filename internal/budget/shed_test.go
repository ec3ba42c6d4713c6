package budget

import (
	"testing"
	"testing/synctest"
)

// Who waits has the caches give up first, as much as they have; who does not wait may
// ask for that.
func TestCachesGiveUpFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		kept, _ := b.Reserve(t.Context(), 6)
		b.OnShortage(func(int64) bool { return false })
		b.OnShortage(func(n int64) bool {
			had := kept.Size()
			kept.Shrink(n)
			return had > 0
		})
		if _, ok := b.TryReserve(5); ok || !b.Shed(2) {
			t.Error("nothing was given up")
		}
		r, err := b.Reserve(t.Context(), 9)
		if err != nil || kept.Size() != 0 {
			t.Fatalf("%v, %d bytes are kept", err, kept.Size())
		}
		if b.Shed(1) {
			t.Error("what is not there was given up")
		}
		r.Release()
	})
}
