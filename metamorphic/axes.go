package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// axis is one thing that histories differ in.
type axis struct {
	name   string
	values []string
}

const (
	engine = iota
	producer
	equal
	compaction
	lookups
	early
	writer
	sequence
	rows
	kinds
	drops
	functions
	buckets
	format
	partitions
	thin
	buffer
)

var axes = []axis{
	engine:     {"merge engine", []string{"deduplicate", "partial-update", "partial-update-removing", "groups", "groups-removing", "aggregation", "aggregation-removing", "first-row"}},
	producer:   {"changelog", []string{"none", "input", "lookup", "lookup-later", "full-compaction"}},
	equal:      {"equal rows", []string{"told", "left-out", "left-out-but-d"}},
	compaction: {"compaction", []string{"in-writer", "late", "forced", "each-commit", "every-second", "write-only-full", "write-only-minor"}},
	lookups:    {"lookups", []string{"as-needed", "forced", "gentle", "gentle-forced", "radical"}},
	early:      {"picks", []string{"by-runs", "by-clock", "small-total", "much-new", "off-peak", "stop"}},
	writer:     {"writer", []string{"stream", "stream-as-told", "stream-ahead", "stream-far-ahead", "batches"}},
	sequence:   {"sequence", []string{"none", "one", "two", "descending"}},
	rows:       {"rows", []string{"inserts", "deletes", "updates"}},
	kinds:      {"row kinds", []string{"given", "field"}},
	drops:      {"ignored", []string{"nothing", "delete", "update-before"}},
	functions:  {"functions", []string{"plain", "numbers", "lists", "maps", "tables", "sets"}},
	buckets:    {"buckets", []string{"1", "2", "3"}},
	format:     {"format", []string{"parquet", "avro", "per-level"}},
	partitions: {"partitioned", []string{"no", "yes"}},
	thin:       {"thin", []string{"no", "yes"}},
	buffer:     {"memory", []string{"ample", "flushing", "spilling"}},
}

// value is one value of one axis.
type value struct {
	axis int
	name string
}

func (v value) String() string { return axes[v.axis].name + "=" + v.name }

// pair is two values of different axes, the smaller axis first.
type pair [2]value

func (p pair) String() string { return p[0].String() + " with " + p[1].String() }

// refused are the pairs that Java refuses when the table is made: the reason is
// part of what Tarn says.
var refused = map[pair]string{
	{{engine, "first-row"}, {sequence, "one"}}:               "takes no sequence.field",
	{{engine, "first-row"}, {sequence, "two"}}:               "takes no sequence.field",
	{{engine, "first-row"}, {sequence, "descending"}}:        "takes no sequence.field",
	{{engine, "first-row"}, {producer, "input"}}:             "none and lookup only",
	{{engine, "first-row"}, {producer, "full-compaction"}}:   "none and lookup only",
	{{engine, "partial-update-removing"}, {drops, "delete"}}: "ignored and removed on delete at once",
	{{engine, "groups-removing"}, {drops, "delete"}}:         "ignored and removed on delete at once",
}

// unplayed are the pairs that make a table, of which there is no history, and why.
var unplayed = map[pair]string{
	{{producer, "full-compaction"}, {lookups, "forced"}}:         "Tarn does not write it: lookups beside full-compaction",
	{{producer, "full-compaction"}, {lookups, "gentle-forced"}}:  "Tarn does not write it: lookups beside full-compaction",
	{{compaction, "forced"}, {writer, "stream-far-ahead"}}:       "each commit waits for its compactions",
	{{compaction, "each-commit"}, {writer, "stream-far-ahead"}}:  "each commit waits for its compactions",
	{{compaction, "every-second"}, {writer, "stream-far-ahead"}}: "every second commit waits for its compactions",
	{{early, "stop"}, {writer, "stream-far-ahead"}}:              "writes wait for compactions",
}

// config is one value of each axis.
type config [17]string

func (c config) String() string {
	var b strings.Builder
	for a, v := range c {
		fmt.Fprintf(&b, "  %s=%s\n", axes[a].name, v)
	}
	return b.String()
}

