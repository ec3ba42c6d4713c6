package env

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Env is where time and chance come from. Safe for concurrent use.
type Env interface {
	// Now is the current time.
	Now() time.Time
	// Sleep waits for d or until ctx ends, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
	// Float64 is a random number in [0,1).
	Float64() float64
	// UUID is a new random (version 4) UUID in lower-case text.
	UUID() string
}

// Real is the machine's clock and the runtime's random source.
func Real() Env { return real{} }

type real struct{}

func (real) Now() time.Time { return time.Now() }

func (real) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (real) Float64() float64 { return rand.Float64() }
func (real) UUID() string     { return uuid.NewString() }

// Seeded is a deterministic Env: its clock starts at start and moves one
// millisecond with each Now and by d with each Sleep, which returns at once.
func Seeded(seed uint64, start time.Time) Env {
	return &seeded{rnd: rand.New(rand.NewPCG(seed, seed)), now: start}
}

type seeded struct {
	mu  sync.Mutex
	rnd *rand.Rand
	now time.Time
}

func (s *seeded) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

func (s *seeded) Sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	return ctx.Err()
}

func (s *seeded) Float64() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.Float64()
}

func (s *seeded) UUID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b [16]byte
	for i := range b {
		b[i] = byte(s.rnd.Uint32())
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return uuid.UUID(b).String()
}
