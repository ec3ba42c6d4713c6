package table

import (
	"time"

	"github.com/tarnlake/tarn/event"
)

// Status is how a commit ended, in the words used everywhere results are shown.
type Status string

const (
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	// Unknown: nobody can tell yet. Nothing may be repeated or deleted.
	Unknown Status = "UNKNOWN"
)

// CommitReport is the evidence a commit leaves, whatever its end.
type CommitReport struct {
	Status     Status        `json:"status"`
	Reason     string        `json:"reason,omitempty"` // error kind when not SUCCEEDED
	User       string        `json:"user"`
	Identifier int64         `json:"identifier"`
	Base       int64         `json:"baseSnapshot"` // snapshot the last attempt built on, 0 = none
	Attempts   []Attempt     `json:"attempts"`
	Snapshots  []int64       `json:"snapshots"` // ids published, in order
	FilesAdded int           `json:"filesAdded"`
	FilesGone  int           `json:"filesDeleted"`
	Rows       int64         `json:"deltaRecordCount"`
	Bytes      int64         `json:"bytesAdded"`
	BytesGone  int64         `json:"bytesDeleted,omitempty"`
	Elapsed    time.Duration `json:"elapsedNanos"`
	// Rewritten is how many bytes of manifests were merged on the way.
	Rewritten int64 `json:"manifestBytesRewritten,omitempty"`
	// RolledBack are the ids of compactions that were undone to make room.
	RolledBack []int64 `json:"rolledBack,omitempty"`
	// Displaced are snapshots that this process had made before and that are not in
	// the table's history any more: another program has published over them, or the
	// table was rolled back behind them. Their rows are gone; they do not change Status.
	Displaced []Displaced `json:"displaced,omitempty"`
	// Compaction says why the compaction that came with the rows did not land: the
	// rows did, and a compaction can be made again. "" otherwise.
	Compaction string `json:"compactionFailed,omitempty"`
	// Ahead is how many commits of this process to the table went first.
	Ahead int `json:"ahead,omitempty"`
	// Phases is where the time went.
	Phases event.Phases `json:"phases"`
	// Conflicts are those found, also where a compaction was undone for them.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Already is true when nothing was published because this user had committed
	// the identifier before.
	Already bool `json:"alreadyCommitted,omitempty"`
	// Callbacks are those of the catalog that ran after the snapshots had landed.
	// None of them changes Status.
	Callbacks []CallbackOutcome `json:"callbacks,omitempty"`
}

// CallbackOutcome is how a callback ended that ran after a snapshot had landed.
type CallbackOutcome struct {
	Name     string `json:"name"`
	Snapshot int64  `json:"snapshot"`
	Error    string `json:"error,omitempty"` // "" = it succeeded
}

// Displaced is a snapshot that is not in the table's history any more.
type Displaced struct {
	Snapshot   int64  `json:"snapshot"`
	User       string `json:"user"`
	Identifier int64  `json:"identifier"`
	Operation  string `json:"operation"`           // its commit kind
	OtherUser  string `json:"otherUser,omitempty"` // whose snapshot has the id now, "" when none has
	Latest     int64  `json:"latestSnapshot"`      // newest one that is there, 0 = none
}

// Conflict is a commit that was found not to fit what another one did.
type Conflict struct {
	Operation string   `json:"operation"` // commit kind of the one that does not fit
	Check     string   `json:"check"`     // which check found it, see docs/commit.md
	Partition string   `json:"partition,omitempty"`
	Bucket    int32    `json:"bucket"` // −1 = of no one bucket
	Files     []string `json:"files,omitempty"`
	// The other commit, where it is known.
	OtherUser      string `json:"otherUser,omitempty"`
	OtherOperation string `json:"otherOperation,omitempty"`
	OtherSnapshot  int64  `json:"otherSnapshot,omitempty"`
	// Maintenance: one of the two is a compaction and the other is not, so that
	// upkeep and writing tread on each other.
	Maintenance bool `json:"maintenance,omitempty"`
}

// Attempt is one try to publish one snapshot.
type Attempt struct {
	Snapshot int64         `json:"snapshot"` // id tried
	Outcome  string        `json:"outcome"`  // committed, lost race, rolled back (a compaction that was in the way), unknown, failed
	Cause    string        `json:"cause,omitempty"`
	Elapsed  time.Duration `json:"elapsedNanos"`
}
