package commit

import (
	"context"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// waitFor returns when n commits wait; each of them is then in its place.
func waitFor(g *Groups, key string, n int) {
	for {
		g.mu.Lock()
		waiting := len(g.queues[key].waiting)
		g.mu.Unlock()
		if waiting == n {
			return
		}
	}
}

// First come, first served; who is cancelled leaves the queue and delays nobody.
func TestTurnsAreFair(t *testing.T) {
	const n = 50
	g := &Groups{}
	ctx := context.Background()
	first, err := g.enter(ctx, "t")
	if err != nil || first.ahead != 0 {
		t.Fatal(first, err)
	}
	if other, err := g.enter(ctx, "another table"); err != nil || other.ahead != 0 {
		t.Fatal("tables must not wait for each other", err)
	}
	cancelled := map[int]context.CancelFunc{}
	order := make(chan int, n)
	errs := make(chan error, n)
	for i := range n {
		ctx := ctx
		if i%7 == 3 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancelled[i] = cancel
		}
		go func() {
			turn, err := g.enter(ctx, "t")
			if err != nil {
				errs <- err
				return
			}
			if turn.ahead != i+1 {
				t.Errorf("commit %d waits for %d others", i, turn.ahead)
			}
			order <- i
			turn.leave()
		}()
		waitFor(g, "t", i+1)
	}
	for _, cancel := range cancelled {
		cancel()
		if err := <-errs; tarnerr.KindOf(err) != tarnerr.Unavailable {
			t.Error(err)
		}
	}
	waitFor(g, "t", n-len(cancelled))
	first.leave()
	var got []int
	for range n - len(cancelled) {
		got = append(got, <-order)
	}
	if !slices.IsSorted(got) || len(got) != n-len(cancelled) {
		t.Errorf("order %v", got)
	}
}

// The one behind builds on what the one before has made; LATEST is written when
// nobody waits, and with every eighth snapshot.
func TestTurnsShare(t *testing.T) {
	g := &Groups{}
	ctx := context.Background()
	turn, _ := g.enter(ctx, "t")
	next := make(chan *place)
	enter := func(waiting int) {
		go func() {
			turn, err := g.enter(ctx, "t")
			if err != nil {
				t.Error(err)
			}
			next <- turn
		}()
		waitFor(g, "t", waiting)
	}
	var hints []int64
	leave := func() {
		for s := turn.leave(); s != nil; s = turn.leave() {
			hints = append(hints, s.ID)
		}
	}
	enter(1)
	for id := int64(2); id <= 20; id++ {
		if id == 12 { // this one makes none: the next has to look for itself
			leave()
			turn = <-next
			if turn.base != nil {
				t.Errorf("base %d after a commit that failed", turn.base.ID)
			}
			enter(1)
		}
		turn.published(&snapshot.Snapshot{ID: id})
		if id < 20 {
			leave()
			turn = <-next
			if id != 11 && turn.base.ID != id || turn.made != nil {
				t.Errorf("after %d: base %v", id, turn.base)
			}
			if id < 19 {
				enter(1)
			}
			continue
		}
		leave()
	}
	if !slices.Equal(hints, []int64{9, 17, 20}) {
		t.Errorf("hints %v", hints)
	}
	if len(g.queues) != 0 {
		t.Error("an idle table keeps its queue")
	}

	turn, _ = g.enter(ctx, "t")
	enter(1)
	turn.published(&snapshot.Snapshot{ID: 1})
	if s := turn.leave(); s == nil || s.ID != 1 {
		t.Error("the first snapshot is noted at once: EARLIEST comes with it")
	}
	leave()
	turn = <-next
	leave()
}

type place = turn // the variable hides the type
