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
