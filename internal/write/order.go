package write

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/invariants"
	"github.com/tarnlake/tarn/internal/merge"
)

// orderer sorts the rows of one bucket by key and merges those of one key, as
// Java's write buffer does before a flush: what it leaves is a sorted run with
// each key once.
type orderer struct {
	keys       *merge.Order
	sequence   []merge.Column // sequence.field
	descending bool
	rules      *merge.Rules // of deduplicate: the newest row of a key wins
}

// loaded are the keys and sequence fields of all chunks of a buffer, shared by
// the buckets that are flushed side by side.
type loaded struct {
	o         *orderer
	keys      []*merge.Keys
	sequences []*merge.Sequences // nil without sequence fields
}

func (o *orderer) load(chunks []arrow.RecordBatch) (*loaded, error) {
	l := &loaded{o: o, keys: make([]*merge.Keys, len(chunks))}
	if len(o.sequence) > 0 {
		l.sequences = make([]*merge.Sequences, len(chunks))
	}
	for i, c := range chunks {
		var err error
		if l.keys[i], err = o.keys.Load(c); err != nil {
			return nil, err
		}
		if l.sequences == nil {
			continue
		}
		if l.sequences[i], err = merge.LoadSequences(o.sequence, o.descending, c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// item is one row to be sorted: the prefix of its key and its place among the
// rows of its bucket in order of arrival.
type item struct {
	prefix uint64
	place  uint32
}

// sorted returns the places of the rows that survive the merge, in key order.
// rows are the bucket's rows in order of arrival. scratch may be reused.
func (l *loaded) sorted(rows []batch.Ref, scratch *[]item) []uint32 {
	out := l.merge(l.byKey(rows, scratch), rows)
	if invariants.Enabled {
		for i := 1; i < len(out); i++ {
			if l.compareKeys(rows[out[i-1]], rows[out[i]]) >= 0 {
				invariants.Check(false, "INV-WRITE-2", "rows %d and %d of a flush are out of order or of one key", i-1, i)
			}
		}
	}
	return out
}

// byKey are the rows by key, those of a key in order of arrival.
func (l *loaded) byKey(rows []batch.Ref, scratch *[]item) []item {
	items := slices.Grow((*scratch)[:0], 2*len(rows))[:2*len(rows)]
	*scratch = items
	items, spare := items[:len(rows)], items[len(rows):]
	for i, r := range rows {
		items[i] = item{l.keys[r.Source()].Prefix()[r.Row()], uint32(i)}
	}
	items = sortByPrefix(items, spare)
	if !l.o.keys.Exact() {
		l.sortTies(items, rows)
	}
	return items
}

// grouped returns the places of all rows, key after key, and where each key ends:
// those of a key from the oldest to the newest, by the sequence fields, then by
// arrival. scratch may be reused.
func (l *loaded) grouped(rows []batch.Ref, scratch *[]item) (places []uint32, ends []int) {
	items := l.byKey(rows, scratch)
	places = make([]uint32, len(items))
	for from := 0; from < len(items); {
		to := from + 1
		places[from] = items[from].place
		for ; to < len(items) && l.sameKey(items[from], items[to], rows); to++ {
			places[to] = items[to].place
		}
		if l.sequences != nil && to-from > 1 {
			slices.SortStableFunc(places[from:to], func(a, b uint32) int { return l.compareAge(rows[a], rows[b]) })
		}
		ends = append(ends, to)
		from = to
	}
	return places, ends
}

// inOrder are the places of all rows in the order of grouped.
func (l *loaded) inOrder(rows []batch.Ref, scratch *[]item) []uint32 {
	places, _ := l.grouped(rows, scratch)
	return places
}

// sortTies orders rows of one prefix by their whole keys.
func (l *loaded) sortTies(items []item, rows []batch.Ref) {
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].prefix == items[0].prefix {
			n++
		}
		if n > 1 {
			slices.SortFunc(items[:n], func(a, b item) int {
				if c := l.compareKeys(rows[a.place], rows[b.place]); c != 0 {
					return c
				}
				return cmp.Compare(a.place, b.place)
			})
		}
		items = items[n:]
	}
}

func (l *loaded) compareKeys(a, b batch.Ref) int {
	return merge.CompareKeys(l.keys[a.Source()], a.Row(), l.keys[b.Source()], b.Row())
}

// merge keeps of each key the row that the sequence fields, then the order of
// arrival, make the newest.
func (l *loaded) merge(items []item, rows []batch.Ref) []uint32 {
	out := make([]uint32, 0, len(items))
	for i := 0; i < len(items); {
		newest := items[i].place
		j := i + 1
		for ; j < len(items) && l.sameKey(items[i], items[j], rows); j++ {
			if !l.older(rows[items[j].place], rows[newest]) {
				newest = items[j].place
			}
		}
		out = append(out, newest)
		i = j
	}
	return out
}

func (l *loaded) sameKey(a, b item, rows []batch.Ref) bool {
	if a.prefix != b.prefix {
		return false
	}
	return l.o.keys.Exact() || l.compareKeys(rows[a.place], rows[b.place]) == 0
}

// older reports that row a, which came after b, is older by the sequence fields.
func (l *loaded) older(a, b batch.Ref) bool {
	return l.sequences != nil && l.compareAge(a, b) < 0
}

// compareAge orders rows of one key by the sequence fields.
func (l *loaded) compareAge(a, b batch.Ref) int {
	return merge.CompareSequences(l.sequences[a.Source()], a.Row(), l.sequences[b.Source()], b.Row())
}

const (
	radixBits = 8
	// radixFrom is from which number of rows on counting beats comparing.
	radixFrom = 512
)

// sortByPrefix sorts by prefix and keeps the order of arrival among equal ones.
// spare has room for as many items; the result is in one of the two.
func sortByPrefix(items, spare []item) []item {
	var differ uint64
	inOrder := true
	for i := 1; i < len(items); i++ {
		differ |= items[i].prefix ^ items[0].prefix
		inOrder = inOrder && items[i-1].prefix <= items[i].prefix
	}
	if inOrder {
		return items
	}
	if len(items) < radixFrom {
		slices.SortFunc(items, func(a, b item) int {
			if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
				return c
			}
			return cmp.Compare(a.place, b.place)
		})
		return items
	}
	for shift := 0; shift < 64; shift += radixBits {
		if differ>>shift&(1<<radixBits-1) == 0 {
			continue
		}
		var at [1 << radixBits]int
		for _, x := range items {
			at[uint8(x.prefix>>shift)]++
		}
		sum := 0
		for d, n := range at {
			at[d] = sum
			sum += n
		}
		for _, x := range items {
			d := uint8(x.prefix >> shift)
			spare[at[d]] = x
			at[d]++
		}
		items, spare = spare, items
	}
	return items
}
