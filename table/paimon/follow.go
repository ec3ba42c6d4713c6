package paimon

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Follow implements table.Table.
func (t *Table) Follow(ctx context.Context, opts table.FollowOptions) (table.Follower, error) {
	const op = "following table"
	scan := table.Scan{Columns: opts.Columns, Where: opts.Where, Workers: opts.Workers, Kind: true, Options: opts.Options}
	v, err := t.streaming(scan)
	if err != nil {
		return nil, err
	}
	f := &follower{view: v, scan: scan, from: opts.From, to: opts.To, interval: opts.Interval, progress: progress{consumer: opts.Consumer}}
	if err := f.resume(ctx); err != nil {
		return nil, trace(op, err, t.name)
	}
	if f.from.Mode == table.StartByOption {
		if f.from, err = v.startByOption(); err != nil {
			return nil, trace(op, err, t.name)
		}
	}
	if f.interval <= 0 {
		f.interval = v.options.Stream.Interval
	}
	switch m := f.from.Mode; {
	case (m == table.StartAt || m == table.StartFull) && f.from.Snapshot < 1:
		return nil, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.name, "snapshot", f.from.Snapshot)
	case opts.From.Mode > table.StartTime:
		return nil, tarnerr.New(tarnerr.Invalid, op, "no such start", "table", t.name, "mode", opts.From.Mode)
	case f.from.Mode == table.StartFull && opts.To > 0 && f.from.Snapshot > opts.To:
		return nil, f.beyond(f.from.Snapshot)
	case opts.To < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.name, "to", opts.To)
	}
	// A mistake in the columns is one now, not when the first rows come.
	r, err := v.read(ctx, scan, nil)
	if err != nil {
		return nil, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	if f.from.Mode == table.StartLatest {
		// What comes from now on counts, however long it takes to Next.
		latest, err := t.snapshots.LatestID(ctx)
		if err != nil {
			return nil, trace(op, err, t.name)
		}
		f.next = latest + 1
		if err := f.hold(ctx, f.next); err != nil {
			return nil, f.trace(err)
		}
	}
	return f, nil
}

// streaming is the view of reads that follow the table.
func (t *Table) streaming(scan table.Scan) (*view, error) {
	const op = "following table"
	t, err := t.with(scan.Options)
	if err != nil {
		return nil, err
	}
	const key, normal = "stream-scan-mode", "none"
	if v, set := t.schema.Options[key]; set && v != normal {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "this setting in reads that follow a table", "table", t.name, "option", key, "value", v).
			WithHint("Say where to begin, and unset it for this read: %s=%s.", key, normal)
	}
	return t.bind(scan, t.schema)
}

// startByOption is where Java's streaming reads begin by the options of a table.
func (v *view) startByOption() (table.Start, error) {
	id := v.options.ScanSnapshotID
	switch mode := v.options.Stream.Mode; mode {
	case "latest-full":
		return table.Start{Mode: table.StartLatestFull}, nil
	case "latest":
		return table.Start{Mode: table.StartLatest}, nil
	case "from-snapshot":
		return table.Start{Mode: startClamped, Snapshot: max(id, 1)}, nil
	case "from-snapshot-full":
		return table.Start{Mode: table.StartFull, Snapshot: max(id, 1)}, nil
	default:
		return table.Start{}, tarnerr.New(tarnerr.Unsupported, "choosing where to begin", "following by this mode", "scan.mode", mode).
			WithHint("Say where to begin.")
	}
}

// startClamped is table.StartAt, or the earliest changes where those are gone.
const startClamped = table.StartMode(100)

// follower implements table.Follower.
type follower struct {
	*view
	scan     table.Scan
	from     table.Start
	to       int64
	interval time.Duration

	progress
	next   int64 // snapshot to read, 0 before the first look
	begun  bool
	ended  bool // by scan.bounded.watermark, before a snapshot was looked at
	misses int  // looks in a row that found nothing
	cur    batch.Reader
	err    error
}

// Position implements table.Follower.
func (f *follower) Position() int64 { return f.next }