// pairs are all pairs in a config.
func (c config) pairs() (out []pair) {
	for a := range c {
		for b := a + 1; b < len(c); b++ {
			out = append(out, pair{{a, c[a]}, {b, c[b]}})
		}
	}
	return out
}

// allPairs are all pairs there are, the refused ones included.
func allPairs() (out []pair) {
	for a := range axes {
		for b := a + 1; b < len(axes); b++ {
			for _, v := range axes[a].values {
				for _, w := range axes[b].values {
					out = append(out, pair{{a, v}, {b, w}})
				}
			}
		}
	}
	return out
}

// legal reports a config whose table takes its rows.
func (c config) legal() bool {
	for _, p := range c.pairs() {
		if !p.legal() {
			return false
		}
	}
	takesBack := c[engine] != "partial-update" && c[engine] != "first-row"
	return takesBack || c[rows] == "inserts" || c[drops] == "delete"
}

// legal reports a pair that histories are to hold.
func (p pair) legal() bool { return refused[p] == "" && unplayed[p] == "" }

// looksUp reports a table whose compactions take all of level 0 along.
func (c config) looksUp() bool {
	return c[engine] == "first-row" || strings.HasPrefix(c[producer], "lookup") || strings.HasSuffix(c[lookups], "forced")
}

// gentle reports a table that lets some chances to look up pass.
func (c config) gentle() bool { return strings.HasPrefix(c[lookups], "gentle") }

// settles reports a commit, counted from 1, after which each key has one row compacted of
// all, as far as readers, followers and later compactions can see.
func (c config) settles(commit int) bool {
	waits := c[writer] == "stream" || c[writer] == "batches" ||
		c[writer] == "stream-as-told" && c.looksUp() && c[producer] != "lookup-later"
	switch {
	case strings.HasPrefix(c[compaction], "write-only"):
		return false
	case c[compaction] == "each-commit", c[producer] == "full-compaction" && c[compaction] != "every-second" && c[writer] != "stream-far-ahead",
		c[compaction] == "every-second" && (c[writer] == "batches" || commit%2 == 0):
		return true
	}
	return c.looksUp() && !c.gentle() && waits
}

// configs draws n legal configs: each holds a pair that none before it held, and of some
// that do the one with most such pairs, as long as there are any, and is random otherwise. missing are the pairs that no
// config was found for.
func configs(n int, seed uint64) (out []config, missing []pair) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	open := map[pair]bool{}
	for _, p := range allPairs() {
		open[p] = p.legal()
	}
	todo := allPairs()
	rnd.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	for len(out) < n {
		var want pair
		var fixed bool
		for len(todo) > 0 && !fixed {
			want, todo = todo[0], todo[1:]
			fixed = open[want]
		}
		c, ok := draw(rnd, want, fixed)
		if !ok {
			missing = append(missing, want)
			continue
		}
		const choice = 16
		for range choice {
			if !fixed {
				break
			}
			if other, ok := draw(rnd, want, fixed); ok && other.fresh(open) > c.fresh(open) {
				c = other
			}
		}
		for _, p := range c.pairs() {
			open[p] = false
		}
		out = append(out, c)
	}
	for _, p := range todo {
		if open[p] {
			missing = append(missing, p)
		}
	}
	return out, missing
}

// fresh counts the pairs of a config that are open.
func (c config) fresh(open map[pair]bool) (n int) {
	for _, p := range c.pairs() {
		if open[p] {
			n++
		}
	}
	return n
}

func draw(rnd *rand.Rand, want pair, fixed bool) (c config, ok bool) {
	var e string // drawn first and kept for a while: some engines go with little
	for try := range 1000 {
		for a := range axes {
			c[a] = axes[a].values[rnd.IntN(len(axes[a].values))]
			if dear := a == functions || a == buffer; dear && !fixed && rnd.IntN(3) > 0 {
				c[a] = axes[a].values[0]
			}
		}
		if try%100 == 0 {
			e = c[engine]
		}
		c[engine] = e
		if fixed {
			c[want[0].axis], c[want[1].axis] = want[0].name, want[1].name
		}
		if c.legal() {
			return c, true
		}
	}
	return c, false
}
