package systable

import (
	"context"
	"iter"
)

var consumerFields = fieldsOf(
	column("consumer_id", text),
	column("next_snapshot_id", bigint),
)

func consumerRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		all, err := cfg.Snapshots.Consumers().All(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, c := range all {
			if !yield(row{c.ID, c.Next}, nil) {
				return
			}
		}
	}
}
