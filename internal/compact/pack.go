package compact

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

// PackRules say which files of append tables are worth joining.
type PackRules struct {
	Target     int64 // size of files wanted
	SmallFile  int64 // from which size on a file is large enough
	OpenCost   int64 // what opening a file counts as, in bytes
	MinFileNum int   // so many small files are joined whatever their size
	RewriteAll bool  // large files are joined, too
}

// Pack puts the small files of a partition without buckets into groups to be
// joined, the smallest files first. A group has two files at least, and about
// twice the target size, but for the last, which may be of many very small
// ones. Source: paimon-core append/AppendCompactCoordinator.
func Pack(files []*datafile.Meta, rules PackRules) [][]*datafile.Meta {
	var small []*datafile.Meta
	for _, f := range files {
		if f.FileSize < rules.SmallFile {
			small = append(small, f)
		}
	}
	slices.SortStableFunc(small, func(a, b *datafile.Meta) int { return cmp.Compare(a.FileSize, b.FileSize) })
	var out [][]*datafile.Meta
	var bin []*datafile.Meta
	var content int64
	for _, f := range small {
		bin, content = append(bin, f), content+f.FileSize+rules.OpenCost
		if len(bin) > 1 && content >= 2*rules.Target {
			out, bin, content = append(out, bin), nil, 0
		}
	}
	if len(bin) > 1 && len(bin) >= rules.MinFileNum {
		out = append(out, bin)
	}
	return out
}

// WithRowIDs leaves out files of a table that tracks its rows whose rows have lost
// their ids, to a compaction that did not know of them: joined with others they would
// have to get new ones.
func WithRowIDs(files []*datafile.Meta) []*datafile.Meta {
	return slices.DeleteFunc(slices.Clone(files), func(f *datafile.Meta) bool {
		return f.FirstRowID == nil && !slices.Contains(f.WriteCols, types.RowIDName)
	})
}

// inOrder sorts the files of a bucket of an append table as they were written.
func inOrder(files []*datafile.Meta) []*datafile.Meta {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *datafile.Meta) int { return cmp.Compare(a.MinSequence, b.MinSequence) })
	return files
}

// fullMinFiles is from how many files on a full compaction of a bucket of an
// append table begins.
const fullMinFiles = 3

// JoinAll picks what a full compaction of a bucket of an append table joins, in
// order: all from the first small file on, when more of them are small than
// large. Source: paimon-core append/BucketedAppendCompactManager.
func JoinAll(files []*datafile.Meta, rules PackRules) []*datafile.Meta {
	files = inOrder(files)
	if rules.RewriteAll {
		return files
	}
	if len(files) < fullMinFiles {
		return nil
	}
	large := func(f *datafile.Meta) bool { return f.FileSize >= rules.SmallFile }
	for len(files) > 0 && large(files[0]) {
		files = files[1:]
	}
	small := 0
	for _, f := range files {
		if !large(f) {
			small++
		}
	}
	if len(files) < fullMinFiles || 2*small <= len(files) {
		return nil
	}
	return files
}

// JoinSome picks neighbours of a bucket of an append table to be joined, in order:
// so many as PackRules.MinFileNum that have less than twice the target size
// together, or little more. What lies before them need not be looked at again;
// rest is what lies behind. Source: as of JoinAll.
func JoinSome(files []*datafile.Meta, rules PackRules) (picked, rest []*datafile.Meta) {
	files = inOrder(files)
	from, content := 0, int64(0)
	for i, f := range files {
		content += f.FileSize
		if n := i + 1 - from; n >= rules.MinFileNum {
			return files[from : i+1], files[i+1:]
		}
		if content >= 2*rules.Target {
			content -= files[from].FileSize
			from++
		}
	}
	return nil, nil
}
