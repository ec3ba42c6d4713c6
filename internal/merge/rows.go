package merge

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
)

// Rows are the rows of some keys, key after key, those of a key from the oldest
// to the youngest, as references into batches.
type Rows struct {
	Refs []batch.Ref
	// Ends[i] is the end of key i in Refs; it begins at the end of the key before.
	Ends  []int
	Kinds []int8 // the row kinds of Refs
	// Left are the keys, ascending, of which one row is left of several: it is folded
	// nevertheless.
	Left []int
}

// span is where the rows of key k are.
func (r *Rows) span(k int32) (from, end int) {
	if k > 0 {
		from = r.Ends[k-1]
	}
	return from, r.Ends[k]
}

// one adds a row that is alone with its key.
func (r *Rows) one(ref batch.Ref, kind int8) {
	r.Refs, r.Kinds = append(r.Refs, ref), append(r.Kinds, kind)
	r.Ends = append(r.Ends, len(r.Refs))
}

// ones adds consecutive rows of a source, each alone with its key.
func (r *Rows) ones(source, from int, kinds []int8) {
	r.Refs = batch.AppendRange(r.Refs, source, from, from+len(kinds))
	r.Kinds = append(r.Kinds, kinds...)
	for end := len(r.Refs) - len(kinds) + 1; end <= len(r.Refs); end++ {
		r.Ends = append(r.Ends, end)
	}
}

// lowest drops from the rows behind from, one key's, those that lie on a level
// above the lowest one over 0. Source: paimon-core
// mergetree/compact/LookupMergeFunction.
func (r *Rows) lowest(from int, levels []int32) {
	lowest, n := int32(0), from
	for _, l := range levels {
		if l > 0 && (lowest == 0 || l < lowest) {
			lowest = l
		}
	}
	for i, l := range levels {
		if l <= lowest {
			r.Refs[n], r.Kinds[n] = r.Refs[from+i], r.Kinds[from+i]
			n++
		}
	}
	if n == from+1 && len(levels) > 1 {
		r.Left = append(r.Left, len(r.Ends))
	}
	r.Refs, r.Kinds = r.Refs[:n], r.Kinds[:n]
}

// head are the first n keys.
func (r *Rows) head(n int) Rows {
	end := r.Ends[n-1]
	left, _ := slices.BinarySearch(r.Left, n)
	return Rows{Refs: r.Refs[:end], Ends: r.Ends[:n], Kinds: r.Kinds[:end], Left: r.Left[:left]}
}

// drop takes the first n keys away.
func (r *Rows) drop(n int) {
	end := r.Ends[n-1]
	r.Refs = r.Refs[:copy(r.Refs, r.Refs[end:])]
	r.Kinds = r.Kinds[:copy(r.Kinds, r.Kinds[end:])]
	r.Ends = r.Ends[:copy(r.Ends, r.Ends[n:])]
	for i := range r.Ends {
		r.Ends[i] -= end
	}
	left, _ := slices.BinarySearch(r.Left, n)
	r.Left = r.Left[:copy(r.Left, r.Left[left:])]
	for i := range r.Left {
		r.Left[i] -= n
	}
}
