package split

import (
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
)

// Split is the unit of reading (Java: DataSplit).
type Split struct {
	SnapshotID   int64
	Partition    binaryrow.Row
	Bucket       int32
	BucketPath   string // directory of the bucket, as the writer of the split sees it
	TotalBuckets *int32
	Files        []*datafile.Meta
	Deletions    []*DeletionFile // parallel to Files, or nil
	Streaming    bool
	// RawConvertible: every row of every file is live and final, so the files can
	// be read one after another without a merge.
	RawConvertible bool
}

// DeletionFile locates the deletion vector of one data file.
type DeletionFile struct {
	Path           string
	Offset, Length int64
	Cardinality    *int64
}

// RowCount is the number of physical rows in the split's files.
func (s *Split) RowCount() int64 {
	var n int64
	for _, f := range s.Files {
		n += f.RowCount
	}
	return n
}
