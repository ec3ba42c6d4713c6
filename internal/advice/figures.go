package advice

import (
	"fmt"
	"time"

	"github.com/tarnlake/tarn/option"
)

// Figures are what a table's metadata tell of it.
type Figures struct {
	Table      string // as commands name it
	PrimaryKey bool
	Options    option.Options
	Now        time.Time

	Buckets   []BucketFigures // that hold files
	Snapshots SnapshotFigures
	Consumers []ConsumerFigures
	Pending   []PendingFigures
	Manifests ManifestFigures
	// EndlessTags is how many tags there are where they are made by themselves and
	// nothing says when they go; 0 elsewhere.
	EndlessTags int
}

// BucketFigures are those of one bucket of a partition.
type BucketFigures struct {
	Partition string // as the flag --partition takes it, "" without partitions
	Number    int32  // 0 for append tables without buckets
	Total     int32  // buckets of the partition; -1 where their number is not fixed
	Bytes     int64
	Files     int
	Runs      int       // sorted runs, of key tables
	Unsettled int       // files that a looked-up or full changelog is still to come of
	Oldest    time.Time // when the first of them was written
	Joinable  int       // files of append tables that the options find worth joining
}

// SnapshotFigures are those of a table's history. IDs are 0 without snapshots.
type SnapshotFigures struct {
	Earliest, Latest int64
	EarliestTime     time.Time
	// Young is the first snapshot within snapshot.time-retained, one above the latest when there
	// is none.
	Young int64
	// EarliestChange is the oldest snapshot or changelog that can be read.
	EarliestChange int64
	// Recent is how many of the latest snapshots were looked at, Compactions how many
	// of them compacted.
	Recent, Compactions int
}

// ConsumerFigures are those of a named reader.
type ConsumerFigures struct {
	ID       string
	Next     int64
	NextTime time.Time // when the snapshot was made that it reads next; zero = it is not there
}

// PendingFigures are those of a commit whose outcome is not known.
type PendingFigures struct {
	User       string
	Identifier string // for people
	Base       int64  // the snapshot on which it was first tried
	Begun      time.Time
}

// ManifestFigures are those of the manifests that a plan of the latest snapshot reads.
type ManifestFigures struct {
	Count, Small int   // Small: below manifest.target-file-size
	Entries      int64 // in all of them
	Files        int64 // live
}

// due is the id before which all snapshots are beyond retention, whoever may hold
// them. Source: paimon-core table/ExpireSnapshotsImpl.
func (f *Figures) due() int64 {
	s, r := f.Snapshots, f.Options.Retention
	if s.Latest == 0 || r.Min > r.Max || r.Min < 1 {
		return s.Earliest
	}
	from := max(s.Latest-int64(r.Max)+1, s.Earliest)
	end := s.Latest - int64(r.Min) + 1
	if end > from {
		end = max(from, min(end, s.Young))
	}
	return max(end, s.Earliest)
}

// held is the id from which consumers and open commits hold snapshots, far away where
// none does.
func (f *Figures) held() int64 {
	lowest := int64(1<<63 - 1)
	for _, p := range f.Pending {
		lowest = min(lowest, p.Base+1)
	}
	if f.Options.Retention.ChangelogOnly {
		return lowest
	}
	for _, c := range f.Consumers {
		lowest = min(lowest, c.Next)
	}
	return lowest
}

// where names a bucket.
func (b *BucketFigures) where(unaware bool) string {
	switch {
	case unaware && b.Partition == "":
		return "table"
	case unaware:
		return b.Partition
	case b.Partition == "":
		return fmt.Sprintf("bucket %d", b.Number)
	}
	return fmt.Sprintf("%s, bucket %d", b.Partition, b.Number)
}

// partition is one partition's buckets together.
type partition struct {
	name    string
	total   int32
	bytes   int64
	largest *BucketFigures
}

// partitions adds up the buckets of each partition whose number of buckets is fixed,
// in their order.
func (f *Figures) partitions() []*partition {
	var out []*partition
	at := map[string]*partition{}
	for i := range f.Buckets {
		b := &f.Buckets[i]
		if b.Total < 1 {
			continue
		}
		p := at[b.Partition]
		if p == nil {
			p = &partition{name: b.Partition, total: b.Total, largest: b}
			at[b.Partition] = p
			out = append(out, p)
		}
		p.bytes += b.Bytes
		if b.Bytes > p.largest.Bytes {
			p.largest = b
		}
	}
	return out
}

// where names a partition.
func (p *partition) where() string {
	if p.name == "" {
		return "table"
	}
	return p.name
}

func (p *partition) mean() int64 { return p.bytes / int64(p.total) }
