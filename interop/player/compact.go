package player

import (
	"context"
	"encoding/json"

	"github.com/tarnlake/tarn/table"
)

type compactOp struct {
	Full     *bool             `json:"full"`
	Bucket   *int              `json:"bucket"`
	User     string            `json:"user"`
	CommitID *int64            `json:"commit_id"`
	Options  map[string]string `json:"options"`
}

// compact is a job of its own, with one commit as the judge's has.
func (p *player) compact(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[compactOp](text)
	if err != nil {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	opts := table.CompactOptions{User: op.User, Minor: op.Full != nil && !*op.Full, Options: op.Options}
	if opts.User == "" {
		opts.User = "compactor"
	}
	if op.Bucket != nil {
		opts.Buckets = []int{*op.Bucket}
	}
	opts.Identifier = p.identifier(t.Name().String()+"/"+opts.User, op.CommitID)
	_, err = t.Compact(ctx, opts)
	return err
}
