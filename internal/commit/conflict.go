package commit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Check names what a commit was refused by.
type Check string

// The checks, in the order in which they are made (P10).
const (
	// LastSafeSnapshot is commit.strict-mode.last-safe-snapshot.
	LastSafeSnapshot Check = "last-safe-snapshot"
	// DeletionVector: a file has one deletion vector, and whoever changes it knows
	// the one it replaces.
	DeletionVector Check = "deletion-vector"
	// BucketCount (a): a partition keeps its number of buckets, unless overwritten.
	BucketCount Check = "bucket-count"
	// FileAddition (c): a file is added once.
	FileAddition Check = "file-addition"
	// FileDeletion (c): what is removed is there.
	FileDeletion Check = "file-deletion"
	// ExpiredPartition is FileDeletion in partitions that have all expired.
	ExpiredPartition Check = "expired-partition"
	// KeyRange (d): files of one level above 0 never overlap (INV-TREE-1).
	KeyRange Check = "key-range"
	// GlobalIndex: global index files of one column never overlap.
	GlobalIndex Check = "global-index"
)

// conflict is a change that does not fit what the table holds.
type conflict struct {
	check     Check
	what      string
	partition binaryrow.Row // nil when it is of no one partition
	bucket    int32         // −1 when it is of no one bucket
	level     int32         // −1 likewise
	files     []string      // those that disagree
	id        int64         // snapshot that is known to be in the way, 0 = to be found
}

// situation is what conflicts are looked for in: plain values, no storage.
type situation struct {
	kind snapshot.CommitKind
	base []paired // live files of the partitions that the change touches
	// delta is what the change adds and removes.
	delta []paired
	keys  keyOrder // nil in tables without a primary key
	// expired tells of a partition that it has expired by its values; nil when
	// partitions do not expire that way.
	expired func(partition binaryrow.Row) bool
}

// find returns the first conflict, nil when the change fits.
func (s *situation) find() *conflict {
	if s.kind != snapshot.Overwrite {
		if a, b := bucketCounts(unpaired(s.base), unpaired(s.delta)); a != nil {
			return &conflict{
				check: BucketCount, partition: b.Partition, bucket: -1, level: -1, files: []string{a.File.FileName, b.File.FileName},
				what: fmt.Sprintf("the number of buckets changed from %d to %d without an overwrite", a.TotalBuckets, b.TotalBuckets),
			}
		}
	}
	merged, twice := mergePaired(slices.Concat(s.base, s.delta))
	if twice != nil {
		return &conflict{
			check: FileAddition, partition: twice.Partition, bucket: twice.Bucket, level: twice.File.Level, files: []string{twice.File.FileName},
			what: "a file that this commit adds is there already",
		}
	}
	if c := s.missing(merged); c != nil {
		return c
	}
	return s.overlap(merged)
}

