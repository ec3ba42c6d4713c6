package env

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestSeededRepeats(t *testing.T) {
	start := time.UnixMilli(1_000)
	a, b := Seeded(7, start), Seeded(7, start)
	for range 100 {
		if a.UUID() != b.UUID() || a.Float64() != b.Float64() || !a.Now().Equal(b.Now()) {
			t.Fatal("one seed must give one history")
		}
	}
	if a.UUID() == Seeded(8, start).UUID() {
		t.Error("seeds must differ")
	}
	if _, err := uuid.Parse(a.UUID()); err != nil {
		t.Error(err)
	}
}

func TestSleepEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range []Env{Real(), Seeded(1, time.UnixMilli(0))} {
		if err := e.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep on a cancelled context = %v", err)
		}
	}
}
