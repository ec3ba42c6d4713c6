package budget

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestReserveShrinkRelease(t *testing.T) {
	b := New(100)
	r, err := b.Reserve(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.TryReserve(41); ok {
		t.Error("41 of 40 free bytes were given")
	}
	if !r.TryGrow(40) || r.TryGrow(1) {
		t.Error("TryGrow must give what is free and no more")
	}
	r.Shrink(30)
	if r.Size() != 70 || b.Used() != 70 || b.Peak() != 100 {
		t.Errorf("size %d used %d peak %d", r.Size(), b.Used(), b.Peak())
	}
	r.Release()
	r.Release()
	r.Shrink(5)
	if b.Used() != 0 {
		t.Errorf("used %d after Release", b.Used())
	}
	if _, ok := b.TryReserve(-1); ok {
		t.Error("a negative size was given")
	}
}

func TestLargerThanBudgetNamesTheSetting(t *testing.T) {
	b := New(10)
	_, err := b.Reserve(t.Context(), 11)
	if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "Config.Memory") {
		t.Errorf("got %v", err)
	}
	r, _ := b.Reserve(t.Context(), 6)
	if err := r.Grow(t.Context(), 5); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("growing above the budget can never succeed, got %v", err)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		first, _ := b.Reserve(t.Context(), 10)
		var order []int64
		var mu sync.Mutex
		for _, n := range []int64{8, 1, 2} {
			go func() {
				r, err := b.Reserve(t.Context(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				r.Release()
			}()
			synctest.Wait() // each queues before the next starts
		}
		first.Shrink(3)
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("small requests overtook the large one: %v", order)
		}
		if _, ok := b.TryReserve(1); ok {
			t.Error("TryReserve overtook those who wait")
		}
		first.Release()
		synctest.Wait()
		if len(order) != 3 || b.Used() != 0 {
			t.Errorf("served %v, used %d", order, b.Used())
		}
	})
}

func TestCancelledWaiterLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		held, _ := b.Reserve(t.Context(), 5)
		ctx, cancel := context.WithCancel(t.Context())
		var big error
		var small atomic.Bool
		go func() { _, big = b.Reserve(ctx, 9) }()
		synctest.Wait()
		go func() {
			if _, err := b.Reserve(t.Context(), 5); err == nil {
				small.Store(true)
			}
		}()
		synctest.Wait()
		if small.Load() {
			t.Fatal("the small request overtook")
		}
		cancel()
		synctest.Wait()
		if !errors.Is(big, context.Canceled) || !errors.Is(big, tarnerr.Unavailable) {
			t.Errorf("cancelled wait: %v", big)
		}
		if !small.Load() {
			t.Error("the one behind a cancelled request must be served")
		}
		held.Release()
		if b.Used() != 5 {
			t.Errorf("used %d", b.Used())
		}
	})
}

// Whoever has to wait asks holders to give back, until it is served or none can.
func TestWaitersReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		held := []*Reservation{}
		for range 3 {
			r, _ := b.Reserve(t.Context(), 3)
			held = append(held, r)
		}
		asked := 0
		b.OnWait(func(context.Context) bool {
			if asked++; !b.Contended() {
				t.Error("asked while nobody waits")
			}
			if len(held) == 0 {
				return false
			}
			held[0].Release()
			held = held[1:]
			return true
		})
		r, err := b.Reserve(t.Context(), 7)
		if err != nil || asked != 2 || b.Used() != 10 {
			t.Errorf("%v; asked %d times, used %d", err, asked, b.Used())
		}
		done := make(chan error)
		go func() {
			_, err := b.Reserve(t.Context(), 10)
			done <- err
		}()
		synctest.Wait()
		if asked != 4 || len(held) != 0 || b.Used() != 7 {
			t.Errorf("asked %d times, %d still hold, used %d", asked, len(held), b.Used())
		}
		r.Release()
		if err := <-done; err != nil || b.Contended() {
			t.Error(err)
		}
	})
}

func TestManyReserveNeverExceed(t *testing.T) {
	b := New(1000)
	var wg sync.WaitGroup
	for i := range int64(16) {
		wg.Go(func() {
			for range 200 {
				r, err := b.Reserve(t.Context(), 50+i*10)
				if err != nil {
					t.Error(err)
					return
				}
				if !r.TryGrow(30) {
					r.Shrink(20)
				}
				r.Release()
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 || b.Peak() > 1000 {
		t.Errorf("used %d peak %d", b.Used(), b.Peak())
	}
}

func TestAllocatorCounts(t *testing.T) {
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	b := New(100)
	a := Allocator(checked, b)
	buf := a.Allocate(150)
	if b.Used() != 150 {
		t.Errorf("used %d", b.Used())
	}
	if _, ok := b.TryReserve(1); ok {
		t.Error("an overdrawn budget gave more")
	}
	buf = a.Reallocate(40, buf)
	if b.Used() != 40 {
		t.Errorf("used %d after Reallocate", b.Used())
	}
	a.Free(buf)
	checked.AssertSize(t, 0)
	if b.Used() != 0 {
		t.Errorf("used %d after Free", b.Used())
	}
}
