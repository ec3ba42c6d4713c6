package paimon

import (
	"context"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// newCommitter opens the commit stage. It refuses tables and storages that this
// version must not commit to.
func (t *Table) newCommitter() (*commit.Committer, error) {
	const op = "opening committer"
	if err := option.CheckWrite(t.schema.Options, t.traits()); err != nil {
		return nil, trace(op, err, t.name)
	}
	out, err := commit.New(t.commitConfig())
	return out, trace(op, err, t.name)
}

// resolver finds out about commits and makes none, also where this version must
// not commit.
func (t *Table) resolver() (*commit.Committer, error) {
	out, err := commit.NewResolver(t.commitConfig())
	return out, trace("opening commits", err, t.name)
}

func (t *Table) commitConfig() commit.Config {
	c := t.components
	return commit.Config{
		Table: t.name.String(), FileIO: c.FileIO, Place: t.place, Schema: t.schema, Schemas: t.schemas, Snapshots: t.snapshots,
		Options: t.options, Env: c.Env, Listener: c.Events, Workers: c.Workers, Groups: c.Groups, Keep: c.Keep,
		Publisher: t.commits.Publisher, Rollback: t.commits.Rollbacker, Callbacks: t.commits.Callbacks, TableUUID: t.commits.TableUUID,
	}
}

// Commit implements table.Table.
func (t *Table) Commit(ctx context.Context, c table.Committable) (*table.CommitReport, error) {
	messages, err := t.unwrap(c.Messages)
	if err != nil {
		return nil, err
	}
	committer, err := t.committer()
	if err != nil {
		return nil, err
	}
	return t.commit(ctx, committer, c, messages, false)
}

// commit hands messages to the commit stage and translates its report. first
// says that nobody has tried this commit before. Files of a compaction that did not
// land stay: the messages may have landed long ago, and older snapshots or tags may
// hold what the latest has not any more.
func (t *Table) commit(ctx context.Context, committer *commit.Committer, c table.Committable, messages []*commitmsg.Message, first bool) (*table.CommitReport, error) {
	r, err := committer.Commit(ctx, commit.Request{
		User: c.User, Identifier: c.Identifier, Messages: messages,
		Watermark: c.Watermark, Properties: c.Properties,
		Empty: t.commitsEmpty(c.Identifier), Check: c.Check, Overwrite: t.overwrite(c.Overwrite), First: first,
	})
	return reportOf(r, err)
}

// reportOf translates what the commit stage says.
func reportOf(r *commit.Report, err error) (*table.CommitReport, error) {
	err = wayOut(err)
	if r == nil {
		return nil, err
	}
	out := &table.CommitReport{
		Status: table.Status(r.Status), Reason: r.Reason, User: r.User, Identifier: r.Identifier, Base: r.Base,
		Attempts: make([]table.Attempt, len(r.Attempts)), Snapshots: r.IDs(),
		FilesAdded: r.FilesAdded, FilesGone: r.FilesGone, Rows: r.Rows, Bytes: r.Bytes, BytesGone: r.BytesGone,
		Elapsed: r.Elapsed, Rewritten: r.Rewritten, RolledBack: r.RolledBack, Already: r.Already,
		Ahead: r.Ahead, Phases: r.Phases,
	}
	if r.Compaction != nil {
		out.Compaction = r.Compaction.Error()
	}
	for i, a := range r.Attempts {
		out.Attempts[i] = table.Attempt(a)
	}
	for _, d := range r.Displaced {
		out.Displaced = append(out.Displaced, table.Displaced(d))
	}
	for _, c := range r.Conflicts {
		out.Conflicts = append(out.Conflicts, table.Conflict(c))
	}
	for _, c := range r.Callbacks {
		o := table.CallbackOutcome{Name: c.Name, Snapshot: c.Snapshot}
		if c.Err != nil {
			o.Error = c.Err.Error()
		}
		out.Callbacks = append(out.Callbacks, o)
	}
	return out, err
}

// commitsEmpty says whether a commit of nothing makes a snapshot. As in Java, one
// of a stream always does, so that its identifier is on record, and a batch when the
// table's options say so.
func (t *Table) commitsEmpty(identifier int64) bool {
	ignore := t.options.IgnoreEmptyCommit
	return identifier != table.BatchIdentifier || ignore != nil && !*ignore
}

// FilterCommitted implements table.Table.
func (t *Table) FilterCommitted(ctx context.Context, user string, identifiers []int64) ([]int64, error) {
	c, err := t.committer()
	if err != nil {
		return nil, err
	}
	left, err := c.FilterCommitted(ctx, user, identifiers)
	return left, trace("filtering committed identifiers", err, t.name, "user", user)
}

// AbortMessages implements table.Table.
func (t *Table) AbortMessages(ctx context.Context, messages []table.Message) error {
	inner, err := t.unwrap(messages)
	if err != nil {
		return err
	}
	c, err := t.committer()
	if err != nil {
		return err
	}
	return c.AbortMessages(ctx, inner)
}

func (t *Table) unwrap(messages []table.Message) ([]*commitmsg.Message, error) {
	out := make([]*commitmsg.Message, len(messages))
	for i, m := range messages {
		if out[i] = table.UnwrapMessage(m); out[i] == nil {
			return nil, tarnerr.New(tarnerr.Invalid, "reading messages", "a message that no writer prepared", "table", t.name, "number", i)
		}
	}
	return out, nil
}

func wrap(messages []*commitmsg.Message) []table.Message {
	out := make([]table.Message, len(messages))
	for i, m := range messages {
		out[i] = table.WrapMessage(m)
	}
	return out
}
