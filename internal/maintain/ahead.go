package maintain

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"
)

// ahead yields what get gives for 0 to n-1, in order, and asks for some of them side
// by side. After an error it yields no more.
func ahead[T any](ctx context.Context, workers, n int, get func(ctx context.Context, i int) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if workers = min(workers, n); workers <= 1 {
			for i := range n {
				v, err := get(ctx, i)
				if !yield(v, err) || err != nil {
					return
				}
			}
			return
		}
		type result struct {
			v   T
			err error
		}
		ctx, cancel := context.WithCancel(ctx)
		var g errgroup.Group
		defer g.Wait()
		defer cancel()
		results := make(chan chan result, workers)
		start := func(i int) {
			c := make(chan result, 1)
			results <- c
			g.Go(func() error {
				v, err := get(ctx, i)
				c <- result{v, err}
				return nil
			})
		}
		for i := range workers {
			start(i)
		}
		for i := range n {
			r := <-<-results
			if next := i + workers; next < n && r.err == nil {
				start(next)
			}
			if !yield(r.v, r.err) || r.err != nil {
				return
			}
		}
	}
}
