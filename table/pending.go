package table

import "time"

// PendingCommit is a snapshot that a commit has set out to make and whose outcome
// is not known: the commit is at work, its process has died, or it ended in doubt.
type PendingCommit struct {
	User       string    `json:"user"`
	Identifier int64     `json:"identifier"`
	Kind       string    `json:"kind"`         // APPEND, OVERWRITE, COMPACT; "" when it is not known
	Base       int64     `json:"baseSnapshot"` // on which it was first tried, 0 = none
	Begun      time.Time `json:"begun,omitzero"`
	Files      []string  `json:"files,omitempty"` // data files that it adds or removes
	Error      string    `json:"error,omitempty"` // how it ended, when it could say that
}

// CommitFilter says which commits to resolve. The zero value: all that are pending.
type CommitFilter struct {
	User       string // "" = of all users
	Identifier int64  // with User: of a stream's commit, also one that is not pending; 0 = all
	// Grace is how long after it was last heard of a commit is taken to be at work
	// still; 0 = ten minutes. Less only when its process is known to be gone.
	Grace time.Duration
}

// Resolution is what was found out about a commit.
type Resolution struct {
	PendingCommit
	// Status is SUCCEEDED when it has landed, FAILED when it certainly has not,
	// UNKNOWN when nobody can tell yet.
	Status   Status `json:"status"`
	Snapshot int64  `json:"snapshot,omitempty"` // that it has made
	// The ids of the snapshots that were read, both included; 0 = there was none.
	ReadFrom int64  `json:"readFrom,omitempty"`
	ReadTo   int64  `json:"readTo,omitempty"`
	Missing  string `json:"missing,omitempty"` // what it would take to know
}