// Next implements table.Follower.
func (f *follower) Next(ctx context.Context) (*table.Changes, error) {
	if f.err != nil {
		return nil, f.err
	}
	c, err := f.changes(ctx)
	if err != nil && err != io.EOF {
		return nil, f.trace(err)
	}
	return c, err
}

// trace says what was followed. The reader of an error about what has expired needs
// to know both positions, the stream's and its consumer's.
func (f *follower) trace(err error) error {
	of := []any{"table", f.name}
	if f.consumer != "" {
		of = append(of, "consumer", f.consumer, "noted", f.noted)
	}
	return wayOut(tarnerr.Trace("following table", err, of...))
}

func (f *follower) changes(ctx context.Context) (*table.Changes, error) {
	if err := f.leave(); err != nil {
		return nil, err
	}
	for {
		if !f.begun {
			c, err := f.begin(ctx)
			if err == nil && f.begun {
				if f.ended, err = f.bounded(ctx); err != nil { // the next call begins again
					f.next, f.begun, f.owed = 0, false, false
				}
			}
			if err != nil {
				return nil, errors.Join(err, f.leave())
			}
			if c != nil {
				return c, nil
			}
			if !f.begun { // there is no snapshot yet
				if err := f.wait(ctx, f.interval); err != nil {
					return nil, err
				}
				continue
			}
		}
		if f.ended || f.to > 0 && f.next > f.to {
			return nil, io.EOF
		}
		snap, err := f.look(ctx)
		if err != nil {
			return nil, err
		}
		if snap == nil {
			continue
		}
		if f.passed(snap) {
			return nil, io.EOF
		}
		c, err := f.open(ctx, snap)
		if err != nil {
			return nil, err
		}
		f.next = snap.ID + 1
		if c != nil {
			return c, nil
		}
	}
}

// begin finds the first snapshot to read. It returns rows where the table's state
// comes first; nothing, and f.begun false, when there is no snapshot yet.
func (f *follower) begin(ctx context.Context) (*table.Changes, error) {
	switch f.from.Mode {
	case table.StartLatest: // Follow has looked
		f.begun = true
		return nil, nil
	case table.StartAt:
		f.next, f.begun = f.from.Snapshot, true
		return nil, nil
	case table.StartTime:
		id, err := f.snapshots.FirstSince(ctx, f.from.Time.UnixMilli())
		f.next, f.begun = id, id > 0
		return nil, err
	case table.StartEarliest, startClamped:
		id, err := f.snapshots.EarliestChange(ctx)
		f.begun = id > 0
		if f.begun {
			f.next = max(id, f.from.Snapshot)
		}
		return nil, err
	}
	snap, err := f.snapshots.Latest(ctx)
	if f.from.Mode == table.StartFull && snap != nil && err == nil {
		snap, err = f.full(ctx)
	}
	if snap == nil || err != nil {
		return nil, err
	}
	if f.to > 0 && snap.ID > f.to {
		return nil, f.beyond(snap.ID)
	}
	c, err := f.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	f.next, f.begun = snap.ID+1, true
	return c, nil
}

// beyond is the error where the rows to begin with are those of a later snapshot than
// the last one to read.
func (f *follower) beyond(id int64) error {
	return tarnerr.New(tarnerr.Invalid, "following table", "the rows to begin with lie behind the last snapshot to read",
		"table", f.name, "snapshot", id, "to", f.to).WithHint("Begin with the changes, or with the rows of an earlier snapshot.")
}

// passed reports that a snapshot is behind the end by the option scan.bounded.watermark.
func (f *follower) passed(snap *snapshot.Snapshot) bool {
	b := f.options.Stream.BoundedWatermark
	return b != nil && snap.Watermark != nil && *snap.Watermark > *b
}

// bounded reports that the snapshot before the first one to read has passed the end
// already: none that follows need come. Source: table/source/DataTableStreamScan.
func (f *follower) bounded(ctx context.Context) (bool, error) {
	if f.options.Stream.BoundedWatermark == nil || f.next < 2 {
		return false, nil
	}
	snap, err := f.snapshots.Try(ctx, f.next-1)
	return err == nil && snap != nil && f.passed(snap), err
}

