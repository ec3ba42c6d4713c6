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

// What caches hold is taken first, also for those who do not wait.
func TestCachesGiveUp(t *testing.T) {
	b := New(100)
	kept, _ := b.Reserve(t.Context(), 60)
	b.OnShortage(func(int64) bool { return false })
	b.OnShortage(func(n int64) bool {
		if kept.Size() == 0 {
			return false
		}
		kept.Shrink(n)
		return true
	})
	b.OnWait(func(context.Context) bool {
		t.Error("somebody is asked before the caches are")
		return false
	})
	if r, err := b.Reserve(t.Context(), 70); err != nil || kept.Size() != 0 {
		t.Fatalf("%v, %d are kept", err, kept.Size())
	} else {
		r.Release()
	}
	kept.Grow(t.Context(), 90)
	if _, ok := b.TryReserve(20); ok {
		t.Error("more than there is")
	}
	if !b.Shed(20) {
		t.Error("nothing was given up")
	}
	if _, ok := b.TryReserve(20); !ok || kept.Size() != 70 {
		t.Errorf("%d are kept", kept.Size())
	}
}

// Readers together have half of the budget, and take what is left of it; the other
// half is free at once for whoever is no reader.
func TestReadersHaveHalf(t *testing.T) {
	b := New(101)
	n, first, _, err := b.ReserveReader(t.Context(), 30, true)
	if err != nil || n != 30 {
		t.Fatalf("%v, %d", err, n)
	}
	if _, _, ok, err := b.ReserveReader(t.Context(), 21, true); ok || err != nil {
		t.Errorf("readers have more than half: %v", err)
	}
	n, second, ok, err := b.ReserveReader(t.Context(), 1000, false)
	if !ok || err != nil || n != 20 || b.Used() != 50 {
		t.Fatalf("%v, %d, used %d", err, n, b.Used())
	}
	n, third, ok, err := b.ReserveReader(t.Context(), 5, false)
	if !ok || err != nil || n != 0 {
		t.Errorf("%v, %d", err, n)
	}
	for range 3 {
		r, err := b.Reserve(t.Context(), 50)
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	for _, release := range []func(){first, first, second, third, third} {
		release()
	}
	if b.Used() != 0 || b.readers.Used() != 0 {
		t.Errorf("used %d, by readers %d", b.Used(), b.readers.Used())
	}
}

// A reader waits for others that hold what is in its half too, and so do those who
// come after it and want more than their own half.
func TestReadersWaitInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		held, _ := b.Reserve(t.Context(), 80)
		var reading func()
		go func() { _, reading, _, _ = b.ReserveReader(t.Context(), 30, true) }()
		synctest.Wait()
		if reading != nil || !b.Contended() {
			t.Fatalf("used %d, contended %v", b.Used(), b.Contended())
		}
		var late *Reservation
		go func() { late, _ = b.Reserve(t.Context(), 15) }()
		synctest.Wait()
		if late != nil {
			t.Error("one with more than half overtook a reader")
		}
		held.Shrink(50) // 30 are left: 15 more are of their half
		synctest.Wait()
		if reading == nil || late == nil || b.Used() != 75 {
			t.Fatalf("used %d", b.Used())
		}
		held.Release()
		late.Release()
		reading()
		if b.Used() != 0 {
			t.Errorf("used %d", b.Used())
		}
	})
}

// Who wants more than half does not wait for readers: it takes what they leave, but
// not before the others are done.
func TestMoreThanHalfBesideReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		_, reading, _, _ := b.ReserveReader(t.Context(), 40, true)
		small, _ := b.Reserve(t.Context(), 1)
		var large, next *Reservation
		go func() { large, _ = b.Reserve(t.Context(), 90) }()
		synctest.Wait()
		go func() { next, _ = b.Reserve(t.Context(), 2) }()
		synctest.Wait()
		if large != nil || next != nil {
			t.Error("served before its turn")
		}
		small.Release()
		synctest.Wait()
		if large == nil || large.Size() != 60 || next != nil || b.Used() != 100 {
			t.Fatalf("%v, used %d", large, b.Used())
		}
		reading()
		synctest.Wait()
		if next == nil {
			t.Fatal("the next one waits for nobody")
		}
		next.Release()
		large.Release()
		if r, err := b.Reserve(t.Context(), 90); err != nil || r.Size() != 90 {
			t.Errorf("without readers: %v, %v", r, err)
		}
	})
}

// Consumers of readers that wait for memory themselves, many at a time, all get on;
// so does who gives up.
func TestConsumersOfReadersGetOn(t *testing.T) {
	b := New(1000)
	var all sync.WaitGroup
	for i := range int64(12) {
		all.Go(func() {
			for j := range int64(50) {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%7 == 0 {
					go cancel()
				}
				_, release, _, err := b.ReserveReader(ctx, 100+(i*j*37)%600, j%2 == 0)
				for k := int64(0); err == nil && k < 3; k++ {
					var r *Reservation
					if r, err = b.Reserve(ctx, 1+(i*j*k*61)%900); err == nil {
						r.Release()
					}
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if release != nil {
					release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if b.Used() != 0 || b.readers.Used() != 0 || b.Peak() > 1000 || b.Contended() {
		t.Errorf("used %d, by readers %d, peak %d", b.Used(), b.readers.Used(), b.Peak())
	}
}
