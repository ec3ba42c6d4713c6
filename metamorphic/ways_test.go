package metamorphic

import (
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/internal/oracle"
)

// ways knows of each key what compactions may have made of its rows, whichever they took
// together and whenever: the rows of a key come as items, of which any neighbours may
// have been merged, and what came out merged again. For Java's merge functions do not
// give the same in the end: what a removed row leaves behind, or what a late row finds
// merged, depends on what was compacted before. A history has rows only of which there is
// one outcome: that is what it is held to.
type ways struct {
	t *oracle.Table
	c config
	// number is of the last row.
	number int64
	keys   map[string]*items
	left   int // of the merges of the row being added
}

// items are the rows of a key since all there was was compacted into one.
type items struct {
	n int
	// made holds at [i][j] what items i to j, the last one included, may have become.
	made [][][]made
}

// made is a row that came out of some, gone when it took back what there was and nothing
// is older. id is the same of rows that are the same.
type made struct {
	row  oracle.Row
	gone bool
	id   string
}

const (
	// mostItems is how many rows of a key are not settled.
	mostItems = 6
	// mostWays is how many merges are tried of a row.
	mostWays = 500
)

func newWays(t *oracle.Table, c config) *ways {
	return &ways{t: t, c: c, keys: map[string]*items{}}
}

// take adds rows of a key, or says that what comes of one depends on compactions. lone
// rows may differ when they are the first ones: they are looked up for in this commit.
func (w *ways) take(key string, lone bool, rows ...oracle.Row) bool {
	it := w.keys[key]
	if it == nil {
		it = &items{}
	}
	was := it.n
	for _, r := range rows {
		if w.t.Drops(r.Kind) {
			continue
		}
		w.number++
		r.Number = w.number
		ok := it.n < mostItems && w.add(it, r)
		if !ok || !w.agree(it.made[0][it.n-1]) && (!lone || it.n > 1) {
			it.truncate(was)
			return false
		}
	}
	w.keys[key] = it
	return true
}

func (it *items) truncate(n int) {
	it.n, it.made = n, it.made[:n]
	for i := range it.made {
		it.made[i] = it.made[i][:n]
	}
}

// add adds an item and finds what may be made of it and those before it.
func (w *ways) add(it *items, r oracle.Row) bool {
	n := it.n
	it.n++
	for i := range it.made {
		it.made[i] = append(it.made[i], nil)
	}
	it.made = append(it.made, make([][]made, n+1))
	it.made[n][n] = w.finish(n == 0, nil, w.mark(r))
	w.left = mostWays
	for i := n - 1; i >= 0; i-- {
		var out []made
		// A merge is of neighbouring parts, two at least, of which each was made before.
		var extend func(from int, parts []oracle.Row)
		extend = func(from int, parts []oracle.Row) {
			if from > n {
				if w.left--; w.left >= 0 {
					out = w.merge(i == 0, out, parts)
				}
				return
			}
			for to := from; to <= n; to++ {
				if from == i && to == n {
					continue
				}
				for _, m := range it.made[from][to] {
					if m.gone {
						extend(to+1, parts)
					} else {
						extend(to+1, append(parts[:len(parts):len(parts)], m.row))
					}
				}
			}
		}
		extend(i, nil)
		if it.made[i][n] = out; w.left < 0 {
			return false
		}
	}
	return true
}

// merge adds what a merge gives.
func (w *ways) merge(oldest bool, out []made, parts []oracle.Row) []made {
	if len(parts) == 0 {
		return include(out, made{gone: true})
	}
	r, ok, err := w.t.Merge(parts, false)
	if errors.Is(err, oracle.ErrZero) {
		w.left = 0
		return out
	}
	if err != nil {
		panic(err)
	}
	if !ok {
		return include(out, made{gone: true})
	}
	return w.finish(oldest, out, w.mark(r))
}

// finish adds a row, and with nothing older what it may become by itself.
func (w *ways) finish(oldest bool, out []made, m made) []made {
	out = include(out, m)
	if !oldest {
		return out
	}
	if m.row.Kind.IsRetract() {
		out = include(out, made{gone: true})
	}
	if w.c.looksUp() {
		out = include(out, w.fold(m))
	}
	return out
}

// fold is a row that is merged with nothing.
func (w *ways) fold(m made) made {
	r, ok, err := w.t.Merge([]oracle.Row{m.row}, true)
	if err != nil {
		panic(err)
	}
	if !ok {
		return made{gone: true}
	}
	return w.mark(r)
}

func (w *ways) mark(r oracle.Row) made {
	if e := w.c[engine]; e == "deduplicate" || e == "first-row" {
		return made{row: r, id: fmt.Sprint(r.Number)}
	}
	return made{row: r, id: r.Kind.String() + w.t.Text(r)}
}

func include(all []made, m made) []made {
	for _, has := range all {
		if has.id == m.id && has.gone == m.gone {
			return all
		}
	}
	return append(all, m)
}

// agree reports outcomes of which readers see the same.
func (w *ways) agree(all []made) bool {
	seen := func(m made) string {
		if m.gone || m.row.Kind.IsRetract() {
			return ""
		}
		return m.id
	}
	for _, m := range all {
		if seen(m) != seen(all[0]) {
			return false
		}
	}
	return true
}

// settle takes in that all rows of all keys are compacted into one.
func (w *ways) settle() {
	for _, it := range w.keys {
		if it.n == 0 {
			continue
		}
		var all []made
		for _, m := range it.made[0][it.n-1] {
			if w.c.looksUp() && !m.gone {
				m = w.fold(m)
			}
			if all = include(all, m); !m.gone && m.row.Kind.IsRetract() {
				all = include(all, made{gone: true})
			}
		}
		it.n, it.made = 1, [][][]made{{all}}
	}
}
