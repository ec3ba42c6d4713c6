package table

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/schema"
)

// Table is one table, pinned to the schema it had when it was opened.
// Safe for concurrent use; readers and writers it makes are not.
type Table interface {
	// Name is the table's name, with branch or system table where given.
	Name() Identifier
	// Location is the URI of the table's directory.
	Location() string
	// Schema is the schema pinned at open.
	Schema() *schema.Schema
	// ArrowSchema is the schema of batches read, and accepted by writes, when no
	// projection is given.
	ArrowSchema() *arrow.Schema

	// Snapshot returns one snapshot, the latest for id 0. NotFound when the table
	// has none or never had that id, Expired when retention removed it.
	Snapshot(ctx context.Context, id int64) (*Snapshot, error)
	// Snapshots yields all live snapshots from the earliest to the latest.
	Snapshots(ctx context.Context) iter.Seq2[*Snapshot, error]

	// SchemaAt is the schema that rows of a snapshot are read under when a scan
	// asks for it: the one it was committed with. Schema for id 0.
	SchemaAt(ctx context.Context, snapshot int64) (*schema.Schema, error)

	// Plan pins one snapshot and returns the splits that can hold matching rows.
	Plan(ctx context.Context, scan Scan) (*Plan, error)
	// Read reads splits of a plan of this table, merged, filtered and projected as
	// scan says. Splits are read in order when scan.Workers is 1, else side by side.
	Read(ctx context.Context, scan Scan, splits ...Split) (Reader, error)
	// Scan is Plan and Read of all splits.
	Scan(ctx context.Context, scan Scan) (Reader, error)

	// Follow reads the changes of one snapshot after another, waiting for new ones.
	Follow(ctx context.Context, opts FollowOptions) (Follower, error)

	// Consumers lists the named readers of the table's changes, by id.
	Consumers(ctx context.Context) ([]Consumer, error)
	// ResetConsumer makes next the snapshot that a consumer reads next, and the
	// consumer where there is none. Changes from next on must be there or come next:
	// Expired when retention has removed them, NotFound when there is nothing so new.
	ResetConsumer(ctx context.Context, id string, next int64) error
	// DeleteConsumer forgets a consumer. NotFound when there is none.
	DeleteConsumer(ctx context.Context, id string) error

	// NewBatchWrite starts a write of one commit.
	NewBatchWrite(ctx context.Context, opts WriteOptions) (BatchWrite, error)
	// NewStreamWrite starts a write of many commits by one user, restartable.
	NewStreamWrite(ctx context.Context, opts WriteOptions) (StreamWrite, error)

	// Commit publishes messages prepared by any writer of this table, Java's
	// included (UnmarshalMessage). It returns when they are visible and durable,
	// or with the error; see CommitReport.Status.
	Commit(ctx context.Context, c Committable) (*CommitReport, error)
	// FilterCommitted drops those identifiers of user that are already
	// committed; call it after a restart before committing again.
	FilterCommitted(ctx context.Context, user string, identifiers []int64) ([]int64, error)
	// AbortMessages deletes the files of messages that were never handed to Commit,
	// or whose commit failed for certain.
	AbortMessages(ctx context.Context, messages []Message) error
	// PendingCommits lists the commits whose outcome is not known. What cannot be
	// read is told by the error, beside the others.
	PendingCommits(ctx context.Context) ([]PendingCommit, error)
	// ResolveCommits finds out what became of commits, and puts on record what is
	// certain. It deletes nothing: data files belong to the messages.
	ResolveCommits(ctx context.Context, which CommitFilter) ([]Resolution, error)

	// DropPartitions removes all rows of partitions: those that have, for one of
	// the maps, its value in each column it names, spelt as in a partition path (a
	// DATE also as days since 1970). Invalid without maps, or for columns that do not
	// partition the table. That no partition matches is no error.
	DropPartitions(ctx context.Context, partitions []map[string]string, opts CommitOptions) (*CommitReport, error)
	// Truncate removes all rows.
	Truncate(ctx context.Context, opts CommitOptions) (*CommitReport, error)

	// Compact rewrites files so that reads find less to do, and publishes that; no
	// read of rows changes. It may run beside writers and other compactions: what
	// does not fit what others did meanwhile is done anew, or left to them
	// (CompactReport.Lost). The report tells what was published, also with an error;
	// calling it again goes on from there.
	Compact(ctx context.Context, opts CompactOptions) (*CompactReport, error)

	// Expire removes snapshots, decoupled changelogs and consumers that the table's
	// options let go, and the files that nothing left needs: neither a live snapshot,
	// nor a tag, branch, consumer or commit that may have landed. Nothing expires
	// without it. It may run beside readers, writers and other expiries, Java's
	// included. The report tells what was done, also with an error; what a run leaves
	// undone, the next one finishes first. Unsupported for branches.
	Expire(ctx context.Context, opts ExpireOptions) (*ExpireReport, error)

	// Advise tells which figures of the table are beyond a limit, by metadata alone,
	// and what to do about it; nothing of a table that is well. Records of commits that
	// cannot be read are told by the error, beside the advice.
	Advise(ctx context.Context) ([]Advice, error)
}