// missing looks for deletions of files that are not there.
func (s *situation) missing(merged []paired) *conflict {
	var gone []paired
	all := true
	for _, e := range merged {
		if e.Kind == manifest.Delete {
			gone = append(gone, e)
			all = all && s.expired != nil && s.expired(e.Partition)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	first := gone[0]
	for _, e := range merged {
		// With another vector than the change knows the file is there.
		if e.Kind == manifest.Add && e.File.FileName == first.File.FileName && e.Entry.Identity() == first.Entry.Identity() {
			return &conflict{
				check: DeletionVector, partition: first.Partition, bucket: first.Bucket, level: -1, files: []string{first.File.FileName},
				what: "rows of a file that this commit changes were deleted by another commit",
			}
		}
	}
	c := &conflict{
		check: FileDeletion, partition: first.Partition, bucket: first.Bucket, level: first.File.Level,
		what: "files that this commit removes are not there any more",
	}
	if all {
		c.check, c.what = ExpiredPartition, "rows are written to partitions that have expired and were dropped"
	}
	for _, e := range gone {
		if e.Bucket == first.Bucket && string(e.Partition) == string(first.Partition) {
			c.files = append(c.files, e.File.FileName)
		}
	}
	return c
}

// overlap looks for files of one level above 0 whose key ranges meet, in the
// buckets and levels to which the change adds.
func (s *situation) overlap(merged []paired) *conflict {
	if s.keys == nil {
		return nil
	}
	type level struct {
		partition     string
		bucket, level int32
	}
	levels := map[level][]paired{}
	at := func(e *paired) level { return level{string(e.Partition), e.Bucket, e.File.Level} }
	for _, e := range s.delta {
		if e.Kind == manifest.Add && e.File.Level >= 1 {
			levels[at(&e)] = nil
		}
	}
	var order []level
	for _, e := range merged {
		files, touched := levels[at(&e)]
		if !touched {
			continue
		}
		if len(files) == 0 {
			order = append(order, at(&e))
		}
		levels[at(&e)] = append(files, e)
	}
	for _, l := range order {
		files := levels[l]
		slices.SortStableFunc(files, func(a, b paired) int { return s.keys.compare(a.File.MinKey, b.File.MinKey) })
		for i := 1; i < len(files); i++ {
			a, b := files[i-1], files[i]
			if s.keys.compare(a.File.MaxKey, b.File.MinKey) < 0 {
				continue
			}
			return &conflict{
				check: KeyRange, partition: a.Partition, bucket: l.bucket, level: l.level, files: []string{a.File.FileName, b.File.FileName},
				what: "key ranges of files of one level overlap",
			}
		}
	}
	return nil
}

// bucketCounts finds two files of one partition that disagree about its number
// of buckets; nil when none do. Unaware and postponed buckets have none.
func bucketCounts(lists ...[]manifest.Entry) (a, b *manifest.Entry) {
	first := map[string]*manifest.Entry{}
	for _, list := range lists {
		for i := range list {
			e := &list[i]
			if e.TotalBuckets <= 0 {
				continue
			}
			before, ok := first[string(e.Partition)]
			if !ok {
				first[string(e.Partition)] = e
			} else if before.TotalBuckets != e.TotalBuckets {
				return before, e
			}
		}
	}
	return nil, nil
}

// paired is an entry and the index file that holds its deletion vector, where
// vectors go with files, "" without one.
type paired struct {
	manifest.Entry
	vector string
}

// pairedWith pairs entries with the index files that vectors names.
func pairedWith(entries []manifest.Entry, vectors map[string]string) []paired {
	out := make([]paired, len(entries))
	for i, e := range entries {
		out[i] = paired{e, vectors[e.File.FileName]}
	}
	return out
}

func unpaired(entries []paired) []manifest.Entry {
	out := make([]manifest.Entry, len(entries))
	for i := range entries {
		out[i] = entries[i].Entry
	}
	return out
}

// mergePaired lets deletions take away what was added before them and returns
// what is left (P11), or the entry that adds what is there.
func mergePaired(entries []paired) (left []paired, twice *paired) {
	type key struct {
		manifest.Identity
		vector string
	}
	var ids manifest.Identities
	at := make(map[key]int, len(entries))
	gone := make([]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		k := key{ids.Of(&e.Entry), e.vector}
		before, there := at[k]
		switch {
		case !there:
			at[k] = i
		case e.Kind == manifest.Delete:
			gone[before], gone[i] = true, true
			delete(at, k)
		default:
			return nil, e
		}
	}
	left = make([]paired, 0, len(at))
	for i := range entries {
		if !gone[i] {
			left = append(left, entries[i])
		}
	}
	return left, nil
}

// keyOrder compares trimmed primary keys as readers do.
type keyOrder []types.Type

func (k keyOrder) compare(a, b binaryrow.Row) int {
	for i, t := range k {
		x, errX := a.Value(i, t)
		y, errY := b.Value(i, t)
		switch {
		case errX != nil || errY != nil:
			return cmp.Compare(string(a), string(b)) // no keys: they are the same or not
		case x == nil || y == nil:
			if c := cmp.Compare(present(x), present(y)); c != 0 {
				return c
			}
		default:
			if c := types.CompareInMerge(t, x, y); c != 0 {
				return c
			}
		}
	}
	return 0
}

func present(v types.Value) int {
	if v == nil {
		return 0
	}
	return 1
}