// full is the snapshot whose rows come first, the earliest when it is gone. One
// still to come is waited for.
func (f *follower) full(ctx context.Context) (*snapshot.Snapshot, error) {
	snap, err := f.snapshots.Get(ctx, f.from.Snapshot)
	switch tarnerr.KindOf(err) {
	case tarnerr.Expired:
		return f.snapshots.Earliest(ctx)
	case tarnerr.NotFound:
		return nil, nil
	}
	return snap, err
}

// state opens the rows of a snapshot. Those whose changes are still to come in the
// changelog are no part of it: with changelog-producer lookup, rows of level 0;
// with full-compaction, rows below the highest level.
func (f *follower) state(ctx context.Context, snap *snapshot.Snapshot) (*table.Changes, error) {
	top := int32(f.options.NumLevels - 1)
	req := plan.Request{Where: f.where, Snapshot: snap}
	switch f.options.ChangelogProducer {
	case "lookup":
		req.Level = func(l int32) bool { return l > 0 }
	case "full-compaction":
		req.Level = func(l int32) bool { return l == top }
	}
	r, err := f.planned(func(cfg plan.Config) (*plan.Result, error) { return plan.Plan(ctx, cfg, req) })
	if err != nil {
		return nil, err
	}
	return f.rows(ctx, snap, r, true)
}

// open opens the changes of a snapshot, nil when it has none.
func (f *follower) open(ctx context.Context, snap *snapshot.Snapshot) (*table.Changes, error) {
	r, err := f.planned(func(cfg plan.Config) (*plan.Result, error) {
		return plan.Follow(ctx, cfg, plan.Request{Where: f.where}, snap)
	})
	if err != nil || len(r.Splits) == 0 {
		return nil, err
	}
	if err := f.hold(ctx, snap.ID); err != nil {
		return nil, err
	}
	return f.rows(ctx, snap, r, false)
}

func (f *follower) rows(ctx context.Context, snap *snapshot.Snapshot, r *plan.Result, full bool) (*table.Changes, error) {
	rows, err := f.read(ctx, f.scan, r.Splits)
	if err != nil {
		return nil, err
	}
	f.cur, f.owed = rows, true
	return &table.Changes{Snapshot: snap, Full: full, Rows: rows}, nil
}

// checkEvery is after how many looks in vain it is asked why.
const checkEvery = 16

// look reads the next snapshot. When it is not there it waits and returns nil;
// when it will never be there it says so.
func (f *follower) look(ctx context.Context) (*snapshot.Snapshot, error) {
	snap, err := f.snapshots.Try(ctx, f.next)
	if err == nil && snap == nil && f.misses%checkEvery == 0 {
		snap, err = f.snapshots.Missing(ctx, f.next)
	}
	if err != nil {
		return nil, err
	}
	if snap == nil {
		f.misses++
		return nil, f.wait(ctx, f.interval)
	}
	f.misses = 0
	if d := f.options.Stream.Delay; d > 0 {
		if young := d - f.components.Env.Now().Sub(time.UnixMilli(snap.TimeMillis)); young > 0 {
			return nil, f.wait(ctx, min(young, f.interval))
		}
	}
	return snap, nil
}

// wait waits for d, or until the consumer is to be written again.
func (f *follower) wait(ctx context.Context, d time.Duration) error {
	if err := f.note(ctx); err != nil {
		return err
	}
	if fresh := f.fresh(); fresh > 0 {
		d = min(d, fresh)
	}
	if err := f.components.Env.Sleep(ctx, d); err != nil {
		return tarnerr.Wrap(tarnerr.Unavailable, "waiting for a snapshot", err, "next", f.next)
	}
	return nil
}

// leave closes the rows handed out last.
func (f *follower) leave() error {
	if f.cur == nil {
		return nil
	}
	err := f.cur.Close()
	f.cur = nil
	return err
}

// Close implements table.Follower.
func (f *follower) Close() error {
	f.err = tarnerr.New(tarnerr.Closed, "following table", "it was closed", "table", f.name)
	return f.leave()
}
