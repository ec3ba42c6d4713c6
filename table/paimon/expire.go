package paimon

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/maintain"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Expire implements table.Table.
func (t *Table) Expire(ctx context.Context, opts table.ExpireOptions) (*table.ExpireReport, error) {
	const op = "expiring snapshots"
	x, err := t.expirer(opts)
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	req := maintain.Request{By: t.drawUser(), Options: opts.Options, OlderThan: opts.OlderThan, DryRun: opts.DryRun}
	if opts.Progress != nil {
		req.Progress = func(files, done int64) { opts.Progress(table.ExpireProgress{Files: files, FilesDone: done}) }
	}
	begun := t.components.Env.Now()
	r, err := x.Run(ctx, req)
	out := t.expireReport(r)
	out.DryRun, out.Elapsed = opts.DryRun, t.components.Env.Now().Sub(begun)
	return out, trace(op, err, t.name)
}

func (t *Table) expirer(opts table.ExpireOptions) (*maintain.Expirer, error) {
	if t.name.Branch != "" && t.name.Branch != layout.MainBranch {
		return nil, tarnerr.New(tarnerr.Unsupported, "preparing expiry", "snapshots of a branch", "branch", t.name.Branch).
			WithHint("Expire the table itself; files that a branch needs stay.")
	}
	u, err := t.with(opts.Options)
	if err != nil {
		return nil, err
	}
	manifests, err := u.reading()
	if err != nil {
		return nil, err
	}
	var beside string
	if k, known := option.Lookup("index-file-in-data-file-dir"); known {
		beside, _ = k.Get(u.schema.Options)
	}
	return maintain.NewExpirer(maintain.Config{
		FileIO: t.components.FileIO, Env: t.components.Env, Place: u.place, Snapshots: u.snapshots, Manifests: manifests,
		Commits:    commitlog.NewStore(t.components.FileIO, u.place, t.components.Workers),
		Partitions: layout.NewPartitioner(u.schema.Select(u.schema.PartitionKeys), u.options.PartitionDefault, u.options.PartitionLegacyName),
		Retention:  u.options.Retention, Consumers: u.options.Stream.ConsumerExpiration, Produces: u.options.ChangelogProducer != "none",
		IndexBesideData: beside == "true", Workers: t.components.Workers,
	}), nil
}

// expireReport translates what the stage says, with the ways out.
func (t *Table) expireReport(r *maintain.Report) *table.ExpireReport {
	out := &table.ExpireReport{
		Snapshots: r.Snapshots, Changelogs: r.Changelogs, Consumers: r.Consumers,
		Files: r.Files, FilesDeleted: r.Deleted, FilesFailed: r.Failed, FilesHeld: r.Counts.Held, Bytes: r.Bytes,
		Resumed: r.Resumed, Record: r.Record,
	}
	for _, h := range r.Held {
		hold := table.ExpireHold{By: h.By, Name: h.Name, Snapshot: h.From}
		switch h.By {
		case table.HeldByConsumer:
			hold.Hint = fmt.Sprintf("It has not read on: see 'tarn consumer list %s', and reset or delete it when nobody reads by it.", t.name)
		case table.HeldByCommit:
			hold.Hint = fmt.Sprintf("Nobody knows yet whether it landed: 'tarn commit resolve %s' finds out.", t.name)
		case table.HeldByLimit:
			hold.Hint = "So many go at a time: expire again, or raise snapshot.expire.limit."
		}
		out.Held = append(out.Held, hold)
	}
	return out
}
