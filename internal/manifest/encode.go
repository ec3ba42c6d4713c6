package manifest

import (
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
)

// appendEntry appends an entry as the schema of manifests has it.
func appendEntry(dst []byte, e *Entry) []byte {
	dst = appendLong(dst, entryVersion)
	dst = appendLong(dst, int64(e.Kind))
	dst = appendBytes(dst, e.Partition)
	dst = appendLong(dst, int64(e.Bucket))
	dst = appendLong(dst, int64(e.TotalBuckets))
	return appendMeta(dst, e.File)
}

func appendMeta(dst []byte, m *datafile.Meta) []byte {
	dst = appendString(dst, m.FileName)
	dst = appendLong(dst, m.FileSize)
	dst = appendLong(dst, m.RowCount)
	dst = appendBytes(dst, orEmpty(m.MinKey))
	dst = appendBytes(dst, orEmpty(m.MaxKey))
	dst = appendStats(dst, m.KeyStats)
	dst = appendStats(dst, m.ValueStats)
	dst = appendLong(dst, m.MinSequence)
	dst = appendLong(dst, m.MaxSequence)
	dst = appendLong(dst, m.SchemaID)
	dst = appendLong(dst, int64(m.Level))
	dst = appendStrings(dst, m.ExtraFiles)
	dst = appendOptLong(dst, m.CreationMillis)
	dst = appendOptLong(dst, m.DeleteRowCount)
	dst = appendOptBytes(dst, m.EmbeddedIndex)
	if m.FileSource == nil {
		dst = append(dst, nullBranch)
	} else {
		dst = appendLong(append(dst, valueBranch), int64(*m.FileSource))
	}
	dst = appendOptStrings(dst, m.ValueStatsCols)
	dst = appendOptString(dst, m.ExternalPath)
	dst = appendOptLong(dst, m.FirstRowID)
	return appendOptStrings(dst, m.WriteCols)
}

// orEmpty stands in the empty row for one that was never set.
func orEmpty(r binaryrow.Row) binaryrow.Row {
	if r == nil {
		return binaryrow.Empty
	}
	return r
}

func appendStats(dst []byte, s datafile.Stats) []byte {
	dst = appendBytes(dst, orEmpty(s.Min))
	dst = appendBytes(dst, orEmpty(s.Max))
	if s.NullCounts == nil {
		return append(dst, nullBranch)
	}
	dst = append(dst, valueBranch)
	if len(s.NullCounts) > 0 {
		dst = appendLong(dst, int64(len(s.NullCounts)))
		for _, n := range s.NullCounts {
			dst = appendOptLong(dst, n)
		}
	}
	return append(dst, 0)
}

// appendFileMeta appends a line of a manifest list.
func appendFileMeta(dst []byte, m *FileMeta) []byte {
	dst = appendLong(dst, entryVersion)
	dst = appendString(dst, m.FileName)
	dst = appendLong(dst, m.FileSize)
	dst = appendLong(dst, m.Added)
	dst = appendLong(dst, m.Deleted)
	dst = appendStats(dst, m.PartitionStats)
	dst = appendLong(dst, m.SchemaID)
	dst = appendOptLong(dst, m.MinBucket)
	dst = appendOptLong(dst, m.MaxBucket)
	dst = appendOptLong(dst, m.MinLevel)
	dst = appendOptLong(dst, m.MaxLevel)
	dst = appendOptLong(dst, m.MinRowID)
	return appendOptLong(dst, m.MaxRowID)
}

// appendIndexEntry appends a line of an index manifest.
func appendIndexEntry(dst []byte, e *IndexEntry) []byte {
	dst = appendLong(dst, indexVersion)
	dst = appendLong(dst, int64(e.Kind))
	dst = appendBytes(dst, e.Partition)
	dst = appendLong(dst, int64(e.Bucket))
	dst = appendString(dst, e.IndexType)
	dst = appendString(dst, e.FileName)
	dst = appendLong(dst, e.FileSize)
	dst = appendLong(dst, e.RowCount)
	if e.Vectors == nil {
		dst = append(dst, nullBranch)
	} else {
		dst = append(dst, valueBranch)
		if len(e.Vectors) > 0 {
			dst = appendLong(dst, int64(len(e.Vectors)))
			for _, v := range e.Vectors {
				dst = appendString(append(dst, valueBranch), v.DataFile)
				dst = appendLong(appendLong(dst, int64(v.Offset)), int64(v.Length))
				dst = appendOptLong(dst, v.Cardinality)
			}
		}
		dst = append(dst, 0)
	}
	dst = appendOptString(dst, e.ExternalPath)
	if e.Global == nil {
		return append(dst, nullBranch)
	}
	return appendGlobal(append(dst, valueBranch), e.Global)
}

func appendGlobal(dst []byte, g *GlobalIndex) []byte {
	dst = appendLong(appendLong(dst, g.RowRangeStart), g.RowRangeEnd)
	dst = appendLong(dst, int64(g.FieldID))
	if g.ExtraFieldIDs == nil {
		dst = append(dst, nullBranch)
	} else {
		dst = append(dst, valueBranch)
		if len(g.ExtraFieldIDs) > 0 {
			dst = appendLong(dst, int64(len(g.ExtraFieldIDs)))
			for _, id := range g.ExtraFieldIDs {
				dst = appendLong(dst, int64(id))
			}
		}
		dst = append(dst, 0)
	}
	return appendOptBytes(dst, g.Meta)
}