// Scan says what to read. The zero value reads every row and column of the latest snapshot.
type Scan struct {
	Columns    []string  // in this order; nil = all
	Where      expr.Expr // exact: rows that do not match are never returned; nil = all
	Limit      int64     // at most so many rows; 0 = no limit
	SnapshotID int64     // time travel, with the columns of that time (SchemaAt); 0 = latest
	Kind       bool      // first column _kind (int8) with the row kind
	Workers    int       // splits read side by side; 0 = the runtime's workers
	// Options override table options for this scan (dynamic options). With
	// incremental-between=A,B, two snapshots or tags, a scan gives what changed between them.
	Options map[string]string
}

// Plan is a set of splits of one snapshot.
type Plan struct {
	Snapshot *Snapshot // nil when the table has no snapshot yet
	Splits   []Split
}

// Reader yields batches. See batch ownership on Next.
type Reader interface {
	Schema() *arrow.Schema
	// Next returns the next batch, valid until the next Next or Close (Retain what
	// you keep), or io.EOF after the last. Batches are never empty.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close stops all work and frees all memory of the reader.
	Close() error
}

// WriteOptions tune a write.
type WriteOptions struct {
	// User is the commit user. Batch writes may leave it empty (random); a stream
	// that wants to restart must name one of its own.
	User string
	// Properties go into the snapshots committed.
	Properties map[string]string
	// Watermark is the snapshot's watermark in ms, nil for none.
	Watermark *int64
	// Options override table options for this write (dynamic options).
	Options map[string]string
	// Overwrite makes the commit replace rows that are there (INSERT OVERWRITE);
	// nil adds to them. Batch writes only. What Prepare returns is committed with the
	// same in Committable.
	Overwrite *Overwrite
}

// Overwrite says what the rows of a commit take the place of.
type Overwrite struct {
	// Mode says whether the partitions to replace are given or found.
	Mode OverwriteMode
	// Partition gives values of partition columns, spelt as in a partition path.
	// Rows that are written must lie in such partitions. Empty = the whole table.
	Partition map[string]string
}

// OverwriteMode says how the partitions to replace are chosen. Tables without
// partitions are replaced whole in any mode.
type OverwriteMode uint8

const (
	// OverwriteByOption leaves it to the table's option dynamic-partition-overwrite,
	// as Java does: dynamic by default.
	OverwriteByOption OverwriteMode = iota
	// OverwriteStatic replaces the partitions that Partition describes, written to
	// or not.
	OverwriteStatic
	// OverwriteDynamic replaces the partitions that rows are written to; nothing
	// when none is.
	OverwriteDynamic
)

// CommitOptions name a commit that no writer prepared.
type CommitOptions struct {
	User       string // "" = drawn
	Identifier int64  // grows per user in streams; 0 = BatchIdentifier
	Watermark  *int64 // ms, nil for none
	Properties map[string]string
}

// BatchWrite writes one commit. Not safe for concurrent use.
type BatchWrite interface {
	// Write adds rows; the batch is borrowed for the call. Columns are matched by
	// name; a missing nullable column is null. An int8 column _kind gives row
	// kinds, else all rows are +I.
	Write(ctx context.Context, rows arrow.RecordBatch) error
	// Prepare flushes and returns the messages of this write, to be committed
	// elsewhere or later. Nothing is visible yet.
	Prepare(ctx context.Context) ([]Message, error)
	// CompactFully makes Prepare or Commit compact the buckets written to into one
	// sorted run each. Unsupported where a write compacts nothing: write-only and
	// append tables, overwrites.
	CompactFully() error
	// Commit flushes and publishes. It returns when the rows are visible, or with
	// the error. The write is over then.
	Commit(ctx context.Context) (*CommitReport, error)
	// Abort gives up and deletes what was flushed. After Commit it does nothing.
	Abort(ctx context.Context) error
	// Close frees the write's memory; it aborts what was neither prepared nor committed.
	Close() error
}

// StreamWrite writes a sequence of commits of one user. Not safe for concurrent use.
type StreamWrite interface {
	// User is the commit user.
	User() string
	// LastCommitted is the highest identifier this user has committed; ok is false
	// when there is none. A restarted writer goes on above it.
	LastCommitted(ctx context.Context) (identifier int64, ok bool, err error)
	Write(ctx context.Context, rows arrow.RecordBatch) error
	// Prepare flushes what was written since the last Prepare.
	Prepare(ctx context.Context) ([]Message, error)
	// Commit flushes and publishes what was written since the last commit under
	// identifier, which must grow from commit to commit. An identifier that is
	// already committed is refused before anything is written.
	Commit(ctx context.Context, identifier int64) (*CommitReport, error)
	// WaitForCompaction says whether Prepare and Commit, from now on, wait for the
	// compactions of the buckets written to. Else those go with the first commit
	// after their end; what is compacted at Close is given up.
	WaitForCompaction(wait bool)
	// CompactFully makes the next Prepare or Commit compact the buckets written to
	// since their last full compaction into one sorted run each, and wait for it.
	// Unsupported where a write compacts nothing: write-only and append tables.
	CompactFully() error
	Abort(ctx context.Context) error
	Close() error
}

// Committable is what one commit publishes.
type Committable struct {
	User       string
	Identifier int64 // grows per user in streams; BatchIdentifier for batch commits
	Messages   []Message
	Watermark  *int64
	Properties map[string]string
	// Overwrite makes the commit replace rows that are there; nil adds to them.
	Overwrite *Overwrite
	// Check holds files that are only added against the table, too, and sees that
	// all files are there, with a call of the storage for each: set it when messages
	// are committed again after a restart. NotFound when some have been removed.
	Check bool
}

// BatchIdentifier is the identifier of every batch commit.
const BatchIdentifier = 1<<63 - 1
