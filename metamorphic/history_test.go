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
	drawn
}

type commit struct {
	batches [][]oracle.Row
	// compact asks for a compaction behind the commit: of the whole table in full, or
	// what the options find worth it.
	full, minor bool
}

// settledBy reports a commit with a compaction behind it that does what [config.settles]
// says.
func (c config) settledBy(one commit) bool {
	return one.full || one.minor && c.looksUp() && !c.gentle()
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

// generator makes rows of which there is one outcome, as [ways] has it. Wild ones it
// just tries: late ones, by sequence.field, rows with equal and without sequences, such
// as take back what is not there. Where that fails it makes tame ones, with which it
// seldom does:
//
//   - rows that fold take a row back only where there is one, or where an aggregation
//     looks up old rows with each commit, which makes a row of it,
//   - a row that was removed comes back whole and newer,
//   - rows come in the order of sequence.field,
//   - what is taken back is null where a function goes by values that are not null.
type generator struct {
	*rand.Rand
	c      config
	s      *schema.Schema
	table  *oracle.Table
	ways   *ways
	clock  int64
	known  map[string]*state
	keys   int
	wild   bool                   // what the row being made is
	values map[string]types.Value // of the row being made
	drawn
}

// drawn counts rows that are older than one before them, by sequence.field, and of
// these the ones that take a row back.
type drawn struct{ late, lateBack int }

// state is what the generator knows of a key.
type state struct {
	live    bool  // it has a row that can be taken back
	removed bool  // the last row removed it
	newest  int64 // the largest s
}

func newHistory(c config, s *schema.Schema, seed uint64) history {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), c: c, s: s, table: oracle.NewTable(s), known: map[string]*state{}}
	g.ways = newWays(g.table, c)
	g.keys = 2 + g.IntN(9)
	h := history{config: c}
	for i := range 2 + g.IntN(3) {
		var one commit
		for range 1 + g.IntN(2) {
			var rows []oracle.Row
			for range 1 + g.IntN(6) {
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
		if c.settles(i+1) || c.settledBy(one) {
			g.ways.settle()
			if err := g.table.Compact(c.looksUp()); err != nil {
				panic(err)
			}
		}
		h.commits = append(h.commits, one)
	}
	h.drawn = g.drawn
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
		st = &state{newest: -100}
		g.known[key] = st
	}
	const tries = 4
	for try := range tries {
		g.wild = try < tries-1
		rows, after, lone := g.draw(id, *st)
		if try == tries-2 {
			g.thin(rows)
		}
		if len(rows) == 0 || !g.ways.take(g.table.Key(rows[0]), lone, rows...) {
			continue
		}
		for _, r := range rows {
			g.order(r, &after)
		}
		*st = after
		g.table.Write(rows...)
		return rows
	}
	return nil
}

// thin leaves most values out.
func (g *generator) thin(rows []oracle.Row) {
	for _, r := range rows {
		for i, f := range g.s.Fields {
			if !slices.Contains(g.s.PrimaryKeys, f.Name) && !slices.Contains([]string{"s", "z", "rk"}, f.Name) && g.IntN(3) > 0 {
				r.Values[i] = nil
			}
		}
	}
}

// order takes note of a row's sequence.
func (g *generator) order(r oracle.Row, st *state) {
	s, ok := r.Values[g.s.Index("s")].(int64)
	if !ok || g.c[sequence] == "none" || g.table.Drops(r.Kind) {
		return
	}
	if g.c[sequence] == "descending" {
		s = -s
	}
	if s < st.newest {
		if g.late++; r.Kind.IsRetract() {
			g.lateBack++
		}
	}
	st.newest = max(st.newest, s)
}

