package budget

import "context"

// Reservation is memory taken from a budget. Not safe for concurrent use.
type Reservation struct {
	b *Budget
	n int64
}

// Size is what is reserved, in bytes.
func (r *Reservation) Size() int64 { return r.n }

// Grow takes n more bytes, waiting like Budget.Reserve. What is held already
// counts against the budget, so holders that all grow can wait for each other:
// prefer TryGrow and spill.
func (r *Reservation) Grow(ctx context.Context, n int64) error {
	got, err := r.b.take(ctx, n, r.n)
	r.n += got
	return err
}

// TryGrow takes n more bytes when they are free now and nobody waits.
func (r *Reservation) TryGrow(n int64) bool {
	if !r.b.tryTake(n) {
		return false
	}
	r.n += n
	return true
}

// Shrink gives n bytes back, at most all.
func (r *Reservation) Shrink(n int64) {
	n = min(max(n, 0), r.n)
	r.n -= n
	r.b.charge(-n)
}

// Release gives all back. Calling it again does nothing.
func (r *Reservation) Release() { r.Shrink(r.n) }
