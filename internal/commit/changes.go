package commit

import (
	"slices"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// change is one snapshot to be made: what it adds and removes.
type change struct {
	kind      snapshot.CommitKind
	files     []manifest.Entry
	changelog []manifest.Entry
	index     []manifest.IndexEntry
	// rowIDs is how many row ids the files were given.
	rowIDs int64
	// statistics are of an ANALYZE.
	statistics *snapshot.Statistics
	// checked: the change is checked for conflicts. Files that are only added
	// cannot conflict.
	checked bool
	// yields: a compaction that stands in the way is undone, it can be made again.
	yields bool
}

func (c *change) empty() bool { return len(c.files)+len(c.changelog)+len(c.index) == 0 }

// records is the number of rows added less those removed, before any merge.
func (c *change) records() int64 {
	var n int64
	for _, e := range c.files {
		if e.Kind == manifest.Add {
			n += e.File.RowCount
		} else {
			n -= e.File.RowCount
		}
	}
	return n
}

// changesOf sorts messages into the snapshots to be made, at most two: what was
// written, then what was compacted. buckets is the table's bucket option, for
// messages that do not say how many buckets there were.
//
// A snapshot of new files is an APPEND; one that also removes files or changes
// deletion vectors is an OVERWRITE, which is checked and to which compactions
// yield (P3); one of compactions is a COMPACT, which is checked.
func changesOf(messages []*commitmsg.Message, buckets int32) (written, compacted change) {
	written.kind, compacted.kind = snapshot.Append, snapshot.Compact
	compacted.checked = true
	for _, m := range messages {
		total := buckets
		if m.TotalBuckets != nil {
			total = *m.TotalBuckets
		}
		entries := func(to []manifest.Entry, kind manifest.Kind, files []*datafile.Meta) []manifest.Entry {
			for _, f := range files {
				to = append(to, manifest.Entry{Kind: kind, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: total, File: f})
			}
			return to
		}
		index := func(to []manifest.IndexEntry, kind manifest.Kind, files []manifest.IndexEntry) []manifest.IndexEntry {
			for _, f := range files {
				f.Kind, f.Partition, f.Bucket = kind, m.Partition, m.Bucket
				to = append(to, f)
			}
			return to
		}
		written.files = entries(written.files, manifest.Add, m.NewFiles)
		written.files = entries(written.files, manifest.Delete, m.DeletedFiles)
		written.changelog = entries(written.changelog, manifest.Add, m.ChangelogFiles)
		written.index = index(written.index, manifest.Delete, m.DeletedIndex)
		written.index = index(written.index, manifest.Add, m.NewIndex)
		compacted.files = entries(compacted.files, manifest.Delete, m.CompactBefore)
		compacted.files = entries(compacted.files, manifest.Add, m.CompactAfter)
		compacted.changelog = entries(compacted.changelog, manifest.Add, m.CompactChangelog)
		compacted.index = index(compacted.index, manifest.Delete, m.CompactDeletedIndex)
		compacted.index = index(compacted.index, manifest.Add, m.CompactNewIndex)
	}
	if written.removes() {
		written.kind, written.checked, written.yields = snapshot.Overwrite, true, true
	}
	return written, compacted
}

// Compactions are the messages without what was written: to abort a compaction
// that did not land beside the rows that did.
func Compactions(messages []*commitmsg.Message) (out []*commitmsg.Message) {
	for _, m := range messages {
		out = append(out, &commitmsg.Message{
			Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets,
			CompactBefore: m.CompactBefore, CompactAfter: m.CompactAfter, CompactChangelog: m.CompactChangelog,
			CompactNewIndex: m.CompactNewIndex, CompactDeletedIndex: m.CompactDeletedIndex,
		})
	}
	return out
}

// removes reports that the change removes files or rows.
func (c *change) removes() bool {
	return c.changesVectors() || slices.ContainsFunc(c.files, func(e manifest.Entry) bool { return e.Kind == manifest.Delete })
}

// changesVectors reports that the change has to do with deletion vectors.
func (c *change) changesVectors() bool {
	return slices.ContainsFunc(c.index, func(e manifest.IndexEntry) bool { return e.IndexType == deletionVectors })
}

// check refuses a change that contradicts itself, before anything is written:
// one file added twice, or files of one partition that disagree about its number
// of buckets (P10, checks a and b within the change).
func (c *change) check() error {
	const op = "committing messages"
	if _, twice := mergePaired(pairedWith(c.files, nil)); twice != nil {
		return tarnerr.New(tarnerr.Invalid, op, "one file is added twice", "file", twice.File.FileName, "bucket", twice.Bucket, "level", twice.File.Level).
			WithHint("Commit each message once.")
	}
	if c.kind == snapshot.Overwrite {
		return nil
	}
	if a, b := bucketCounts(c.files); a != nil {
		return tarnerr.New(tarnerr.Invalid, op, "files of one partition were written with different numbers of buckets",
			"file", b.File.FileName, "buckets", b.TotalBuckets, "others", a.TotalBuckets).
			WithHint("Write the messages again with the table's present number of buckets.")
	}
	return nil
}

// same reports that two changes do the same to the same files.
func (c *change) same(d *change) bool {
	return slices.EqualFunc(c.files, d.files, func(x, y manifest.Entry) bool {
		return x.Kind == y.Kind && (x.File == y.File || x.Identity() == y.Identity() && sameTracking(x.File, y.File))
	}) && len(c.changelog) == len(d.changelog) && c.statistics == d.statistics
}

// partitions are those the change touches: of its files, and of its deletion
// vectors.
func (c *change) partitions() map[string]bool {
	out := map[string]bool{}
	for _, e := range c.files {
		if !out[string(e.Partition)] {
			out[string(e.Partition)] = true
		}
	}
	for _, e := range c.index {
		if e.IndexType == deletionVectors {
			out[string(e.Partition)] = true
		}
	}
	return out
}
