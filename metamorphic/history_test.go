package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// history is what happens to a table: commits of batches of rows.
type history struct {
	config  config
	commits []commit
}

type commit struct {
	batches [][]oracle.Row
	// compact asks for a compaction behind the commit: of the whole table in full, or
	// what the options find worth it.
	full, minor bool
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", h.config)
	for i, c := range h.commits {
		fmt.Fprintf(&b, "commit %d\n", i+1)
		for _, rows := range c.batches {
			fmt.Fprintln(&b, "  batch")
			for _, r := range rows {
				fmt.Fprintln(&b, "   ", r.Kind, r.Values)
			}
		}
		if c.full || c.minor {
			fmt.Fprintf(&b, "  compaction full=%v\n", c.full)
		}
	}
	return b.String()
}

// generator makes rows of which every merge of neighbours gives the same in the
// end, for Java's merge functions do not all: what a removed row leaves behind, or
// what a late row finds merged, depends on what was compacted before. So
//
//   - rows that fold take a row back only where there is one, or where an aggregation
//     looks up old rows with each commit, which makes a row of it,
//   - a row that was removed comes back whole and newer, or not at all where
//     functions compute,
//   - late rows, by sequence.field, come where there is a row, for the one that took
//     it back may have been compacted away, and have values only for functions that
//     do not ask for order,
//   - what is taken back is null where a function goes by values that are not null.
type generator struct {
	*rand.Rand
	c      config
	s      *schema.Schema
	table  *oracle.Table
	clock  int64
	known  map[string]*state
	keys   int
	values map[string]types.Value // of the row being made
}

// state is what the generator knows of a key.
type state struct {
	live    bool // it has a row that can be taken back
	removed bool // the last row removed it
}

func newHistory(c config, s *schema.Schema, seed uint64) history {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), c: c, s: s, table: oracle.NewTable(s), known: map[string]*state{}}
	g.keys = 2 + g.IntN(9)
	h := history{config: c}
	for range 2 + g.IntN(3) {
		var one commit
		for range 1 + g.IntN(2) {
			var rows []oracle.Row
			for range 1 + g.IntN(8) {
				rows = append(rows, g.some()...)
			}
			one.batches = append(one.batches, rows)
		}
		// A stream that compacts is alone with its table.
		if c[writer] == "batches" || strings.HasPrefix(c[compaction], "write-only") {
			often := 4
			if strings.HasPrefix(c[compaction], "write-only") {
				often = 2
			}
			if g.IntN(often) == 0 {
				one.minor = c[compaction] == "write-only-minor" || c[compaction] != "write-only-full" && g.IntN(2) == 0
				one.full = !one.minor
			}
		}
		h.commits = append(h.commits, one)
	}
	return h
}

// some makes the next rows: one, or two that are an update.
func (g *generator) some() []oracle.Row {
	id := []types.Value{int64(g.IntN(g.keys))}
	if g.c[partitions] == "yes" {
		id = append([]types.Value{fmt.Sprint("p", g.IntN(2))}, id...)
	}
	key := fmt.Sprint(id)
	st := g.known[key]
	if st == nil {
		st = &state{}
		g.known[key] = st
	}
	free := g.c[engine] == "deduplicate" || g.c[drops] == "delete" // rows need not fit
	if g.c[engine] == "aggregation-removing" && st.removed {
		return nil
	}
	switch {
	case g.c[rows] == "inserts" || g.IntN(3) > 0:
	case g.c[rows] == "deletes" || g.IntN(2) == 0:
		if free || st.live || g.c[engine] == "partial-update-removing" {
			removes := !free && strings.HasSuffix(g.c[engine], "-removing")
			r := g.row(id, types.Delete, st)
			st.live, st.removed = st.live && !removes, st.removed || removes
			return g.write(r)
		}
	case free:
		return slices.Concat(g.write(g.row(id, types.UpdateBefore, st)), g.write(g.row(id, types.UpdateAfter, st)))
	case st.live:
		before := g.row(id, types.UpdateBefore, st)
		if g.c[engine] == "partial-update-removing" {
			now, _, err := g.table.Row(g.table.Key(before))
			if err != nil {
				panic(err)
			}
			before.Values = slices.Clone(now.Values)
			if i := g.s.Index("rk"); i >= 0 {
				before.Values[i] = before.Kind.String()
			}
		}
		return g.write(before, g.row(id, types.UpdateAfter, st))
	}
	kind := types.Insert
	if k, ok := g.alone(); ok && !st.live && !st.removed && g.IntN(2) == 0 {
		kind = k
	}
	r := g.row(id, kind, st)
	st.live, st.removed = true, false
	return g.write(r)
}

