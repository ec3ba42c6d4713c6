package merge

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
)

// roster tells the keys that are folded from those whose one row stays as it is, so
// that columns are made of what all keys have, one row, and of what some have beside it.
type roster struct {
	first  []batch.Ref // of each key: its oldest row
	folded []int32     // keys that are folded, ascending
	adds   bool        // no row is a -U or -D
	// firstSources are the sources of first, empty while nobody has asked for them.
	firstSources []int

	// later are the rows of folded keys behind the oldest ones, in their order.
	later struct {
		keys []int32
		refs []batch.Ref
	}
}

// assign looks at the rows of some keys. foldLone folds also those with one row.
func (c *roster) assign(rows *Rows, foldLone bool) {
	n := len(rows.Ends)
	c.first, c.folded = sizedTo(c.first, n), sizedTo(c.folded, n)
	c.adds, c.firstSources = !retracts(rows.Kinds), c.firstSources[:0]
	// How many rows a key has is a matter of chance: it is written, then kept or not.
	from, folded := 0, 0
	for k, end := range rows.Ends {
		c.first[k] = rows.Refs[from]
		c.folded[folded] = int32(k)
		folded += int(uint64(1-(end-from)) >> 63)
		from = end
	}
	c.folded = c.folded[:folded]
	c.later.keys, c.later.refs = c.later.keys[:0], c.later.refs[:0]
	for _, k := range c.folded {
		from, end := rows.span(k)
		for _, r := range rows.Refs[from+1 : end] {
			c.later.keys, c.later.refs = append(c.later.keys, k), append(c.later.refs, r)
		}
	}
	switch {
	case foldLone:
		c.folded = c.folded[:n]
		for k := range c.folded {
			c.folded[k] = int32(k)
		}
	case len(rows.Left) > 0:
		for _, k := range rows.Left {
			c.folded = append(c.folded, int32(k))
		}
		slices.Sort(c.folded)
	}
}

// sources are those that have the oldest row of a key.
func (c *roster) sources() []int {
	if len(c.firstSources) == 0 {
		for i, last := 0, -1; i < len(c.first); i++ {
			if s := c.first[i].Source(); s != last {
				last = s
				if !slices.Contains(c.firstSources, s) {
					c.firstSources = append(c.firstSources, s)
				}
			}
		}
	}
	return c.firstSources
}
