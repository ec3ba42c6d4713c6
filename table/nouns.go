package table

import (
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/split"
)

// Message is what a writer hands to a committer. It is opaque; MarshalBinary
// gives the bytes of Java's CommitMessageSerializer.
type Message struct{ m *commitmsg.Message }

// Split is a unit of reading. It is opaque; MarshalBinary gives the bytes of
// Java's DataSplit.
type Split struct{ s *split.Split }

// RowCount is the number of physical rows of the split before merge and filter.
func (s Split) RowCount() int64 {
	if s.s == nil {
		return 0
	}
	return s.s.RowCount()
}

// LiveRows is the number of rows that reading the split without a filter gives, where
// metadata tell; known is false where only reading tells.
func (s Split) LiveRows() (n int64, known bool) {
	if s.s == nil {
		return 0, false
	}
	return s.s.LiveRows()
}

// Bucket is the bucket the split belongs to.
func (s Split) Bucket() int {
	if s.s == nil {
		return 0
	}
	return int(s.s.Bucket)
}

// Files is the number of data files in the split.
func (s Split) Files() int {
	if s.s == nil {
		return 0
	}
	return len(s.s.Files)
}

// Pieces cuts a split whose rows need no merge into pieces of about rows rows,
// which can be read side by side with Table.Read. A split that needs a merge is
// its own only piece. Pieces have no bytes: they stay in the process.
func (s Split) Pieces(rows int64) []Split {
	if s.s == nil {
		return []Split{s}
	}
	var out []Split
	for _, p := range s.s.Pieces(rows) {
		out = append(out, Split{p})
	}
	return out
}

// DataFile is a Parquet file whose rows are rows of the table as they stand.
type DataFile struct {
	URI        string
	Size, Rows int64
	SchemaID   int64 // of the schema it was written under
}

// Plain takes the files from the split that any reader of Parquet can read in
// its place: none of their rows is to be merged, and none deleted. Of these it
// takes those that wanted says yes to. The rest is the split of the other files;
// ok is false when there are none.
func (s Split) Plain(wanted func(DataFile) bool) (files []DataFile, rest Split, ok bool) {
	if s.s == nil || !s.s.RawConvertible || s.s.Part != nil {
		return nil, s, s.s != nil
	}
	other := *s.s
	other.Files, other.Deletions = nil, nil
	for i, f := range s.s.Files {
		deleted := i < len(s.s.Deletions) && s.s.Deletions[i] != nil
		if f.Format() == "parquet" && !deleted && len(f.WriteCols) == 0 && f.DeleteRowCount != nil && *f.DeleteRowCount == 0 {
			uri := s.s.BucketPath + "/" + f.FileName
			if f.ExternalPath != nil {
				uri = *f.ExternalPath
			}
			if file := (DataFile{URI: uri, Size: f.FileSize, Rows: f.RowCount, SchemaID: f.SchemaID}); wanted(file) {
				files = append(files, file)
				continue
			}
		}
		other.Files = append(other.Files, f)
		if s.s.Deletions != nil {
			other.Deletions = append(other.Deletions, s.s.Deletions[i])
		}
	}
	if len(files) == 0 {
		return nil, s, true
	}
	return files, Split{&other}, len(other.Files) > 0
}

// Snapshot is one version of the table, as its snapshot file has it.
type Snapshot = snapshot.Snapshot

// WrapMessage and the three functions below are for implementations of Table.
func WrapMessage(m *commitmsg.Message) Message { return Message{m} }

// UnwrapMessage returns what WrapMessage wrapped.
func UnwrapMessage(m Message) *commitmsg.Message { return m.m }

// WrapSplit makes a Split of the internal noun.
func WrapSplit(s *split.Split) Split { return Split{s} }

// UnwrapSplit returns what WrapSplit wrapped.
func UnwrapSplit(s Split) *split.Split { return s.s }
