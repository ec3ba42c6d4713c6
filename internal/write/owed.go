package write

import (
	"context"

	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/tarnerr"
)

// Owe tells the writer of buckets that an earlier one left to compactions, with all
// files they hold in the latest snapshot: the next Prepare compacts them as those that
// are written to. Buckets that it knows already stay as they are, and so do those of a
// partition with another number of buckets.
func (w *Writer) Owe(ctx context.Context, holdings []compact.Holding) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.leave(ctx)
	if err := w.usable("restoring buckets"); err != nil || !w.compacts() {
		return err
	}
	for _, h := range holdings {
		if h.TotalBuckets != int32(w.set.Bucket) || h.Bucket < 0 || h.Bucket >= h.TotalBuckets {
			continue
		}
		g, err := w.router.group(h.Partition, h.Bucket)
		if err != nil {
			return tarnerr.Trace("restoring buckets", err, "table", w.cfg.Table, "bucket", h.Bucket)
		}
		g.owes = true
		if g.restored {
			continue
		}
		if err := w.plant(g, h.Files); err != nil {
			return err
		}
		for _, f := range h.Files {
			g.sequence = max(g.sequence, f.MaxSequence+1)
		}
		g.restored = true
	}
	return nil
}
