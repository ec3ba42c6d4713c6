//go:build interopall

package flink

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// shape is a kind of table, of the columns p, k, v, n and s.
type shape struct {
	name    string
	engine  string // "" for a table without key; the key is p and k
	parted  bool   // by p
	options map[string]string
	kinds   string // of rows besides +I: "", "deletes", "updates"
}

const columnList = "p, k, v, n, s"

var columnTypes = [][]string{{"p", "STRING NOT NULL"}, {"k", "INT NOT NULL"}, {"v", "STRING"}, {"n", "BIGINT"}, {"s", "BIGINT"}}

// follows reports a shape whose changes Flink streams: Java has none to give of a
// table that merges and has no changelog.
func (s shape) follows() bool {
	return s.engine == "" || s.engine == "deduplicate" || s.options["changelog-producer"] != ""
}

func (s shape) all() map[string]string {
	out := map[string]string{"bucket": "2"}
	switch s.engine {
	case "":
		out["bucket"] = "-1"
	default:
		out["merge-engine"] = s.engine
		out["num-sorted-run.compaction-trigger"] = "3"
	}
	switch s.engine {
	case "aggregation":
		out["fields.n.aggregate-function"] = "sum"
		out["fields.v.aggregate-function"] = "listagg"
		out["fields.v.ignore-retract"] = "true"
		out["fields.s.aggregate-function"] = "max"
		out["fields.s.ignore-retract"] = "true"
	case "partial-update":
		if s.kinds == "" {
			out["fields.s.sequence-group"] = "n"
		}
	}
	maps.Copy(out, s.options)
	return out
}

// create is the operation that makes the table with Tarn.
func (s shape) create() op {
	o := op{"op": "create_table", "table": "db." + s.name, "columns": columnTypes, "options": s.all()}
	if s.engine != "" {
		o["primary_keys"] = []string{"p", "k"}
	}
	if s.parted {
		o["partition_keys"] = []string{"p"}
	}
	return o
}

// ddl is the statement that makes the table with Flink.
func (s shape) ddl() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (", s.name)
	for i, c := range columnTypes {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", c[0], c[1])
	}
	if s.engine != "" {
		b.WriteString(", PRIMARY KEY (p, k) NOT ENFORCED")
	}
	b.WriteString(")")
	if s.parted {
		b.WriteString(" PARTITIONED BY (p)")
	}
	b.WriteString(" WITH (")
	for i, key := range slices.Sorted(maps.Keys(s.all())) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "'%s'='%s'", key, s.all()[key])
	}
	b.WriteString(")")
	return b.String()
}

// changelogs are shapes of one merge engine under each changelog producer it may have.
func changelogs(prefix, engine, kinds string, producers ...string) (out []shape) {
	for i, producer := range producers {
		s := shape{name: prefix + "_" + strings.ReplaceAll(producer, "-", "_"), engine: engine, kinds: kinds, parted: i%2 == 1, options: map[string]string{}}
		if producer != "none" {
			s.options["changelog-producer"] = producer
		}
		switch {
		case producer == "lookup":
			s.options["file.format"] = "avro"
		case producer == "input":
			s.options["changelog-file.format"] = "avro"
		case producer == "full-compaction":
			s.options["file.format.per.level"] = "0:avro"
		}
		out = append(out, s)
	}
	return out
}

// everyShape are tables of each merge engine under each changelog producer it may
// have, and tables without keys.
func everyShape() []shape {
	out := []shape{
		{name: "append_plain"},
		{name: "append_bucketed", options: map[string]string{"bucket": "2", "bucket-key": "k", "file.format": "avro"}},
		{name: "append_parted", parted: true, options: map[string]string{"file.compression": "snappy"}},
		{name: "dedup_sequence", engine: "deduplicate", kinds: "deletes", options: map[string]string{"sequence.field": "s"}},
		{name: "partial_removing", engine: "partial-update", kinds: "deletes",
			options: map[string]string{"changelog-producer": "lookup", "partial-update.remove-record-on-delete": "true"}},
	}
	out = append(out, changelogs("dedup", "deduplicate", "updates", "none", "input", "lookup", "full-compaction")...)
	out = append(out, changelogs("partial", "partial-update", "", "none", "input", "lookup", "full-compaction")...)
	out = append(out, changelogs("sums", "aggregation", "deletes", "none", "input", "lookup", "full-compaction")...)
	return append(out, changelogs("first", "first-row", "", "none", "lookup")...)
}

func names(shapes []shape) (out []string) {
	for _, s := range shapes {
		out = append(out, s.name)
	}
	return out
}

// following are the shapes whose changes Flink streams.
func following(shapes []shape) (out []shape) {
	for _, s := range shapes {
		if s.follows() {
			out = append(out, s)
		}
	}
	return out
}

// generator makes rows of shapes.
type generator struct {
	*rand.Rand
	clock int64
}

const keys = 6 // of each of two p

// rows makes rows of one commit, each of another key: kind, then values.
func (g *generator) rows(s shape) (out [][]any) {
	for _, key := range g.Perm(2 * keys)[:4+g.IntN(5)] {
		g.clock++
		row := func(kind string) []any {
			r := []any{kind, []string{"a", "b"}[key%2], key / 2, fmt.Sprintf("v%d", g.IntN(100)), int64(g.IntN(100)), g.clock}
			if s.engine == "partial-update" || s.engine == "aggregation" {
				for i := 3; i < 5; i++ {
					if g.IntN(4) == 0 {
						r[i] = nil
					}
				}
			}
			return r
		}
		switch {
		case s.kinds == "" || g.IntN(3) > 0:
			r := row("+I")
			if s.options["sequence.field"] != "" && g.IntN(4) == 0 {
				r[5] = g.clock - 9 // late
			}
			out = append(out, r)
		case s.kinds == "deletes":
			out = append(out, row("-D"))
		default:
			out = append(out, row("-U"), row("+U"))
		}
	}
	return out
}
