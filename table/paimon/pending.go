package paimon

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// PendingCommits implements table.Table.
func (t *Table) PendingCommits(ctx context.Context) ([]table.PendingCommit, error) {
	c, err := t.resolver()
	if err != nil {
		return nil, err
	}
	found, err := c.Pending(ctx)
	out := make([]table.PendingCommit, len(found))
	for i, f := range found {
		out[i] = pendingOf(&f.Record)
	}
	return out, wayOut(err)
}

// ResolveCommits implements table.Table.
func (t *Table) ResolveCommits(ctx context.Context, which table.CommitFilter) ([]table.Resolution, error) {
	const op = "resolving commits"
	c, err := t.resolver()
	if err != nil {
		return nil, err
	}
	switch {
	case which.Grace == 0:
		which.Grace = commit.DefaultGrace
	case which.Grace < 0:
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative grace", "table", t.name, "grace", which.Grace)
	}
	if which.Identifier != 0 {
		found, err := c.ResolveNamed(ctx, which.User, which.Identifier, which.Grace)
		return resolutionsOf(found), wayOut(err)
	}
	pending, listErr := c.Pending(ctx)
	var found []commit.Resolution
	for _, p := range pending {
		if which.User != "" && p.User != which.User {
			continue
		}
		r, err := c.ResolvePending(ctx, p, which.Grace)
		if err != nil {
			return resolutionsOf(found), wayOut(err)
		}
		found = append(found, r)
	}
	return resolutionsOf(found), wayOut(listErr)
}

func resolutionsOf(found []commit.Resolution) []table.Resolution {
	out := make([]table.Resolution, len(found))
	for i, r := range found {
		out[i] = table.Resolution{
			PendingCommit: pendingOf(&r.Record), Status: table.Status(r.Status), Snapshot: r.Snapshot, ReadFrom: r.From, ReadTo: r.To,
		}
		if r.Missing != nil {
			out[i].Missing = r.Missing.Error()
		}
	}
	return out
}

func pendingOf(r *commitlog.Record) table.PendingCommit {
	p := table.PendingCommit{
		User: r.User, Identifier: r.Identifier, Kind: string(r.Kind), Base: r.Base, Files: r.Files,
	}
	if r.Millis != 0 {
		p.Begun = time.UnixMilli(r.Millis).UTC()
	}
	if r.End != nil {
		p.Error = r.End.Error
	}
	return p
}
