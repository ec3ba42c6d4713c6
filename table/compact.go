package table

import (
	"time"

	"github.com/tarnlake/tarn/expr"
)

// CompactOptions say what to compact, and how. The zero value compacts the whole
// table in full.
type CompactOptions struct {
	// User is the commit user; "" = drawn.
	User string
	// Identifier names the one commit that all is published with, as one of a stream
	// of commits of User. 0 publishes as it goes, so that what was done before a
	// failure stays, and asks for no name.
	Identifier int64
	// Partitions restricts it to partitions that have, for one of the maps, its value
	// in each column it names, spelt as in a partition path; nil = all.
	Partitions []map[string]string
	// Where restricts it to partitions that match; it names partition columns only.
	Where expr.Expr
	// Buckets restricts it to these buckets; nil = all.
	Buckets []int
	// Minor compacts what the table's options find worth it, as a writer does. In
	// full, every bucket of a primary-key table gets down to one sorted run. Append
	// tables without buckets know no difference: small files are joined.
	Minor bool
	// BytesPerSecond bounds what is written; 0 = as fast as it goes.
	BytesPerSecond int64
	// CommitBytes is how many bytes of files may be compacted before they are
	// published; 0 = a default. See Identifier.
	CommitBytes int64
	// Options override table options (dynamic options); write-only does not matter.
	Options map[string]string
	// Progress is told how far it is, side by side and often; nil = nobody.
	Progress func(CompactProgress)
}

// CompactProgress is how far a compaction is. Bytes are of the files that go in.
type CompactProgress struct {
	Buckets, BucketsDone int
	Bytes, BytesDone     int64
}

// CompactReport says what a compaction did.
type CompactReport struct {
	User      string `json:"user"`
	Buckets   int    `json:"buckets"`   // looked at
	Compacted int    `json:"compacted"` // of them changed
	// Lost are the buckets whose compaction did not fit what others did meanwhile, also
	// after trying again. They are as the others left them.
	Lost        int   `json:"lost,omitempty"`
	FilesBefore int   `json:"filesBefore"` // that went, those that only moved to another level included
	FilesAfter  int   `json:"filesAfter"`  // that came, likewise
	Moved       int   `json:"moved"`       // files that only moved to another level
	BytesBefore int64 `json:"bytesBefore"`
	BytesAfter  int64 `json:"bytesAfter"`
	Rows        int64 `json:"deltaRecordCount"`
	// Snapshots are those published, in order.
	Snapshots []int64       `json:"snapshots"`
	Elapsed   time.Duration `json:"elapsedNanos"`
}
