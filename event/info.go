package event

import "time"

// CommitBegin tells that a commit starts.
type CommitBegin struct {
	Table      string
	User       string
	Identifier int64
	Messages   int
}

// AttemptEnd tells how one try to publish one snapshot ended.
type AttemptEnd struct {
	Table    string
	User     string
	Snapshot int64  // id tried
	Number   int    // 1 for the first try of this snapshot
	Outcome  string // committed, lost race, unknown, failed
	Err      error
	Elapsed  time.Duration
}

// CommitConflict tells that a commit was found not to fit what another one did.
// The commit fails by it, unless a compaction was in the way and was undone.
type CommitConflict struct {
	Table     string
	User      string
	Operation string // APPEND, OVERWRITE, COMPACT: the snapshot that does not fit
	Check     string // which check found it
	Partition string // k=v/k=v, "" without partition keys or when it is of no one partition
	Bucket    int    // −1 when it is of no one bucket
	// The other commit, where it is known.
	OtherUser      string
	OtherOperation string
	OtherSnapshot  int64
	// Maintenance: one of the two is a compaction and the other is not, so that
	// upkeep and writing tread on each other.
	Maintenance bool
}

// SnapshotDisplaced tells that a snapshot which this process had made is not in
// the table's history any more: another program has published over it, or the
// table was rolled back behind it. The next commit to the table notices, once.
type SnapshotDisplaced struct {
	Table      string
	Snapshot   int64 // that is missing
	User       string
	Identifier int64
	Operation  string // APPEND, OVERWRITE, ANALYZE
	OtherUser  string // whose snapshot has the id now, "" when none has
	Latest     int64  // newest snapshot that is there, 0 = none
}

// Phases is where the time of a commit went. What is missing to the whole is
// clean-up and callbacks.
type Phases struct {
	Queue   time.Duration `json:"queueNanos"`   // waiting for other commits of the process
	Read    time.Duration `json:"readNanos"`    // latest snapshot, the table's identity, earlier tries
	Check   time.Duration `json:"checkNanos"`   // conflicts
	Write   time.Duration `json:"writeNanos"`   // manifests and lists
	Intent  time.Duration `json:"intentNanos"`  // making the intent durable
	Publish time.Duration `json:"publishNanos"` // the atomic step
	Backoff time.Duration `json:"backoffNanos"` // waiting between tries
}

// Add adds the time of other.
func (p *Phases) Add(other Phases) {
	p.Queue += other.Queue
	p.Read += other.Read
	p.Check += other.Check
	p.Write += other.Write
	p.Intent += other.Intent
	p.Publish += other.Publish
	p.Backoff += other.Backoff
}

// CommitEnd tells how a commit ended.
type CommitEnd struct {
	Table        string
	User         string
	Identifier   int64
	Status       string // SUCCEEDED, FAILED, UNKNOWN
	Reason       string // error kind when not SUCCEEDED
	Base         int64
	Snapshots    []int64
	Attempts     int
	FilesAdded   int
	FilesDeleted int
	Rows         int64
	Bytes        int64 // of the files added
	BytesDeleted int64 // of the files deleted
	Rewritten    int64 // bytes of manifests that were merged on the way
	// RolledBack are the ids of compactions that were undone to make room.
	RolledBack []int64
	Already    bool // nothing was published, the user had committed the identifier before
	Ahead      int  // commits of this process that went first
	Phases     Phases
	Err        error
	Elapsed    time.Duration
}

// FlushEnd tells that rows of a write buffer became files of one bucket.
type FlushEnd struct {
	Table     string
	Partition string // k=v/k=v, "" without partition keys
	Bucket    int
	Files     int
	RowsIn    int64
	RowsOut   int64 // after merging rows of one key
	Bytes     int64
	Elapsed   time.Duration
	Err       error
}

// SpillEnd tells that rows of a write buffer went to temporary files.
type SpillEnd struct {
	Table   string
	Rows    int64
	Bytes   int64 // on disk
	Elapsed time.Duration
	Err     error
}

// CompactWait tells that a write waited for the compaction of a bucket, which had
// too many sorted runs (num-sorted-run.stop-trigger).
type CompactWait struct {
	Table     string
	Partition string
	Bucket    int
	Runs      int // sorted runs when the wait began
	Elapsed   time.Duration
}

// CompactEnd tells that files of one bucket were rewritten.
type CompactEnd struct {
	Table       string
	Partition   string
	Bucket      int
	FilesBefore int
	FilesAfter  int
	BytesBefore int64
	BytesAfter  int64
	Elapsed     time.Duration
	Err         error
}

// ScanPlanned tells what planning a scan read and left out.
type ScanPlanned struct {
	Table            string
	Snapshot         int64 // 0 when the table has none
	ManifestsRead    int
	ManifestsSkipped int
	FilesKept        int
	FilesSkipped     int
	Splits           int
	Elapsed          time.Duration
}

// StorageCall tells about one call of a FileIO.
type StorageCall struct {
	Method  string // open, read, create, write, close, create-if-absent, replace, delete, list, stat, rename, delete-all, make-dir
	Path    string
	Bytes   int64
	Elapsed time.Duration
	Err     error
}

// Warning tells something a person should know that stopped nothing: a hint
// file that could not be written, a clean-up left to the orphan job.
type Warning struct {
	Table string
	Doing string // gerund and object, as in errors
	Err   error
}

func (i CommitBegin) tell(l *Listener)       { call(l.CommitBegin, i) }
func (i AttemptEnd) tell(l *Listener)        { call(l.AttemptEnd, i) }
func (i CommitEnd) tell(l *Listener)         { call(l.CommitEnd, i) }
func (i CommitConflict) tell(l *Listener)    { call(l.CommitConflict, i) }
func (i SnapshotDisplaced) tell(l *Listener) { call(l.SnapshotDisplaced, i) }
func (i FlushEnd) tell(l *Listener)          { call(l.FlushEnd, i) }
func (i SpillEnd) tell(l *Listener)          { call(l.SpillEnd, i) }
func (i CompactWait) tell(l *Listener)       { call(l.CompactWait, i) }
func (i CompactEnd) tell(l *Listener)        { call(l.CompactEnd, i) }
func (i ScanPlanned) tell(l *Listener)       { call(l.ScanPlanned, i) }
func (i StorageCall) tell(l *Listener)       { call(l.StorageCall, i) }
func (i Warning) tell(l *Listener)           { call(l.Warning, i) }
