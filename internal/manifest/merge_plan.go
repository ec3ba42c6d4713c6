package manifest

import "math"

// leastEntry is how many bytes an entry counts for at least when merges are
// planned, however well it compresses: what merging takes in time and memory
// goes by entries, too. Entries of real tables are about as large.
const leastEntry = 80

// weight is the size of a manifest as merges are planned by it.
func weight(size, entries int64) int64 { return max(size, leastEntry*entries) }

func (m *FileMeta) weight() int64 { return weight(m.FileSize, m.Added+m.Deleted) }

// planFull decides whether to rewrite all manifests: when those that are small
// or hold deletions have enough bytes. changed marks them.
func planFull(metas []FileMeta, opts MergeOptions) (changed []bool, due bool) {
	changed = make([]bool, len(metas))
	var size int64
	for i, m := range metas {
		if changed[i] = m.Deleted > 0 || m.weight() < opts.TargetSize; changed[i] {
			size += m.FileSize
		}
	}
	return changed, size >= opts.FullThreshold
}

// group is a run of manifests to merge into one, or to keep as they are.
type group struct {
	metas []FileMeta
	merge bool
}

// planMinor groups manifests, in order, into runs that reach the target size.
// What is left at the end is merged only if it is many.
func planMinor(metas []FileMeta, opts MergeOptions) []group {
	var out []group
	left := opts.budget()
	var size int64
	from := 0
	for i, m := range metas {
		if size += m.weight(); size < opts.TargetSize {
			continue
		}
		merge := i > from && size <= left
		if merge {
			left -= size
		}
		out = append(out, group{metas[from : i+1], merge})
		from, size = i+1, 0
	}
	rest := metas[from:]
	if len(rest) == 0 {
		return out
	}
	n := len(rest)
	if len(rest) >= opts.MinCount {
		n = planTail(rest, left, opts.MinCount)
	}
	if n > 0 {
		out = append(out, group{rest[:n], false})
	}
	if n < len(rest) {
		out = append(out, group{rest[n:], len(rest)-n > 1})
	}
	return out
}

// planTail says how many of the last manifests, which together are small, to
// leave as they are; the others are merged. A manifest far bigger than all that
// follow it is left, so that each byte is rewritten a few times at most and not
// with every merge of the tail; but what stays is fewer than minCount.
func planTail(metas []FileMeta, left int64, minCount int) int {
	i := len(metas) - 1
	sum := metas[i].weight()
	for ; i > 0; i-- {
		next := metas[i-1].weight()
		if sum+next > left || next > 2*sum && i+1 < minCount {
			break
		}
		sum += next
	}
	return i
}

func (o *MergeOptions) budget() int64 {
	if o.Budget <= 0 {
		return math.MaxInt64
	}
	return o.Budget
}

// planPart chooses the manifests of a full merge that cannot take in all: some
// that hold deletions, up to half of the budget, and then, among those that may
// have the files deleted, as many as fit. The latter begin one manifest further
// with each turn, the former when the latter have come around, so that each meets
// each.
type planPart struct {
	metas []FileMeta
	left  int64
	taken []bool
}

// holders takes manifests with deletions.
func (p *planPart) holders(turn int64) (some bool) {
	var all []int
	for i, m := range p.metas {
		if m.Deleted > 0 {
			all = append(all, i)
		}
	}
	return p.take(all, turn/int64(max(1, len(p.metas))), p.left/2, func(int) bool { return true })
}

// others takes manifests that may have what those delete.
func (p *planPart) others(turn int64, may func(m FileMeta) bool) (some bool) {
	all := make([]int, len(p.metas))
	for i := range all {
		all[i] = i
	}
	return p.take(all, turn, p.left, func(i int) bool { return p.metas[i].Added > 0 && may(p.metas[i]) })
}

// take takes those of a list that want accepts, from the one whose turn it is,
// until so many bytes are spent.
func (p *planPart) take(list []int, turn, limit int64, want func(i int) bool) (some bool) {
	n := int64(len(list))
	for k := range n {
		i := list[((turn+k)%n+n)%n]
		size := p.metas[i].weight()
		if p.taken[i] || size > limit || !want(i) {
			continue
		}
		p.taken[i], some = true, true
		p.left -= size
		limit -= size
	}
	return some
}
