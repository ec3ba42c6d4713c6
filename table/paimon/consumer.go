package paimon

import (
	"context"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Consumers implements table.Table.
func (t *Table) Consumers(ctx context.Context) ([]table.Consumer, error) {
	found, err := t.snapshots.Consumers().All(ctx)
	if err != nil {
		return nil, trace("listing consumers", err, t.name)
	}
	out := make([]table.Consumer, len(found))
	for i, c := range found {
		out[i] = table.Consumer{ID: c.ID, Next: c.Next}
	}
	return out, nil
}

// ResetConsumer implements table.Table.
func (t *Table) ResetConsumer(ctx context.Context, id string, next int64) error {
	const op = "resetting consumer"
	if next < 1 {
		return tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.name, "consumer", id, "next", next)
	}
	consumers := t.snapshots.Consumers()
	if _, err := consumers.Get(ctx, id); err != nil && tarnerr.KindOf(err) != tarnerr.Corrupt {
		return trace(op, err, t.name)
	}
	snap, err := t.snapshots.Try(ctx, next)
	if snap == nil && err == nil {
		_, err = t.snapshots.Missing(ctx, next)
	}
	if err == nil {
		err = consumers.Set(ctx, id, next)
	}
	return trace(op, err, t.name, "consumer", id)
}

// DeleteConsumer implements table.Table.
func (t *Table) DeleteConsumer(ctx context.Context, id string) error {
	const op = "deleting consumer"
	consumers := t.snapshots.Consumers()
	next, err := consumers.Get(ctx, id)
	switch {
	case err != nil && tarnerr.KindOf(err) != tarnerr.Corrupt:
		return trace(op, err, t.name)
	case err == nil && next == 0:
		return tarnerr.New(tarnerr.NotFound, op, "no such consumer", "table", t.name, "consumer", id).
			WithHint("See 'tarn consumer list %s'.", t.name)
	}
	return trace(op, consumers.Delete(ctx, id), t.name)
}
