package paimon

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// systemTable shows a table's metadata as rows. It can be scanned and nothing else.
type systemTable struct {
	of     *Table
	schema *schema.Schema
	arrow  *arrow.Schema
}

var _ table.Table = (*systemTable)(nil)

func openSystem(of *Table) (table.Table, error) {
	const op = "opening system table"
	fields, err := systable.Fields(of.name.System)
	if err != nil {
		return nil, trace(op, err, of.name)
	}
	if of.options, err = option.Parse(of.schema.Options); err != nil {
		return nil, trace(op, err, of.name)
	}
	t := &systemTable{of: of, schema: &schema.Schema{
		Version: schema.Version, Fields: fields, HighestFieldID: len(fields) - 1, Options: map[string]string{},
	}}
	if t.arrow, err = types.ArrowSchema(fields); err != nil {
		return nil, trace(op, err, of.name)
	}
	return t, nil
}

func (t *systemTable) Name() table.Identifier     { return t.of.name }
func (t *systemTable) Location() string           { return t.of.Location() }
func (t *systemTable) Schema() *schema.Schema     { return t.schema }
func (t *systemTable) ArrowSchema() *arrow.Schema { return t.arrow }

func (t *systemTable) SchemaAt(context.Context, int64) (*schema.Schema, error) { return t.schema, nil }

func (t *systemTable) Snapshot(ctx context.Context, id int64) (*table.Snapshot, error) {
	return t.of.Snapshot(ctx, id)
}

func (t *systemTable) Snapshots(ctx context.Context) iter.Seq2[*table.Snapshot, error] {
	return t.of.Snapshots(ctx)
}

// Scan implements table.Table. Where and Limit are exact; Kind is refused.
func (t *systemTable) Scan(ctx context.Context, scan table.Scan) (table.Reader, error) {
	const op = "reading system table"
	switch {
	case scan.Kind:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "row kinds of a system table", "table", t.of.name).
			WithHint("Its rows are all +I; leave the kind away.")
	case len(scan.Options) > 0:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "dynamic options of a system table", "table", t.of.name)
	case scan.Limit < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative limit", "table", t.of.name, "limit", scan.Limit)
	case scan.SnapshotID < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.of.name, "snapshot", scan.SnapshotID)
	}
	where, err := expr.Bind(scan.Where, t.schema.Fields)
	if err != nil {
		return nil, trace("binding filter", err, t.of.name)
	}
	manifests, err := t.of.manifests()
	if err != nil {
		return nil, trace(op, err, t.of.name)
	}
	c := t.of.components
	r, err := systable.Open(ctx, systable.Config{
		Config: plan.Config{
			FileIO: c.FileIO, Layout: t.of.place, Schema: t.of.schema, Options: t.of.options,
			Schemas: t.of.schemas, Snapshots: t.of.snapshots, Manifests: manifests, Workers: c.Workers,
		},
		Mem: c.Alloc, Advise: t.of.advise,
	}, t.of.name.System, systable.Request{
		Columns: scan.Columns, Where: where, Limit: scan.Limit, SnapshotID: scan.SnapshotID,
	})
	if err != nil {
		return nil, trace(op, err, t.of.name)
	}
	return reader{r}, nil
}

func (t *systemTable) Plan(context.Context, table.Scan) (*table.Plan, error) {
	return nil, t.refuse("planning scan", "splits of a system table", "Use Scan.")
}

func (t *systemTable) Read(context.Context, table.Scan, ...table.Split) (table.Reader, error) {
	return nil, t.refuse("reading splits", "splits of a system table", "Use Scan.")
}

func (t *systemTable) Follow(context.Context, table.FollowOptions) (table.Follower, error) {
	return nil, t.refuse("following table", "changes of a system table", "Follow the table itself.")
}

func (t *systemTable) Consumers(context.Context) ([]table.Consumer, error) {
	return nil, t.refuse("listing consumers", "consumers of a system table", consumerHint)
}

func (t *systemTable) ResetConsumer(context.Context, string, int64) error {
	return t.refuse("resetting consumer", "consumers of a system table", consumerHint)
}

func (t *systemTable) DeleteConsumer(context.Context, string) error {
	return t.refuse("deleting consumer", "consumers of a system table", consumerHint)
}

func (t *systemTable) NewBatchWrite(context.Context, table.WriteOptions) (table.BatchWrite, error) {
	return nil, t.refuse("starting batch write", "writing to a system table", writeHint)
}

func (t *systemTable) NewStreamWrite(context.Context, table.WriteOptions) (table.StreamWrite, error) {
	return nil, t.refuse("starting stream write", "writing to a system table", writeHint)
}

func (t *systemTable) Commit(context.Context, table.Committable) (*table.CommitReport, error) {
	return nil, t.refuse("committing", "writing to a system table", writeHint)
}

func (t *systemTable) FilterCommitted(ctx context.Context, user string, identifiers []int64) ([]int64, error) {
	return nil, t.refuse("filtering committed identifiers", "commits to a system table", writeHint)
}

func (t *systemTable) AbortMessages(context.Context, []table.Message) error {
	return t.refuse("aborting messages", "writing to a system table", writeHint)
}

func (t *systemTable) PendingCommits(context.Context) ([]table.PendingCommit, error) {
	return nil, t.refuse("listing unresolved commits", "commits to a system table", writeHint)
}

func (t *systemTable) ResolveCommits(context.Context, table.CommitFilter) ([]table.Resolution, error) {
	return nil, t.refuse("resolving commits", "commits to a system table", writeHint)
}

func (t *systemTable) DropPartitions(context.Context, []map[string]string, table.CommitOptions) (*table.CommitReport, error) {
	return nil, t.refuse("dropping partitions", "writing to a system table", writeHint)
}

func (t *systemTable) Truncate(context.Context, table.CommitOptions) (*table.CommitReport, error) {
	return nil, t.refuse("truncating table", "writing to a system table", writeHint)
}

func (t *systemTable) Compact(context.Context, table.CompactOptions) (*table.CompactReport, error) {
	return nil, t.refuse("compacting table", "compacting a system table", "Compact the table itself.")
}

func (t *systemTable) Expire(context.Context, table.ExpireOptions) (*table.ExpireReport, error) {
	return nil, t.refuse("expiring snapshots", "expiring a system table", "Expire the table itself.")
}

func (t *systemTable) Advise(context.Context) ([]table.Advice, error) {
	return nil, t.refuse("advising on table", "advice on a system table", "Name the table itself.")
}

const (
	writeHint    = "Write to the table itself."
	consumerHint = "Name the table itself."
)

func (t *systemTable) refuse(op, feature, hint string) error {
	return tarnerr.New(tarnerr.Unsupported, op, feature, "table", t.of.name).WithHint("%s", hint)
}
