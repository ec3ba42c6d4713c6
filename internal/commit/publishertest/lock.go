package publishertest

import (
	"context"
	"sync"

	"github.com/tarnlake/tarn/tarnerr"
)

// Lock is a lock service for the tables of one process, whose locks can be taken
// away. Safe for concurrent use.
type Lock struct {
	mu   sync.Mutex
	held map[string]chan struct{} // one token per table
	// Lost, when set, is asked after f has returned whether the lock was lost before.
	Lost func() bool
	// Away makes the service unreachable.
	Away bool
}

// Run implements commit.Lock.
func (l *Lock) Run(ctx context.Context, database, table string, f func(context.Context) error) error {
	const op = "locking table"
	if l.Away {
		return tarnerr.New(tarnerr.Ambiguous, op, "no answer of the lock service")
	}
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	token := l.held[database+"."+table]
	if token == nil {
		token = make(chan struct{}, 1)
		l.held[database+"."+table] = token
	}
	l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err)
	}
	select {
	case token <- struct{}{}:
		defer func() { <-token }()
	case <-ctx.Done():
		return tarnerr.Wrap(tarnerr.Unavailable, op, ctx.Err())
	}
	err := f(ctx)
	if l.Lost != nil && l.Lost() {
		return tarnerr.New(tarnerr.Fenced, op, "the lock has expired")
	}
	return err
}
