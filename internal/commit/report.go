package commit

import (
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// Status is how a commit ended.
type Status string

const (
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	// Undecided: nobody can tell yet. Nothing may be repeated or deleted.
	Undecided Status = "UNKNOWN"
)

// Report is the evidence a commit leaves, whatever its end.
type Report struct {
	Status     Status
	Reason     string // error kind when not Succeeded
	User       string
	Identifier int64
	Base       int64 // snapshot the last try built on, 0 = none
	Attempts   []Attempt
	Snapshots  []*snapshot.Snapshot // published, in order
	FilesAdded int
	FilesGone  int
	Rows       int64
	Bytes      int64
	BytesGone  int64
	Elapsed    time.Duration
	// Rewritten is how many bytes of manifests were merged on the way.
	Rewritten int64
	// Decoded is how many entries of manifests were decoded, to be checked or merged.
	Decoded int64
	// Ahead is how many commits of this process went first.
	Ahead int
	// Phases is where the time went.
	Phases event.Phases
	// Conflicts are those found, also where a compaction was undone for them.
	Conflicts []Conflict
	// RolledBack are the ids of compactions that were undone to make room.
	RolledBack []int64
	// Displaced are snapshots that this process had made before and that are not in
	// the table's history any more.
	Displaced []Displaced
	// Compaction is why the compaction of a commit did not land whose rows did.
	Compaction error
	// Already is true when nothing was published because this user had committed
	// the identifier before.
	Already bool
	// Callbacks are those that ran after the commit had landed, in order.
	Callbacks []CallbackOutcome
}

// Attempt is one try to publish one snapshot.
type Attempt struct {
	Snapshot int64  // id tried
	Outcome  string // committed, lost race, rolled back (a compaction that was in the way), unknown, failed
	Cause    string
	Elapsed  time.Duration
}

// IDs are the ids of the snapshots published.
func (r *Report) IDs() []int64 {
	var out []int64
	for _, s := range r.Snapshots {
		out = append(out, s.ID)
	}
	return out
}

// add counts what a published change did.
func (r *Report) add(c *change) {
	for _, e := range c.files {
		if e.Kind == manifest.Add {
			r.FilesAdded++
			r.Bytes += e.File.FileSize
		} else {
			r.FilesGone++
			r.BytesGone += e.File.FileSize
		}
	}
	r.Rows += c.records()
}