// draw makes the next rows of a key, and what is known of it then. lone rows may come
// before any others.
func (g *generator) draw(id []types.Value, st state) (out []oracle.Row, after state, lone bool) {
	free := g.c[engine] == "deduplicate" || g.c[drops] == "delete" // rows need not fit
	if g.c[engine] == "aggregation-removing" && st.removed && !g.wild {
		return nil, st, false
	}
	folds := strings.HasPrefix(g.c[engine], "groups") || strings.HasPrefix(g.c[engine], "aggregation")
	fits := st.live || g.wild && folds && g.IntN(4) == 0
	switch {
	case g.c[rows] == "inserts" || g.IntN(3) > 0:
	case g.c[rows] == "deletes" || g.IntN(2) == 0:
		if free || fits || g.c[engine] == "partial-update-removing" {
			removes := !free && strings.HasSuffix(g.c[engine], "-removing")
			r := g.row(id, types.Delete, &st)
			st.live, st.removed = st.live && !removes, st.removed || removes
			return []oracle.Row{r}, st, false
		}
	case free:
		return []oracle.Row{g.row(id, types.UpdateBefore, &st), g.row(id, types.UpdateAfter, &st)}, st, false
	case fits:
		before := g.row(id, types.UpdateBefore, &st)
		if now, ok, err := g.table.Row(g.table.Key(before)); err != nil {
			panic(err)
		} else if ok && (g.c[engine] == "partial-update-removing" || g.wild && g.IntN(2) == 0) {
			before.Values = slices.Clone(now.Values)
			if i := g.s.Index("rk"); i >= 0 {
				before.Values[i] = before.Kind.String()
			}
		}
		st.live = true
		return []oracle.Row{before, g.row(id, types.UpdateAfter, &st)}, st, false
	}
	kind := types.Insert
	if k, ok := g.alone(); ok && !st.live && !st.removed && g.IntN(2) == 0 {
		kind, lone = k, true
	}
	r := g.row(id, kind, &st)
	st.live, st.removed = true, false
	return []oracle.Row{r}, st, lone
}

// alone is the kind of rows that may take back what is not there.
func (g *generator) alone() (types.RowKind, bool) {
	everyCommit := g.c.settles(1) && g.c.looksUp()
	if !strings.HasPrefix(g.c[engine], "aggregation") || !everyCommit || g.c[drops] != "nothing" {
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

// row makes a row of a key.
func (g *generator) row(id []types.Value, kind types.RowKind, st *state) oracle.Row {
	g.clock++
	g.values = map[string]types.Value{}
	for _, name := range []string{"a", "b", "c", "d"} {
		v := g.Int64N(5) - 1
		if v == 0 { // a product that is taken back is divided by it
			v = 3
		}
		g.set(name, v, g.IntN(3) == 0)
	}
	g.set("e", fmt.Sprint("e", g.clock%7), g.IntN(3) == 0)
	set := setsOfFunctions[g.c[functions]]
	g.set("x", g.value(set.x), g.IntN(3) == 0)
	g.set("y", g.value(set.y), g.IntN(3) == 0)
	for _, name := range []string{"g", "h", "i"} {
		g.set(name, g.clock-g.Int64N(6), g.IntN(4) == 0)
	}
	g.set("rk", kind.String(), false)
	g.sequence()
	if !g.wild && kind.IsRetract() && g.c[drops] != "delete" {
		g.tame(kind)
	}
	if !g.wild && st.removed && !kind.IsRetract() { // back, whole and newer
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

// tame leaves out what a row that takes another back must not say.
func (g *generator) tame(kind types.RowKind) {
	g.null("x", "y")
	switch e := g.c[engine]; {
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
		if g.c[functions] != "plain" {
			g.null("a", "b", "c")
		}
		if e == "aggregation-removing" {
			g.null("e", "g", "h", "i")
			if kind == types.Delete {
				g.null("a", "b", "c")
			}
		}
	}
}

// sequence sets the fields of sequence.field: of wild rows to what may be older than what
// there is, as new, or null.
func (g *generator) sequence() {
	s, z := g.clock/2, g.clock
	if g.wild && g.c[sequence] != "none" && g.IntN(2) == 0 {
		s, z = s-g.Int64N(8), g.Int64N(5)
	}
	if g.c[sequence] == "descending" {
		s = -s
	}
	g.set("s", s, g.wild && g.IntN(8) == 0)
	g.set("z", z, g.wild && g.IntN(4) == 0)
}
