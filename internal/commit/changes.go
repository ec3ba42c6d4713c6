package commit

import (
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
// deletion vectors is an OVERWRITE; one of compactions is a COMPACT.
func changesOf(messages []*commitmsg.Message, buckets int32) (written, compacted change) {
	written.kind, compacted.kind = snapshot.Append, snapshot.Compact
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
	if written.overwrites() {
		written.kind = snapshot.Overwrite
	}
	return written, compacted
}

// deletionVectors is the index type of deletion vectors.
const deletionVectors = "DELETION_VECTORS"

// overwrites reports that the change removes files or rows, so that it must be
// checked for conflicts.
func (c *change) overwrites() bool {
	for _, e := range c.files {
		if e.Kind == manifest.Delete {
			return true
		}
	}
	for _, e := range c.index {
		if e.IndexType == deletionVectors {
			return true
		}
	}
	return false
}

// check refuses what this version cannot commit, before anything is written.
func (c *change) check() error {
	const op = "committing messages"
	refuse := func(feature string) error {
		return tarnerr.New(tarnerr.Unsupported, op, feature+" cannot be committed yet", "kind", c.kind).
			WithHint("Let the program that prepared the message commit it.")
	}
	if c.empty() {
		return nil
	}
	switch {
	case c.kind == snapshot.Compact:
		return refuse("a compaction")
	case c.kind == snapshot.Overwrite:
		return refuse("a removal of files or rows")
	case len(c.index) > 0:
		return refuse("an index file")
	case len(c.changelog) > 0:
		return refuse("a changelog file")
	}
	return c.checkDelta()
}

// checkDelta refuses a change that contradicts itself: one file added twice, or
// files of one partition that disagree about its number of buckets.
func (c *change) checkDelta() error {
	const op = "committing messages"
	seen := make(map[string]struct{}, len(c.files))
	total := map[string]int32{}
	for _, e := range c.files {
		id := e.Identity()
		if _, twice := seen[id]; twice {
			return tarnerr.New(tarnerr.Invalid, op, "one file is added twice", "file", e.File.FileName, "bucket", e.Bucket).
				WithHint("Commit each message once.")
		}
		seen[id] = struct{}{}
		if e.TotalBuckets <= 0 {
			continue
		}
		p := string(e.Partition)
		if before, ok := total[p]; ok && before != e.TotalBuckets {
			return tarnerr.New(tarnerr.Invalid, op, "files of one partition were written with different numbers of buckets",
				"file", e.File.FileName, "buckets", e.TotalBuckets, "others", before).
				WithHint("Write the messages again with the table's present number of buckets.")
		}
		total[p] = e.TotalBuckets
	}
	return nil
}
