package plan

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/types"
)

// group is the files of one split.
type group struct {
	files []*datafile.Meta
	raw   bool // every row is live and final
}

// pack puts items into bins in their order: a bin is closed when the next item
// would take its weight above target.
func pack[T any](items []T, weight func(T) int64, target int64) [][]T {
	var out [][]T
	var bin []T
	var sum int64
	for _, it := range items {
		w := weight(it)
		if len(bin) > 0 && sum+w > target {
			out = append(out, bin)
			bin, sum = nil, 0
		}
		bin, sum = append(bin, it), sum+w
	}
	if len(bin) > 0 {
		out = append(out, bin)
	}
	return out
}

// packing is how the files of a bucket are cut into splits.
type packing struct {
	target, openCost int64
	keys             []types.Type // of the trimmed primary key, none in append tables
	unique           bool         // each key is once above level 0
}

func (p packing) weight(size int64) int64 { return max(size, p.openCost) }

// groups cuts the files of one bucket, as Java's split generators do.
func (p packing) groups(files []*datafile.Meta) ([]group, error) {
	if len(p.keys) == 0 {
		return p.appendGroups(files), nil
	}
	return p.mergeGroups(files)
}

// appendGroups keeps the order in which the files were written.
func (p packing) appendGroups(files []*datafile.Meta) []group {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b *datafile.Meta) int { return cmp.Compare(a.MinSequence, b.MinSequence) })
	return p.rawGroups(sorted)
}

func (p packing) rawGroups(files []*datafile.Meta) []group {
	var out []group
	for _, bin := range pack(files, func(f *datafile.Meta) int64 { return p.weight(f.FileSize) }, p.target) {
		out = append(out, group{bin, true})
	}
	return out
}

// mergeGroups keeps files together whose key ranges overlap. Files of one level
// above 0 without deletes do not overlap and need no merge, nor do those of
// several levels where keys are unique.
func (p packing) mergeGroups(files []*datafile.Meta) ([]group, error) {
	merged := func(f *datafile.Meta) bool {
		return f.Level == 0 || f.Level != files[0].Level && !p.unique || deletes(f)
	}
	if !slices.ContainsFunc(files, merged) {
		return p.rawGroups(files), nil
	}
	sections, err := lsm.Sections(files, p.keys)
	if err != nil {
		return nil, err
	}
	var out []group
	for _, bin := range pack(sections, func(s lsm.Section) int64 { return p.weight(sizeOf(s)) }, p.target) {
		var g group
		for _, s := range bin {
			g.files = append(g.files, s.Files()...)
		}
		g.raw = len(g.files) == 1 && !deletes(g.files[0])
		out = append(out, g)
	}
	return out, nil
}

func sizeOf(s lsm.Section) int64 {
	var n int64
	for _, r := range s {
		n += r.Size()
	}
	return n
}

// deletes reports a file with -U or -D rows. Files of old versions that do not
// say count as having none, as in Java; reads filter their rows all the same.
func deletes(f *datafile.Meta) bool { return f.DeleteRowCount != nil && *f.DeleteRowCount > 0 }
