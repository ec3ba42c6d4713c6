package compact

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// ahead reads a batch or two before they are asked for, so that a merge and the
// encoding of what it gives go on side by side.
type ahead struct {
	in      batch.Reader
	batches chan arrow.RecordBatch // retained for the receiver
	err     error                  // why batches was closed; nil = the end
	cancel  context.CancelFunc
	cur     arrow.RecordBatch
	closed  bool
}

// aheadBatches is how many batches wait at most.
const aheadBatches = 2

// newAhead owns in. The context of the reads is ctx.
func newAhead(ctx context.Context, in batch.Reader) batch.Reader {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{in: in, batches: make(chan arrow.RecordBatch, aheadBatches), cancel: cancel}
	go func() {
		defer close(a.batches)
		for {
			rec, err := in.Next(ctx)
			if err != nil {
				if err != io.EOF {
					a.err = err
				}
				return
			}
			rec.Retain()
			select {
			case a.batches <- rec:
			case <-ctx.Done():
				rec.Release()
				a.err = ctx.Err()
				return
			}
		}
	}()
	return a
}

func (a *ahead) Schema() *arrow.Schema { return a.in.Schema() }

func (a *ahead) Next(context.Context) (arrow.RecordBatch, error) {
	a.drop()
	rec, ok := <-a.batches
	if !ok {
		if a.err != nil {
			return nil, a.err
		}
		return nil, io.EOF
	}
	a.cur = rec
	return rec, nil
}

func (a *ahead) drop() {
	if a.cur != nil {
		a.cur.Release()
		a.cur = nil
	}
}

// Close waits until nothing is read any more.
func (a *ahead) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	a.cancel()
	a.drop()
	for rec := range a.batches {
		rec.Release()
	}
	return a.in.Close()
}
