package lsm

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
)

// ByAge gives the runs of a section from the oldest to the youngest, so that
// every row of a run has a larger sequence number than all rows of the runs
// before it. It reports false when the metadata cannot promise that: the ranges
// of two runs meet, as they do after writers that did not know of each other.
func (s Section) ByAge() (Section, bool) {
	out := slices.Clone(s)
	slices.SortStableFunc(out, func(a, b Run) int { return cmp.Compare(a.minSequence(), b.minSequence()) })
	for i, r := range out {
		if !r.hasRange() || i > 0 && out[i-1].maxSequence() >= r.minSequence() {
			return nil, false
		}
	}
	return out, true
}

// hasRange reports that the ranges of sequence numbers are what they should be.
// Python's writer numbers the rows of all files of a commit before it writes the
// first, which gets the whole range; the others get its end alone, too short for
// their rows.
func (r Run) hasRange() bool {
	return !slices.ContainsFunc(r, func(f *datafile.Meta) bool {
		return f.MinSequence > f.MaxSequence || uint64(f.MaxSequence)-uint64(f.MinSequence) < uint64(f.RowCount-1)
	})
}

func (r Run) minSequence() int64 {
	n := r[0].MinSequence
	for _, f := range r[1:] {
		n = min(n, f.MinSequence)
	}
	return n
}

func (r Run) maxSequence() int64 {
	n := r[0].MaxSequence
	for _, f := range r[1:] {
		n = max(n, f.MaxSequence)
	}
	return n
}
