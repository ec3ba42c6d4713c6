package commitmsg

import (
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
)

// Message is what one (partition, bucket) gained and lost. It is self-contained:
// a committer needs nothing else of the writer (INV-WRITE-4).
type Message struct {
	Partition    binaryrow.Row
	Bucket       int32
	TotalBuckets *int32 // nil = the table's bucket option

	NewFiles, DeletedFiles, ChangelogFiles []*datafile.Meta
	NewIndex, DeletedIndex                 []manifest.IndexEntry
	CompactBefore, CompactAfter            []*datafile.Meta
	CompactChangelog                       []*datafile.Meta
	CompactNewIndex, CompactDeletedIndex   []manifest.IndexEntry
}

// IsEmpty reports a message that changes nothing.
func (m *Message) IsEmpty() bool {
	return len(m.NewFiles)+len(m.DeletedFiles)+len(m.ChangelogFiles)+len(m.NewIndex)+len(m.DeletedIndex)+
		len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog)+
		len(m.CompactNewIndex)+len(m.CompactDeletedIndex) == 0
}
