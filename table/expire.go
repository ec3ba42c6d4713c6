package table

import "time"

// ExpireOptions say what may go. The zero value does what the table's options say.
type ExpireOptions struct {
	// Options override table options (dynamic options): snapshot.num-retained.min and
	// max, snapshot.time-retained, snapshot.expire.limit, the same of changelogs,
	// consumer.expiration-time and so on.
	Options map[string]string
	// OlderThan spares snapshots made at or after it; zero = snapshot.time-retained ago.
	// Decoupled changelogs go by changelog.time-retained all the same.
	OlderThan time.Time
	// DryRun plans and reports, and changes nothing.
	DryRun bool
	// Progress is told how far it is, often and one call at a time; nil = nobody.
	Progress func(ExpireProgress)
}

// ExpireProgress is how far an expiry is.
type ExpireProgress struct {
	Files, FilesDone int64 // to delete; deleted, or found undeletable
}

// ExpireReport says what an expiry removed (with DryRun: would remove), and what held
// the rest.
type ExpireReport struct {
	Snapshots  []int64  `json:"snapshots"`            // expired, ascending
	Changelogs []int64  `json:"changelogs,omitempty"` // decoupled changelogs expired, ascending
	Consumers  []string `json:"consumers,omitempty"`  // that consumer.expiration-time removed
	// Files are those of data, manifests, indexes and statistics that are of no use any
	// more; the files of snapshots and changelogs themselves do not count.
	Files        int `json:"files"`
	FilesDeleted int `json:"filesDeleted"` // or found gone
	// FilesFailed could not be deleted. Nothing names them any more, so that a clean-up
	// of orphan files finds them.
	FilesFailed int `json:"filesFailed,omitempty"`
	// FilesHeld were planned, and spared as a tag or branch made meanwhile needs them.
	FilesHeld int   `json:"filesHeld,omitempty"`
	Bytes     int64 `json:"bytes"` // of the data files planned, as the manifests say
	// Held is what keeps snapshots that would have gone otherwise.
	Held []ExpireHold `json:"held,omitempty"`
	// Resumed is the record of a run that had begun and not ended, and that this one finished: it
	// was interrupted or is at work at this moment, which cannot be told apart; ""
	// = there was none. What it removed counts in FilesDeleted and FilesFailed only.
	Resumed string `json:"resumed,omitempty"`
	// Record is the name of the record that this run left; "" = it had nothing to do.
	Record  string        `json:"record,omitempty"`
	DryRun  bool          `json:"dryRun,omitempty"`
	Elapsed time.Duration `json:"elapsedNanos"`
}

// Kinds of ExpireHold.By.
const (
	HeldByConsumer = "consumer"     // it has not read them yet
	HeldByCommit   = "commit"       // its outcome is open
	HeldByLimit    = "expire-limit" // snapshot.expire.limit: the next run goes on
)

// ExpireHold is one reason why snapshots stay that retention asks to go.
type ExpireHold struct {
	By       string `json:"by"`             // consumer, commit or expire-limit
	Name     string `json:"name,omitempty"` // of the consumer; user and identifier of the commit
	Snapshot int64  `json:"snapshot"`       // the oldest it keeps
	Hint     string `json:"hint,omitempty"` // a way out
}
