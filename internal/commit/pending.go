package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// DefaultGrace is how long after it was last heard of a commit is taken to be at
// work still: many times as long as a publish is followed.
const DefaultGrace = 10 * time.Minute

// NewResolver opens a committer that finds out about commits, and makes none: for
// tables and storages, too, that this version must not commit to. It does no I/O.
func NewResolver(cfg Config) (*Committer, error) {
	cfg.Publisher = noPublisher{}
	return New(cfg)
}

// noPublisher publishes nothing.
type noPublisher struct{}

func (noPublisher) Publish(context.Context, Publication) (Outcome, error) {
	return Unknown, tarnerr.New(tarnerr.Unsupported, "publishing snapshot", "the committer was opened to resolve commits only")
}

// Resolution is what a later process found out about a commit.
type Resolution struct {
	commitlog.Record
	// Status is Succeeded when the commit has landed, Failed when it certainly has
	// not, and Unknown.
	Status   commitlog.Status
	Snapshot int64 // that it has made, 0 = none
	// The ids of the snapshots that were read for it, both included; 0 when none was.
	From, To int64
	// Missing is what it would take to know, when Unknown.
	Missing error
}

// Pending lists the commits whose outcome is not known: at work, dead, or in
// doubt. It lists a directory. A record that cannot be read is told by the error,
// beside the others.
func (c *Committer) Pending(ctx context.Context) ([]commitlog.Found, error) {
	var out []commitlog.Found
	var errs []error
	for f, err := range c.intents.log.All(ctx) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case f.Pending():
			out = append(out, f)
		}
	}
	return out, tarnerr.Trace("listing unresolved commits", errors.Join(errs...), "table", c.cfg.Table)
}

// ResolvePending finds out what became of a pending commit, and writes that into
// its record when it is certain. It deletes nothing. Within grace of when the
// commit was last heard of its writer may still publish, so that what has not
// landed stays unknown.
func (c *Committer) ResolvePending(ctx context.Context, f commitlog.Found, grace time.Duration) (Resolution, error) {
	const op = "resolving commit"
	latest, err := c.snapshots.Latest(ctx)
	if err != nil {
		return Resolution{}, tarnerr.Trace(op, err, "table", c.cfg.Table)
	}
	now := c.cfg.Env.Now()
	r := Resolution{Record: f.Record, Status: commitlog.Unknown}
	found, err := search(ctx, c.snapshots, identityOf(&f.Record), f.SearchFrom(idOf(latest)), latest)
	if err != nil { // a snapshot that has to be read cannot be
		r.Missing = err
		return r, nil
	}
	if idOf(latest) > f.Base {
		r.From, r.To = f.Base+1, idOf(latest)
	}
	heard := time.UnixMilli(f.Millis)
	if f.End != nil {
		heard = time.UnixMilli(max(f.Millis, f.End.Millis))
	}
	switch age := now.Sub(heard); {
	case found != nil:
		r.Status, r.Snapshot, r.From = commitlog.Succeeded, found.ID, found.ID
		r.To = found.ID
	case age < grace:
		r.Missing = tarnerr.New(tarnerr.CommitStateUnknown, op, "its writer was heard of a short time ago and may still publish",
			"snapshot", idOf(latest)+1, "age", age.Round(time.Second), "wait", (grace - age).Round(time.Second))
		return r, nil
	default:
		r.Status = commitlog.Failed
	}
	return r, c.settleRecord(ctx, f, r, now.UnixMilli())
}

// settleRecord writes a resolution into the record of its commit.
func (c *Committer) settleRecord(ctx context.Context, f commitlog.Found, r Resolution, millis int64) error {
	end := commitlog.End{}
	if f.End != nil {
		end = *f.End
	}
	end.Millis, end.Status, end.Snapshot, end.Resolved = millis, r.Status, r.Snapshot, true
	end.Reason, end.Error = "", ""
	if r.Status == commitlog.Failed {
		end.Reason = tarnerr.Unavailable.String()
		end.Error = fmt.Sprintf("it has not landed: %s", r.Proof())
	}
	return c.intents.log.PutAt(ctx, f.Path, f.Ended(end))
}

// Proof says which snapshots were read.
func (r *Resolution) Proof() string {
	switch {
	case r.To == 0:
		return fmt.Sprintf("no snapshot follows %d, on which it was built", r.Base)
	case r.From == r.To:
		return fmt.Sprintf("snapshot %d was read", r.To)
	}
	return fmt.Sprintf("snapshots %d to %d were read", r.From, r.To)
}

// ResolveNamed finds out what became of a stream's commit of a user under an
// identifier: of each snapshot that it has set out to make by its record, or, when
// there is none, by the snapshots that are there.
func (c *Committer) ResolveNamed(ctx context.Context, user string, identifier int64, grace time.Duration) ([]Resolution, error) {
	const op = "resolving commit"
	if user == "" || identifier == snapshot.BatchIdentifier {
		return nil, tarnerr.New(tarnerr.Invalid, op, "batch commits have no name of their own", "user", user, "identifier", identifier).
			WithHint("Resolve all unresolved commits of the table.")
	}
	var out []Resolution
	for _, kind := range []snapshot.CommitKind{snapshot.Append, snapshot.Overwrite, snapshot.Compact} {
		record := commitlog.Record{User: user, Identifier: identifier, Kind: kind}
		file := c.intents.log.Path(record)
		r, err := c.intents.log.Read(ctx, file)
		switch {
		case err != nil:
			return out, tarnerr.Trace(op, err, "table", c.cfg.Table)
		case r == nil:
		case r.Pending():
			res, err := c.ResolvePending(ctx, commitlog.Found{Path: file, Record: *r}, grace)
			if err != nil {
				return out, err
			}
			out = append(out, res)
		default:
			out = append(out, Resolution{Record: *r, Status: r.End.Status, Snapshot: r.End.Snapshot, From: r.End.Snapshot, To: r.End.Snapshot})
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	res, err := c.resolveBySnapshots(ctx, user, identifier)
	return append(out, res), tarnerr.Trace(op, err, "table", c.cfg.Table)
}

// resolveBySnapshots reads back from the latest snapshot to one of the commit. A
// lower identifier of the user, or the first snapshot of all, proves that there is
// none: identifiers grow.
func (c *Committer) resolveBySnapshots(ctx context.Context, user string, identifier int64) (Resolution, error) {
	r := Resolution{Record: commitlog.Record{User: user, Identifier: identifier}, Status: commitlog.Failed}
	latest, err := c.snapshots.Latest(ctx)
	if err != nil || latest == nil {
		return r, err
	}
	r.To = latest.ID
	for s := latest; ; {
		r.From = s.ID
		switch {
		case s.CommitUser != user:
		case s.CommitIdentifier == identifier:
			r.Status, r.Kind, r.Snapshot, r.From, r.To = commitlog.Succeeded, s.CommitKind, s.ID, s.ID, s.ID
			return r, nil
		case s.CommitIdentifier < identifier:
			return r, nil
		}
		if s.ID == 1 {
			return r, nil
		}
		before, err := c.snapshots.Get(ctx, s.ID-1)
		if err != nil {
			r.Status = commitlog.Unknown
			r.Missing = tarnerr.Wrap(tarnerr.CommitStateUnknown, "resolving commit", err, "read", fmt.Sprintf("%d to %d", r.From, r.To))
			return r, nil
		}
		s = before
	}
}
