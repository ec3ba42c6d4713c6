package paimon

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// trackingTable is `$row_tracking`: the rows of a table that tracks them, each with its
// id and with the snapshot that it was last changed in. It is read as the table is.
type trackingTable struct {
	*systemTable
	rows *Table
}

func openTracking(of *Table) (table.Table, error) {
	const op = "opening system table"
	if !of.options.RowTracking {
		return nil, tarnerr.New(tarnerr.Invalid, op, "the table does not track its rows", "table", of.name).
			WithHint("Create the table with row-tracking.enabled=true: rows get ids as they are written.")
	}
	of.tracked = true
	t := &trackingTable{&systemTable{of: of, schema: tracked(of.schema)}, of}
	var err error
	if t.arrow, err = types.ArrowSchema(t.schema.Fields); err != nil {
		return nil, trace(op, err, of.name)
	}
	return t, nil
}

// tracked is a schema with the columns of row tracking behind its own.
func tracked(s *schema.Schema) *schema.Schema {
	out := *s
	out.Fields = append(slices.Clip(s.Fields), types.RowTrackingFields()...)
	return &out
}

// SchemaAt implements table.Table.
func (t *trackingTable) SchemaAt(ctx context.Context, id int64) (*schema.Schema, error) {
	return t.rows.SchemaAt(ctx, id)
}

// Plan implements table.Table.
func (t *trackingTable) Plan(ctx context.Context, scan table.Scan) (*table.Plan, error) {
	return t.rows.Plan(ctx, scan)
}

// Read implements table.Table.
func (t *trackingTable) Read(ctx context.Context, scan table.Scan, splits ...table.Split) (table.Reader, error) {
	return t.rows.Read(ctx, scan, splits...)
}

// Scan implements table.Table.
func (t *trackingTable) Scan(ctx context.Context, scan table.Scan) (table.Reader, error) {
	return t.rows.Scan(ctx, scan)
}

// Follow implements table.Table.
func (t *trackingTable) Follow(ctx context.Context, opts table.FollowOptions) (table.Follower, error) {
	return t.rows.Follow(ctx, opts)
}
