package table

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/expr"
)

// FollowOptions say what to follow, and from where to where.
type FollowOptions struct {
	From Start
	// To is the last snapshot to read; 0 follows on until Close or the context's end.
	// Rows of a whole table to begin with that are those of a later one are Invalid.
	To      int64
	Columns []string // in this order; nil = all
	// Where is exact, row by row: a change that makes a row match comes as its +U
	// alone, one that makes it match no longer as its -U alone. A table without
	// changelog (changelog-producer=none) has no -U: filter it by its keys only if the
	// rows are to be folded into a state.
	Where   expr.Expr
	Workers int // splits of a snapshot read side by side; 0 = the runtime's workers
	// Interval is the time between two looks for a new snapshot, each of which is
	// one request; 0 = the option continuous.discovery-interval.
	Interval time.Duration
	// Consumer names the reader, "" for the option consumer-id. A consumer that is there
	// goes on at its snapshot, whatever From says but StartAt: a position that was
	// kept elsewhere counts more. From is for the first time, and with the option
	// consumer.ignore-progress always. Follower.Acknowledge notes how far it has come.
	// One that is not there yet is noted before its first changes are handed out, or
	// by Follow with StartLatest, so that expiry keeps what it reads from then on. The
	// rows of a whole table, with which StartLatestFull and StartFull begin, cannot be
	// noted: until they are acknowledged nothing is kept for it.
	Consumer string
	// Options override table options for this read (dynamic options).
	Options map[string]string
}

// StartMode says where following begins.
type StartMode uint8

const (
	// StartByOption goes by the table's options scan.mode and scan.snapshot-id as
	// Java does: by default StartLatestFull.
	StartByOption StartMode = iota
	// StartAt begins with the changes of Start.Snapshot: a position that a Follower
	// gave. Expired when retention has removed them.
	StartAt
	// StartEarliest begins with the oldest changes there are.
	StartEarliest
	// StartLatest begins behind the latest snapshot.
	StartLatest
	// StartLatestFull begins with the rows of the latest snapshot.
	StartLatestFull
	// StartFull begins with the rows of Start.Snapshot.
	StartFull
	// StartTime begins with the first snapshot that was committed at Start.Time or later.
	StartTime
)

// Start is where following begins.
type Start struct {
	Mode     StartMode
	Snapshot int64
	Time     time.Time
}

// Follower yields the changes of a table's snapshots in their order. Rows of one
// key come in the order in which they changed it. Not safe for concurrent use.
//
// What changes look like depends on the option changelog-producer. With none they
// are the rows written, the last of each key and commit; otherwise those of the
// changelog, whose fold is the table (INV-READ-1).
type Follower interface {
	// Next returns the changes of the next snapshot that has any, and waits for it.
	// It closes the rows of the one before. io.EOF behind FollowOptions.To, and where
	// the last snapshot seen, or the one before the first, has a watermark behind the
	// option scan.bounded.watermark.
	Next(ctx context.Context) (*Changes, error)
	// Position is the snapshot that comes next. Once the rows of all Changes are taken,
	// following from it (StartAt) loses and repeats nothing (INV-STREAM-1). 0 as long
	// as the table has no snapshot.
	Position() int64
	// Acknowledge notes Position as the consumer's progress: call it when the rows of
	// all Changes are taken and will not be needed again. What is not acknowledged comes
	// again after a restart (at least once). Where all is acknowledged, Next itself
	// notes that it has passed snapshots without changes, before it waits. Without a
	// consumer, or a position, it does nothing.
	//
	// With the option consumer.expiration-time, Next and Acknowledge write what is noted
	// again after a quarter of it, so that the consumer does not expire while nothing
	// happens; but not where another has deleted or reset it meanwhile. Progress is
	// written all the same.
	Acknowledge(ctx context.Context) error
	// Noted is the snapshot that the consumer goes on with after a restart, as far as
	// this follower knows; 0 when nothing is noted, or there is no consumer.
	Noted() int64
	// Close stops all work and frees all memory.
	Close() error
}

// Changes are what one snapshot changed.
type Changes struct {
	Snapshot *Snapshot
	Full     bool // the rows are those of the whole table, where following begins
	// Rows begin with the column _kind. They are read under the schema the table had
	// when it was opened.
	Rows Reader
}
