package paimon

import (
	"context"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// view is the table as one scan sees it.
type view struct {
	*Table
	schema   *schema.Schema // rows are read under it
	snapshot *snapshot.Snapshot
	where    *expr.Bound
}

// view pins the schema of a scan and, where it asks for one, the snapshot.
func (t *Table) view(ctx context.Context, scan table.Scan) (*view, error) {
	const op = "preparing scan"
	t, err := t.with(scan.Options)
	if err != nil {
		return nil, err
	}
	id := scan.SnapshotID
	if id == 0 {
		id = t.options.ScanSnapshotID
	}
	s := t.schema
	var snap *snapshot.Snapshot
	switch {
	case scan.Limit < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative limit", "table", t.name, "limit", scan.Limit)
	case id < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.name, "snapshot", id)
	case id > 0 && t.incremental():
		return nil, tarnerr.New(tarnerr.Invalid, op, "a snapshot and a range of snapshots in one scan", "table", t.name, "snapshot", id)
	case id > 0:
		if snap, err = t.snapshots.Get(ctx, id); err != nil {
			return nil, trace(op, err, t.name)
		}
		if s, err = t.schemaOf(ctx, snap); err != nil {
			return nil, trace(op, err, t.name)
		}
	}
	v, err := t.bind(scan, s)
	if err == nil {
		v.snapshot = snap
	}
	return v, err
}

// bind is the view of a scan under a schema.
func (t *Table) bind(scan table.Scan, s *schema.Schema) (*view, error) {
	if t.tracked {
		s = tracked(s)
	}
	where, err := expr.Bind(scan.Where, s.Fields)
	if err != nil {
		return nil, trace("binding filter", err, t.name)
	}
	return &view{Table: t, schema: s, where: where}, nil
}

// schemaOf is the schema of a snapshot under the options the table has now.
func (t *Table) schemaOf(ctx context.Context, s *snapshot.Snapshot) (*schema.Schema, error) {
	if s.SchemaID == t.schema.ID {
		return t.schema, nil
	}
	old, err := t.schemas.Get(ctx, s.SchemaID)
	if err != nil {
		return nil, err
	}
	then := *old
	then.Options = t.schema.Options
	return &then, nil
}

// SchemaAt implements table.Table.
func (t *Table) SchemaAt(ctx context.Context, id int64) (*schema.Schema, error) {
	v, err := t.view(ctx, table.Scan{SnapshotID: id})
	if err != nil {
		return nil, err
	}
	return v.schema, nil
}

// Plan implements table.Table.
func (t *Table) Plan(ctx context.Context, scan table.Scan) (*table.Plan, error) {
	v, err := t.view(ctx, scan)
	if err != nil {
		return nil, err
	}
	r, err := v.plan(ctx, scan)
	if err != nil {
		return nil, err
	}
	out := &table.Plan{Snapshot: r.Snapshot, Splits: make([]table.Split, len(r.Splits))}
	for i, s := range r.Splits {
		out.Splits[i] = table.WrapSplit(s)
	}
	return out, nil
}

// Read implements table.Table.
func (t *Table) Read(ctx context.Context, scan table.Scan, splits ...table.Split) (table.Reader, error) {
	v, err := t.view(ctx, scan)
	if err != nil {
		return nil, err
	}
	inner := make([]*split.Split, len(splits))
	for i, s := range splits {
		if inner[i] = table.UnwrapSplit(s); inner[i] == nil {
			return nil, tarnerr.New(tarnerr.Invalid, "reading splits", "a split that is no split of a plan", "table", t.name, "number", i)
		}
	}
	return v.read(ctx, scan, inner)
}

// Scan implements table.Table.
func (t *Table) Scan(ctx context.Context, scan table.Scan) (table.Reader, error) {
	v, err := t.view(ctx, scan)
	if err != nil {
		return nil, err
	}
	r, err := v.plan(ctx, scan)
	if err != nil {
		return nil, err
	}
	return v.read(ctx, scan, r.Splits)
}

func (v *view) plan(ctx context.Context, scan table.Scan) (*plan.Result, error) {
	return v.planned(func(cfg plan.Config) (*plan.Result, error) {
		req := plan.Request{Where: v.where, Snapshot: v.snapshot, Limit: scan.Limit}
		if v.incremental() {
			return v.between(ctx, cfg, req)
		}
		return plan.Plan(ctx, cfg, req)
	})
}

// planned plans and tells of it.
func (v *view) planned(do func(plan.Config) (*plan.Result, error)) (*plan.Result, error) {
	c := v.components
	manifests, err := v.reading()
	if err != nil {
		return nil, trace("planning scan", err, v.name)
	}
	start := c.Env.Now()
	r, err := do(plan.Config{
		FileIO: c.FileIO, Layout: v.place, Schema: v.schema, Options: v.options,
		Schemas: v.schemas, Snapshots: v.snapshots, Manifests: manifests, Workers: c.Workers,
	})
	if err != nil {
		return nil, trace("planning scan", err, v.name)
	}
	told := event.ScanPlanned{
		Table: v.name.String(), Splits: len(r.Splits), Elapsed: c.Env.Now().Sub(start),
		ManifestsRead: r.ManifestsRead, ManifestsSkipped: r.Manifests - r.ManifestsRead,
		FilesKept: r.FilesLeft, FilesSkipped: r.Files - r.FilesLeft,
	}
	if r.Snapshot != nil {
		told.Snapshot = r.Snapshot.ID
	}
	c.Events.Emit(told)
	return r, nil
}

func (v *view) read(ctx context.Context, scan table.Scan, splits []*split.Split) (batch.Reader, error) {
	c := v.components
	workers := scan.Workers
	if workers == 0 {
		workers = c.Workers
	}
	r, err := read.Open(ctx, read.Config{
		Files: &run.Source{
			FileIO: c.FileIO, Format: c.Formats.ByName, Schema: v.schemas.Get, Table: v.schema, Tracks: v.options.RowTracking, Mem: c.Alloc,
		},
		Layout: v.place, Options: v.options, Budget: c.Budget, Spill: c.Spill,
	}, read.Request{
		Columns: scan.Columns, Where: v.where, Limit: scan.Limit, Kind: scan.Kind, Workers: workers,
	}, splits)
	id := oldest(splits)
	if err != nil {
		return nil, trace("opening reader", v.sinceExpired(ctx, id, err), v.name)
	}
	return scanReader{r, v.Table, id}, nil
}
