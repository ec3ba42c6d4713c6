package lsm

import (
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

// Section is a set of runs that overlap one another in key range, directly or
// through others, and no file outside. Sections are merged one by one.
type Section []Run

// Files are the files of all runs, run after run.
func (s Section) Files() []*datafile.Meta {
	var out []*datafile.Meta
	for _, r := range s {
		out = append(out, r...)
	}
	return out
}

// Sections splits files into sections, ascending in key, each in as few runs as
// possible. keys are the types of the key columns.
//
// The order of a section's runs is that of Java's reader: rows equal in key and
// sequence number are decided by it. Source: paimon-core
// mergetree/compact/IntervalPartition.
func Sections(files []*datafile.Meta, keys []types.Type) ([]Section, error) {
	all, err := decode(files, keys)
	if err != nil {
		return nil, err
	}
	o := order(keys)
	slices.SortStableFunc(all, func(a, b ranged) int {
		if c := o.compare(a.min, b.min); c != 0 {
			return c
		}
		return o.compare(a.max, b.max)
	})
	var out []Section
	for from := 0; from < len(all); {
		bound, to := all[from].max, from+1
		for to < len(all) && o.compare(all[to].min, bound) <= 0 {
			if o.compare(all[to].max, bound) > 0 {
				bound = all[to].max
			}
			to++
		}
		out = append(out, runsOf(all[from:to], o))
		from = to
	}
	return out, nil
}

// runsOf puts the files of one section, sorted by their smallest key, into
// runs: each file goes behind the run that ends first, or into a new one.
func runsOf(files []ranged, o order) Section {
	q := queue{order: o}
	q.push(open{Run{files[0].file}, files[0].max})
	for _, f := range files[1:] {
		top := q.pop()
		if o.compare(f.min, top.end) > 0 {
			top.run, top.end = append(top.run, f.file), f.max
		} else {
			q.push(open{Run{f.file}, f.max})
		}
		q.push(top)
	}
	out := make(Section, len(q.heap))
	for i, r := range q.heap {
		out[i] = r.run
	}
	return out
}

// open is a run that may still grow, with its largest key.
type open struct {
	run Run
	end key
}

// queue is a binary min-heap of runs by their largest key. It moves elements as
// java.util.PriorityQueue does, because the heap's layout at the end is the
// order of the runs.
type queue struct {
	order order
	heap  []open
}

func (q *queue) push(r open) {
	q.heap = append(q.heap, r)
	k := len(q.heap) - 1
	for k > 0 {
		parent := (k - 1) / 2
		if q.order.compare(r.end, q.heap[parent].end) >= 0 {
			break
		}
		q.heap[k] = q.heap[parent]
		k = parent
	}
	q.heap[k] = r
}

func (q *queue) pop() open {
	top := q.heap[0]
	n := len(q.heap) - 1
	x := q.heap[n]
	q.heap = q.heap[:n]
	if n == 0 {
		return top
	}
	k := 0
	for k < n/2 {
		child := 2*k + 1
		if child+1 < n && q.order.compare(q.heap[child].end, q.heap[child+1].end) > 0 {
			child++
		}
		if q.order.compare(x.end, q.heap[child].end) <= 0 {
			break
		}
		q.heap[k] = q.heap[child]
		k = child
	}
	q.heap[k] = x
	return top
}
