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
	writer
	sequence
	rows
	kinds
	drops
	buckets
	format
	partitions
	thin
	buffer
)

var axes = []axis{
	engine:     {"merge engine", []string{"deduplicate", "partial-update", "partial-update-removing", "groups", "groups-removing", "aggregation", "aggregation-removing", "first-row"}},
	producer:   {"changelog", []string{"none", "input", "lookup", "full-compaction"}},
	equal:      {"equal rows", []string{"told", "left-out"}},
	compaction: {"compaction", []string{"in-writer", "late", "forced", "each-commit", "every-second", "gentle", "write-only-full", "write-only-minor"}},
	writer:     {"writer", []string{"stream", "batches"}},
	sequence:   {"sequence", []string{"none", "one", "two", "descending"}},
	rows:       {"rows", []string{"inserts", "deletes", "updates"}},
	kinds:      {"row kinds", []string{"given", "field"}},
	drops:      {"ignored", []string{"nothing", "delete", "update-before"}},
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

// config is one value of each axis.
type config [14]string

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

// legal reports a config whose table takes its rows, and of which it is known what
// comes out.
func (c config) legal() bool {
	for _, p := range c.pairs() {
		if _, bad := refused[p]; bad {
			return false
		}
	}
	if c[rows] == "inserts" || c[drops] == "delete" {
		return true
	}
	switch c[engine] {
	case "partial-update", "first-row": // take no rows that take others back
		return false
	case "aggregation", "aggregation-removing":
		// What takes a row back sets the sequence field to null, as it does any
		// last_value: where such rows stand depends on what they were merged with before.
		computed := c[engine] == "aggregation" || c[rows] == "updates" && c[drops] != "update-before"
		return c[sequence] == "none" || !computed
	}
	return true
}

// configs draws n legal configs: each holds a pair that none before it held, as
// long as there are such, and is random otherwise. missing are the pairs that no
// config was found for.
func configs(n int, seed uint64) (out []config, missing []pair) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	open := map[pair]bool{}
	for _, p := range allPairs() {
		open[p] = refused[p] == ""
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

func draw(rnd *rand.Rand, want pair, fixed bool) (c config, ok bool) {
	var e string // drawn first and kept for a while: some engines go with little
	for try := range 1000 {
		for a := range axes {
			c[a] = axes[a].values[rnd.IntN(len(axes[a].values))]
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
