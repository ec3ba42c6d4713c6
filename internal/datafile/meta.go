package datafile

import (
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/binaryrow"
)

// Source tells how a file came to be.
type Source int8

const (
	Append  Source = 0 // flushed from a write buffer
	Compact Source = 1 // written by a compaction
)

// String is the name `$files` shows.
func (s Source) String() string {
	if s == Compact {
		return "COMPACT"
	}
	return "APPEND"
}

// Stats are the column statistics of a file: minima and maxima as one row each
// and a null count per column (nil = unknown). A column without statistics has
// null minimum and maximum.
type Stats struct {
	Min, Max   binaryrow.Row
	NullCounts []*int64
}

// EmptyStats are statistics over no columns.
func EmptyStats() Stats {
	return Stats{Min: binaryrow.Empty, Max: binaryrow.Empty, NullCounts: []*int64{}}
}

// Meta is one data file as manifests describe it (Java: DataFileMeta). Nil
// pointers and nil slices of optional columns mean null. Immutable once shared.
type Meta struct {
	FileName string
	FileSize int64 // bytes
	RowCount int64 // adds and deletes
	// MinKey and MaxKey are exact trimmed primary keys; binaryrow.Empty in append tables.
	MinKey, MaxKey binaryrow.Row
	KeyStats       Stats
	ValueStats     Stats
	MinSequence    int64
	MaxSequence    int64
	SchemaID       int64
	Level          int32
	ExtraFiles     []string // side files in the same directory
	// CreationMillis is the writer's local wall clock stored as if it were UTC.
	CreationMillis *int64
	DeleteRowCount *int64 // retract rows
	EmbeddedIndex  []byte
	FileSource     *Source
	// ValueStatsCols names the columns of ValueStats in schema order: nil = all
	// columns of the file, empty = none.
	ValueStatsCols []string
	ExternalPath   *string // full URI when the file lies outside the table
	FirstRowID     *int64
	WriteCols      []string // columns in the file, nil = all of its schema
	// WriteColsSequences is read and carried, never written (Paimon 2.1).
	WriteColsSequences []int64
}

// Identity is what ADD and DELETE entries cancel by, beside partition and
// bucket: a level change of one name is another identity.
func (m *Meta) Identity() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(int(m.Level)))
	for _, s := range append([]string{m.FileName}, m.ExtraFiles...) {
		b.WriteByte(0)
		b.WriteString(s)
	}
	b.WriteByte(1)
	b.Write(m.EmbeddedIndex)
	if m.ExternalPath != nil {
		b.WriteByte(2)
		b.WriteString(*m.ExternalPath)
	}
	return b.String()
}

// Format is the file format by the name's ending: "parquet", "orc", "avro" ….
func (m *Meta) Format() string {
	parts := strings.Split(m.FileName, ".")
	if len(parts) < 2 {
		return ""
	}
	last := parts[len(parts)-1]
	switch last {
	case "gz", "bz2", "deflate", "snappy", "lz4", "zst":
		if len(parts) > 2 {
			return parts[len(parts)-2]
		}
	}
	return last
}
