package commit

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Conflict is a commit that was found not to fit what another one did.
type Conflict = commitlog.Conflict

// trail is what tries remember for their record.
type trail struct {
	phases    event.Phases
	lapped    time.Time // end of the phase before
	conflicts []Conflict
	// What the report had before them.
	noted, undone int
	rewritten     int64
}

func trailOf(r *Report) trail {
	return trail{noted: len(r.Attempts), undone: len(r.RolledBack), rewritten: r.Rewritten}
}

// lap adds the time since the last lap to a phase.
func (t *tries) lap(phase *time.Duration) {
	now := t.c.cfg.Env.Now()
	*phase += now.Sub(t.lapped)
	t.lapped = now
}

// latest is the snapshot to build on: for the first try the one that the commit
// before has just made, where there is one.
func (t *tries) latest(ctx context.Context) (*snapshot.Snapshot, error) {
	if s := t.handed; s != nil {
		t.handed = nil
		return s, nil
	}
	return t.c.snapshots.Latest(ctx)
}

// conflicted writes a conflict into the report and tells the listener.
func (t *tries) conflicted(ch *change, c *conflict, other *snapshot.Snapshot) {
	told := Conflict{Operation: string(ch.kind), Check: string(c.check), Bucket: c.bucket, Files: c.files}
	if c.partition != nil {
		told.Partition = t.c.builder.partitionName(c.partition)
	}
	if other != nil {
		told.OtherUser, told.OtherOperation, told.OtherSnapshot = other.CommitUser, string(other.CommitKind), other.ID
		told.Maintenance = (ch.kind == snapshot.Compact) != (other.CommitKind == snapshot.Compact)
	}
	t.conflicts = append(t.conflicts, told)
	t.report.Conflicts = append(t.report.Conflicts, told)
	t.c.cfg.Listener.Emit(event.CommitConflict{
		Table: t.c.cfg.Table, User: t.req.User, Operation: told.Operation, Check: told.Check, Partition: told.Partition, Bucket: int(told.Bucket),
		OtherUser: told.OtherUser, OtherOperation: told.OtherOperation, OtherSnapshot: told.OtherSnapshot, Maintenance: told.Maintenance,
	})
}

// evidence is what these tries leave: of one snapshot, where the report is of all
// that a commit makes.
func (t *tries) evidence(landed *snapshot.Snapshot) commitlog.Evidence {
	e := commitlog.Evidence{
		Conflicts: t.conflicts, Phases: t.phases,
		Rewritten: t.report.Rewritten - t.rewritten, RolledBack: t.report.RolledBack[t.undone:],
	}
	for _, a := range t.report.Attempts[t.noted:] {
		e.Attempts = append(e.Attempts, commitlog.Attempt(a))
	}
	if landed == nil {
		return e
	}
	if d := t.draftIn(landed); d != nil {
		var r Report
		r.add(&d.change)
		e.FilesAdded, e.FilesDeleted, e.Rows, e.Bytes, e.BytesDeleted = r.FilesAdded, r.FilesGone, r.Rows, r.Bytes, r.BytesGone
	}
	return e
}

// keep turns the intent of the tries into the record of how they ended. One in
// doubt stays an intent, and says what is known.
func (c *Committer) keep(ctx context.Context, t *tries, landed *snapshot.Snapshot, err error) {
	const doing = "recording how a commit ended"
	i := t.intent()
	file := i.path(c.cfg.Place)
	end := commitlog.End{Millis: c.cfg.Env.Now().UnixMilli(), Status: commitlog.Succeeded, Base: idOf(t.base), Evidence: t.evidence(landed)}
	switch {
	case landed != nil && t.foreign(landed):
		if t.intended {
			c.warn(doing, c.intents.close(ctx, file, landed.ID, end.Millis))
		}
		return
	case landed != nil:
		end.Snapshot = landed.ID
	default:
		end.Status, end.Reason, end.Error = commitlog.Failed, tarnerr.KindOf(err).String(), err.Error()
		if tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
			end.Status, end.Latest, end.ReadTo = commitlog.Unknown, t.newest, t.readTo
		}
	}
	switch {
	case t.intended && end.Status == commitlog.Failed && !c.recorded(ctx, t, file):
		// Another process is committing the same: its intent must not be taken for failed.
	case t.intended:
		c.warn(doing, c.intents.log.PutAt(ctx, file, i.Ended(end)))
	case t.begun && !t.gone && end.Status == commitlog.Failed:
		// It failed before it came to an intent: one that is there belongs to another.
		_, err := c.intents.log.Begin(ctx, i.Ended(end))
		c.warn(doing, err)
	}
}

// recorded reports that the record in file is of these tries, or gone. What cannot
// be read is left alone.
func (c *Committer) recorded(ctx context.Context, t *tries, file string) bool {
	r, err := c.intents.log.Read(ctx, file)
	c.warn("recording how a commit ended", err)
	return err == nil && (r == nil || t.wrote(&intent{Record: *r}))
}

// Records of commits are looked through for those to be dropped with each
// snapshot whose id is a multiple of expireEvery, by whoever makes it: no process
// has to remember anything, and no commit lists a directory.
const (
	expireEvery = 64
	expireBatch = 1000
)

// keepOr is which records of ended commits are kept, with defaults for what is zero.
func keepOr(k commitlog.Keep) commitlog.Keep {
	if k.Count == 0 {
		k.Count = 1000
	}
	if k.AgeMillis == 0 {
		k.AgeMillis = (7 * 24 * time.Hour).Milliseconds()
	}
	return k
}
