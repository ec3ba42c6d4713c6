package player

import (
	"context"
	"encoding/json"

	"github.com/tarnlake/tarn/table"
)

type consumerOp struct {
	ID   string `json:"id"`
	Next int64  `json:"next_snapshot"`
}

func (p *player) consumer(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[consumerOp](text)
	if err != nil {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	return t.ResetConsumer(ctx, op.ID, op.Next)
}
