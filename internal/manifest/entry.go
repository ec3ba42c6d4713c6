package manifest

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
)

// Kind says whether an entry adds a file or removes it.
type Kind int8

const (
	Add    Kind = 0
	Delete Kind = 1
)

// String is ADD or DELETE.
func (k Kind) String() string {
	if k == Delete {
		return "DELETE"
	}
	return "ADD"
}

// Entry is one change of the set of data files.
type Entry struct {
	Kind      Kind
	Partition binaryrow.Row
	Bucket    int32
	// TotalBuckets is the bucket count when the file was written (−1 dynamic or
	// unaware, −2 postpone); changing the table's option never rewrites it.
	TotalBuckets int32
	File         *datafile.Meta
}

// Identity is what ADD and DELETE cancel by: partition, bucket and the file's identity.
func (e Entry) Identity() string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(e.Bucket))
	return string(e.Partition) + string(b[:]) + e.File.Identity()
}

// FileMeta is one manifest in a manifest list. Nil pointers are unknown: never
// prune on them.
type FileMeta struct {
	FileName           string
	FileSize           int64
	Added, Deleted     int64 // entries of each kind
	PartitionStats     datafile.Stats
	SchemaID           int64
	MinBucket          *int32
	MaxBucket          *int32
	MinLevel, MaxLevel *int32
	MinRowID, MaxRowID *int64
}

// IndexEntry is one line of an index manifest.
type IndexEntry struct {
	Kind         Kind
	Partition    binaryrow.Row
	Bucket       int32
	IndexType    string // HASH, DELETION_VECTORS, or a global index type
	FileName     string
	FileSize     int64
	RowCount     int64
	Vectors      []VectorRange // nil = null
	ExternalPath *string
	Global       *GlobalIndex
}

// VectorRange locates the deletion vector of one data file inside an index file.
type VectorRange struct {
	DataFile       string
	Offset, Length int32
	Cardinality    *int64
}

// GlobalIndex describes a global index file.
type GlobalIndex struct {
	RowRangeStart, RowRangeEnd int64 // inclusive
	FieldID                    int32
	ExtraFieldIDs              []int32
	Meta, SourceMeta           []byte
}