// alone is the kind of rows that may take back what is not there.
func (g *generator) alone() (types.RowKind, bool) {
	settles := g.c[compaction] != "gentle" && !strings.HasPrefix(g.c[compaction], "write-only")
	if !strings.HasPrefix(g.c[engine], "aggregation") || g.c[producer] != "lookup" || !settles || g.c[drops] != "nothing" {
		return 0, false
	}
	switch {
	case g.c[rows] == "updates":
		return types.UpdateBefore, true
	case g.c[rows] == "deletes" && g.c[engine] == "aggregation":
		return types.Delete, true
	}
	return 0, false
}

func (g *generator) write(rows ...oracle.Row) []oracle.Row {
	g.table.Write(rows...)
	return rows
}

// row makes a row of a key.
func (g *generator) row(id []types.Value, kind types.RowKind, st *state) oracle.Row {
	g.clock++
	g.values = map[string]types.Value{}
	for _, name := range []string{"a", "b", "c", "d"} {
		g.set(name, g.Int64N(5)-1, g.IntN(3) == 0)
	}
	g.set("e", fmt.Sprint("e", g.clock%7), g.IntN(3) == 0)
	for _, name := range []string{"g", "h", "i"} {
		g.set(name, g.clock-g.Int64N(6), g.IntN(4) == 0)
	}
	g.set("rk", kind.String(), false)
	late := g.order(id)
	if e := g.c[engine]; kind.IsRetract() && g.c[drops] != "delete" {
		switch {
		case strings.HasPrefix(e, "groups"):
			g.null("a", "b", "c", "d", "e")
			if e == "groups-removing" && kind == types.Delete {
				g.newest("g", "h", "i")
			}
		case strings.HasPrefix(e, "aggregation"):
			g.null("d", "i")
			if g.c[sequence] == "none" {
				g.null("s")
			}
			if g.c[sequence] != "two" {
				g.null("z")
			}
			if e == "aggregation-removing" {
				g.null("e", "g", "h", "i")
				if kind == types.Delete {
					g.null("a", "b", "c")
				}
			}
		}
	}
	if late {
		g.null("d", "e", "h", "i")
		if g.c[sequence] == "one" || g.c[sequence] == "descending" {
			g.null("z")
		}
	}
	if st.removed && !kind.IsRetract() { // back, whole and newer
		for _, name := range []string{"a", "b", "c", "d"} {
			g.set(name, g.Int64N(5), false)
		}
		g.set("e", "back", false)
		g.newest("g", "h", "i")
	}
	r := oracle.Row{Kind: kind}
	for _, f := range g.s.Fields {
		if slices.Contains(g.s.PrimaryKeys, f.Name) {
			r.Values = append(r.Values, id[len(r.Values)])
			continue
		}
		r.Values = append(r.Values, g.values[f.Name])
	}
	return r
}

func (g *generator) set(name string, v types.Value, null bool) {
	if null {
		v = nil
	}
	g.values[name] = v
}

func (g *generator) null(names ...string) {
	for _, n := range names {
		g.values[n] = nil
	}
}

func (g *generator) newest(names ...string) {
	for _, n := range names {
		g.values[n] = g.clock
	}
}

// order sets the fields of sequence.field. It reports a row that is late, or may be,
// and whose values must not matter where order does.
func (g *generator) order(id []types.Value) (late bool) {
	s, z := g.clock/2, g.clock
	plain := g.c[rows] == "inserts" || g.c[drops] == "delete"
	may := g.c[engine] == "deduplicate" || g.c[engine] == "aggregation" && plain
	if g.c[sequence] != "none" && may && g.IntN(3) == 0 && g.visible(id) {
		s, late = s-g.Int64N(8), g.c[engine] != "deduplicate"
		z = g.Int64N(5)
		if g.IntN(4) == 0 {
			g.null("s")
			g.set("z", z, g.IntN(2) == 0)
			return late
		}
	}
	if g.c[sequence] == "descending" {
		s = -s
	}
	g.set("s", s, false)
	g.set("z", z, false)
	return late
}

// visible reports a key that has a row now.
func (g *generator) visible(id []types.Value) bool {
	_, ok, err := g.table.Row(g.table.Key(oracle.Row{Values: id}))
	if err != nil {
		panic(err)
	}
	return ok
}
