package compact

import (
	"context"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/env"
)

// What was estimated too much is taken back, also in the middle of a rewrite.
func TestPaceTakesBack(t *testing.T) {
	ctx, e := context.Background(), env.Seeded(1, time.UnixMilli(1_700_000_000_000))
	p := NewPace(e, 100)
	spend := func(n int64) time.Duration {
		before := e.Now()
		if err := p.spend(ctx, n); err != nil {
			t.Fatal(err)
		}
		return e.Now().Sub(before).Round(time.Second)
	}
	for i, step := range []struct {
		n    int64
		want time.Duration
	}{
		{1000, 0},              // nobody waits for the first ones
		{-700, 0},              // nor for less
		{200, 3 * time.Second}, // for the 300 that are left
		{-300, 0},              // of which 100 were not even due
		{100, 0},
		{0, 0},
		{1, time.Second},
	} {
		if got := spend(step.n); got != step.want {
			t.Errorf("step %d: %d bytes wait %v, want %v", i, step.n, got, step.want)
		}
	}
	var none *Pace
	if err := none.spend(ctx, 5); err != nil || none.owe(-5) != 0 {
		t.Error("no pace holds back")
	}
}
