package write

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/schema"
)

// Config is what a writer needs. Everything but Budget, Workers, Listener and
// Mem must be given.
type Config struct {
	Table    string // full name, for events and errors
	FileIO   fileio.FileIO
	Place    layout.Table
	Schema   *schema.Schema // pinned: files carry its id
	Settings Settings
	Format   fileformat.Format
	Restore  Restorer // what the buckets hold already
	Env      env.Env
	Budget   *budget.Budget // nil: the write buffer alone bounds the memory
	Mem      memory.Allocator
	Workers  int // goroutines of a flush; 0 and 1 flush on the caller's
	Listener *event.Listener
}

// Settings are the table options a writer honours, resolved.
type Settings struct {
	Buckets            int32  // bucket: −1 unaware, else the number of buckets
	BucketFunction     string // bucket-function.type
	SequenceFields     []string
	SequenceDescending bool
	RowKindField       string
	IgnoreDelete       bool
	IgnoreUpdateBefore bool
	Engine             merge.Engine
	BufferSize         int64 // write-buffer-size, bytes
	TargetFileSize     int64
	// Ordered: buckets of append tables number their rows on from what they hold
	// (bucket-append-ordered, or a writer that also compacts).
	Ordered          bool
	Thin             bool // data-file.thin-mode
	Stats            run.StatsOptions
	Compression      string // file.compression, or that of level 0
	ZstdLevel        int
	FormatOptions    map[string]string // the table's options, for keys of the format
	DataFilePrefix   string
	FileEnding       string // of data files; "" = the format's name
	PartitionDefault string // partition.default-name
	LegacyPartitions bool   // partition.legacy-name
}

// Bucket names one bucket of one partition.
type Bucket struct {
	Partition binaryrow.Row
	Bucket    int32
}

// Held is what a bucket holds in the latest snapshot.
type Held struct {
	// MaxSequence is the highest sequence number among its live files, −1 without any.
	MaxSequence int64
	// TotalBuckets is the number of buckets of the partition's live files, 0 when
	// it has none.
	TotalBuckets int32
}

// Restorer looks up what buckets hold, all of them in one pass, result by result
// parallel to buckets.
type Restorer interface {
	Restore(ctx context.Context, buckets []Bucket) ([]Held, error)
}
