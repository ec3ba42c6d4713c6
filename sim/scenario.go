package sim

import (
	"strconv"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

var (
	place     = layout.Table{Dir: "/w/db.db/t"}
	tableName = table.Identifier{Database: "db", Table: "t"}
)

// scenario is what a run is about, laid out before it begins.
type scenario struct {
	profile     mem.Profile
	keyed       bool
	tracked     bool // rows have ids that stay
	partitioned bool
	options     map[string]string
	rates       rates
	jobs        []job
	operations  int // commits and scans planned
	writers     int
	consumer    int64 // of runs with expirers: what it reads next, 0 = there is none
}

// row is one row of the table. In append tables k is different in every row. In
// key tables the row of the highest s is the one that is read, whatever the order
// of commits.
type row struct {
	p string
	k int64
	s int64
	v string
}

func (r row) String() string {
	return r.p + "/" + strconv.FormatInt(r.k, 10) + "=" + r.v + "@" + strconv.FormatInt(r.s, 10)
}

var partitions = []string{"a", "b"}

// layOut draws a scenario.
func layOut(c *choices) *scenario {
	sc := &scenario{
		profile: pick(c, mem.Posix, mem.ObjectStore), keyed: c.percent(50), partitioned: c.percent(75),
		options: map[string]string{
			"file.compression": "none", "manifest.compression": "none",
			"manifest.merge-min-count":                pick(c, "2", "3", "30"),
			"manifest.full-compaction-threshold-size": pick(c, "1 b", "16 mb"),
			"commit.max-retries":                      pick(c, "10", "10", "10", "2"),
		},
	}
	switch {
	case sc.keyed:
		sc.options["bucket"] = pick(c, "1", "1", "2")
		sc.options["sequence.field"] = "s"
		sc.options["write-only"] = "true" // the simulation compacts by itself
	case c.percent(50):
		sc.options["bucket"], sc.options["bucket-key"] = "1", "k"
	case sc.options["manifest.merge-min-count"] != "30": // drawn with it
		sc.tracked = true
		sc.options["row-tracking.enabled"] = "true"
	}
	sc.rates = rates{
		fault: pick(c, 0, 3, 10, 30), publish: pick(c, 0, 10, 40),
		crashes: pick(c, 0, 1, 2, 3), crash: pick(c, 3, 10),
		stick: pick(c, 0, 50, 90), hold: pick(c, 0, 10, 40), clock: pick(c, 2, 10, 30),
		forced: int64(c.between(20, 150)),
	}
	rows := &rowSource{c: c, keyed: sc.keyed}
	// Most runs are small, so that many can be made; some are large.
	large := c.below(8) == 0
	add := func(j job, operations int) {
		sc.jobs = append(sc.jobs, j)
		sc.operations += operations
	}
	for i := range c.between(0, 2) {
		j := newCompactor("c"+strconv.Itoa(i+1), c)
		add(j, len(j.plans))
	}
	if c.percent(50) {
		j := newOverwriter("o", c, rows, sc.partitioned)
		add(j, len(j.plans))
	}
	if !sc.keyed && c.percent(50) {
		j := newRemover("d", c)
		add(j, len(j.plans))
	}
	r := newReader("r", c)
	add(r, len(r.waits))
	sc.writers = 3
	if large {
		sc.writers = 4
	}
	var writers []*writer
	for i := range sc.writers {
		units := c.between(2, 3)
		if large {
			units = c.between(4, 5)
		}
		if left := minOperations - sc.operations; i == sc.writers-1 && units < left {
			units = left
		}
		writers = append(writers, newWriter("w"+strconv.Itoa(i+1), units, c, rows))
		sc.operations += units
	}
	if c.percent(30) { // two or more of them in one process
		n := c.between(2, len(writers))
		add(newCrowd("p", writers[:n]...), 0)
		writers = writers[n:]
	}
	for _, w := range writers {
		add(w, 0)
	}
	return sc
}

// spec is the table of the scenario.
func (sc *scenario) spec() schema.Spec {
	s := schema.Spec{
		Fields: []types.Field{
			{Name: "p", Type: types.MustParse("STRING NOT NULL")},
			{Name: "k", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "s", Type: types.MustParse("BIGINT")},
			{Name: "v", Type: types.MustParse("STRING")},
		},
		Options: sc.options,
	}
	if sc.partitioned {
		s.PartitionKeys = []string{"p"}
	}
	if sc.keyed {
		s.PrimaryKeys = []string{"p", "k"}
	}
	return s
}

// rowSource makes rows. No two have one s.
type rowSource struct {
	c     *choices
	keyed bool
	last  int64
}

// minOperations is how many commits and scans a run has at least.
const minOperations = 10

// keys is how many keys a partition of a key table has: few, so that writers meet.
const keys = 4

func (r *rowSource) rows(n int) []row {
	out := make([]row, n)
	for i := range out {
		if r.last++; r.last >= maxRows {
			panic("a run writes more rows than a row set holds")
		}
		out[i] = row{p: partitions[r.c.below(len(partitions))], k: r.last, s: r.last, v: "v" + strconv.FormatInt(r.last, 10)}
		if r.keyed {
			out[i].k = int64(r.c.below(keys))
		}
	}
	return out
}
