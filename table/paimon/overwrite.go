package paimon

import (
	"context"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// overwrite is what a commit replaces, in the words of the commit stage.
func (t *Table) overwrite(o *table.Overwrite) *commit.Overwrite {
	if o == nil {
		return nil
	}
	out := &commit.Overwrite{Dynamic: o.Mode == table.OverwriteDynamic || o.Mode == table.OverwriteByOption && t.options.DynamicOverwrite}
	if len(o.Partition) > 0 {
		out.Partitions = []map[string]string{o.Partition}
	}
	return out
}

// DropPartitions implements table.Table.
func (t *Table) DropPartitions(ctx context.Context, partitions []map[string]string, opts table.CommitOptions) (*table.CommitReport, error) {
	const op = "dropping partitions"
	if len(partitions) == 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "no partition is given", "table", t.name).
			WithHint("Name one at least; Truncate removes all rows.")
	}
	for _, p := range partitions {
		if len(p) == 0 {
			return nil, tarnerr.New(tarnerr.Invalid, op, "a partition without columns", "table", t.name).
				WithHint("Name a column and its value; Truncate removes all rows.")
		}
	}
	return t.remove(ctx, partitions, opts)
}

// Truncate implements table.Table.
func (t *Table) Truncate(ctx context.Context, opts table.CommitOptions) (*table.CommitReport, error) {
	return t.remove(ctx, nil, opts)
}

// remove overwrites partitions, all when none is given, with nothing.
func (t *Table) remove(ctx context.Context, partitions []map[string]string, opts table.CommitOptions) (*table.CommitReport, error) {
	committer, err := t.committer()
	if err != nil {
		return nil, err
	}
	drawn := opts.User == ""
	if drawn {
		opts.User = t.drawUser()
	}
	if opts.Identifier == 0 {
		opts.Identifier = table.BatchIdentifier
	}
	return reportOf(committer.Commit(ctx, commit.Request{
		User: opts.User, Identifier: opts.Identifier, Watermark: opts.Watermark, Properties: opts.Properties,
		Overwrite: &commit.Overwrite{Partitions: partitions}, First: drawn,
	}))
}

// drawUser is a commit user for one commit.
func (t *Table) drawUser() string {
	user := t.components.Env.UUID()
	if p := t.options.CommitUserPrefix; p != "" {
		user = p + "_" + user
	}
	return user
}

// afresh is the Restorer of writers whose rows take the place of what buckets
// hold: sequence numbers begin anew, and so may the number of buckets.
type afresh struct{}

// Restore implements write.Restorer.
func (afresh) Restore(_ context.Context, _ int32, buckets []write.Bucket) ([]write.Held, error) {
	held := make([]write.Held, len(buckets))
	for i := range held {
		held[i].MaxSequence = -1
	}
	return held, nil
}
