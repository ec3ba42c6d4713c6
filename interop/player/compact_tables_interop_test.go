//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/types"
)

// turned is a table that Java and Tarn write and compact in turns. Its key is p and k,
// its partition p, or there is none.
type turned struct {
	name      string
	parted    bool
	options   map[string]string
	deletes   string // kind of the rows that take others back, "" for none
	updates   bool   // some rows come as -U and +U
	late      bool   // some rows are late by column s
	removes   bool   // a row that is taken back is gone for good
	fullEvery int    // every how many pairs of rounds compactions are full

	model   *oracle.Table
	keys    []turnedKey
	next    int                 // k that was never there
	written map[string][][]any  // rows of each key that could be taken back
	folded  map[string]string   // what the changes have made of nothing, by key
	seen    int64               // the last snapshot whose changes are told
	sent    map[string][]string // the changes of this round as they were written
	counts  map[string]int      // of what happened, for it must
}

type turnedKey struct {
	p string
	k int
}

var turnedColumns = [][]string{
	{"p", "STRING NOT NULL"}, {"k", "INT NOT NULL"}, {"v", "STRING"}, {"n", "BIGINT"}, {"m", "BIGINT"}, {"c", "ARRAY<INT>"}, {"s", "BIGINT"},
}

// turnedTables are tables of each merge engine under each changelog producer.
func turnedTables() []*turned {
	partial := map[string]string{"merge-engine": "partial-update", "fields.s.sequence-group": "v,n", "fields.n.aggregate-function": "sum"}
	sums := map[string]string{"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.m.aggregate-function": "product",
		"fields.c.aggregate-function": "collect", "fields.s.aggregate-function": "max", "fields.s.ignore-retract": "true"}
	first := map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}
	with := func(base map[string]string, more ...string) map[string]string {
		out := maps.Clone(base)
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	dedup := map[string]string{"merge-engine": "deduplicate"}
	const yes, lookup, full = "true", "lookup", "full-compaction"
	return []*turned{
		// Its levels differ in format, compression and statistics, and its files have no
		// columns of the key.
		{name: "dedup_none", deletes: "-D", late: true, options: with(dedup, "bucket", "3", "write-only", yes, "sequence.field", "s",
			"file.format.per.level", "0:avro", "file.compression.per.level", "0:snappy,5:none", "metadata.stats-mode.per.level", "0:none",
			"data-file.thin-mode", yes, "num-levels", "6")},
		{name: "dedup_input", parted: true, deletes: "-D", updates: true, options: with(dedup, "bucket", "1", "changelog-producer", "input", "changelog-file.format", "avro")},
		{name: "dedup_lookup", parted: true, deletes: "-D", late: true, options: with(dedup, "bucket", "3", "write-only", yes, "changelog-producer", lookup, "sequence.field", "s")},
		{name: "dedup_full", deletes: "-D", updates: true, options: with(dedup, "bucket", "1", "write-only", yes, "changelog-producer", full)},
		{name: "partial_none", deletes: "-U", late: true, options: with(partial, "bucket", "3", "write-only", yes, "file.format", "avro")},
		{name: "partial_lookup", parted: true, deletes: "-D", late: true, options: with(partial, "bucket", "1", "changelog-producer", lookup)},
		{name: "partial_full", deletes: "-D", late: true, removes: true, options: with(partial, "bucket", "1", "write-only", yes,
			"changelog-producer", full, "partial-update.remove-record-on-sequence-group", "s")},
		{name: "sums_input", deletes: "-D", options: with(sums, "bucket", "1", "write-only", yes, "changelog-producer", "input")},
		{name: "sums_lookup", deletes: "-U", options: with(sums, "bucket", "3", "write-only", yes, "changelog-producer", lookup)},
		{name: "sums_full", parted: true, deletes: "-D", removes: true, options: with(sums, "bucket", "1", "write-only", yes,
			"changelog-producer", full, "aggregation.remove-record-on-delete", yes, "fields.s.ignore-retract", "false")},
		{name: "first_none", deletes: "-D", options: with(first, "bucket", "1", "write-only", yes)},
		{name: "first_lookup", parted: true, deletes: "-D", options: with(first, "bucket", "1", "changelog-producer", lookup)},
	}
}

func (s *turned) engine() string   { return s.options["merge-engine"] }
func (s *turned) producer() string { return s.options["changelog-producer"] }

// writersCompact reports a table whose writers compact beside what they write.
func (s *turned) writersCompact() bool { return s.options["write-only"] != "true" }

// looksUp reports a table whose compactions take in what they look up: there they never
// fold new rows without the old row.
func (s *turned) looksUp() bool { return s.producer() == "lookup" || s.engine() == "first-row" }

// told reports a table whose changes can be followed.
func (s *turned) told() bool { return s.producer() != "" || s.engine() == "deduplicate" }

// tellsTable reports a round after which the changes told make the table.
func (s *turned) tellsTable(full bool) bool {
	switch s.producer() {
	case "lookup":
		return true
	case "full-compaction":
		return full
	case "input":
		return s.engine() == "deduplicate" && !s.late
	}
	return false
}

func (s *turned) create() map[string]any {
	options := map[string]string{"num-sorted-run.compaction-trigger": "2", "manifest.merge-min-count": "5", "scan.manifest.parallelism": "1"}
	maps.Copy(options, s.options)
	op := map[string]any{"op": "create_table", "table": "db." + s.name, "columns": turnedColumns, "primary_keys": []string{"p", "k"}, "options": options}
	if s.parted {
		op["partition_keys"] = []string{"p"}
	}
	return op
}

// begin makes the table's model, empty.
func (s *turned) begin(m *oracle.Table) {
	s.model, s.written, s.folded, s.counts = m, map[string][][]any{}, map[string]string{}, map[string]int{}
	s.fullEvery = 3
	if s.producer() == "full-compaction" {
		s.fullEvery = 2
	}
	for s.next = range 10 {
		s.keys = append(s.keys, turnedKey{[]string{"a", "b"}[s.next%2], s.next})
	}
}

// full reports whether the compactions of a round are: of both of a pair of rounds.
func (s *turned) full(round int) bool { return (round+1)/2%s.fullEvery == 0 }

// rows makes the rows of a round's commit and adds them to the model. Each key comes
// once, or as -U and +U. What the engines of both make of some rows depends on what is
// compacted when, so there are none of these:
//   - rows that are late behind a delete, which a compaction may have forgotten,
//   - rows that take others back where a compaction could fold them without those, or
//     that there is nothing to take back of,
//   - rows of a key behind one that removed it from sums or partial updates.
func (s *turned) rows(rnd *rand.Rand, round int) (out [][]any) {
	s.sent = map[string][]string{}
	takesBack := s.deletes != "" && (s.engine() == "deduplicate" || s.looksUp() || s.full(round))
	for _, i := range rnd.Perm(len(s.keys))[:1+rnd.IntN(4)] {
		key := s.keys[i]
		row := []any{"+I", key.p, key.k, fmt.Sprintf("round %d of %d", round, key.k), rnd.IntN(100), 1 + rnd.IntN(3), []int{rnd.IntN(9), rnd.IntN(9)}, round * 10}
		name := s.model.Key(oracleRow(row))
		old, live, _ := s.model.Row(name)
		if s.engine() == "aggregation" || s.engine() == "partial-update" {
			for _, nullable := range []int{3, 4, 5, 6} {
				if rnd.IntN(5) == 0 {
					row[nullable] = nil
				}
			}
		}
		if s.late && live && rnd.IntN(3) == 0 {
			row[7] = round*10 - rnd.IntN(40)
			s.counts["late"]++
		}
		switch {
		case takesBack && live && rnd.IntN(4) == 0:
			if s.engine() == "aggregation" { // one that was written
				of := s.written[name]
				n := rnd.IntN(len(of))
				row = slices.Clone(of[n])
				s.written[name] = slices.Delete(of, n, n+1)
			}
			row[0] = s.deletes
			s.counts["taken back"]++
		case s.updates && live && rnd.IntN(3) == 0:
			before := slices.Clone(row)
			before[0], row[0] = "-U", "+U"
			for c, v := range old.Values {
				before[1+c] = v
			}
			s.add(name, before)
			out = append(out, before)
			s.counts["updated"]++
		default:
			s.written[name] = append(s.written[name], row)
		}
		s.add(name, row)
		out = append(out, row)
		_, stays, _ := s.model.Row(name)
		switch {
		case s.removes && live && !stays,
			s.engine() == "aggregation" && len(s.written[name]) == 0,
			s.engine() == "first-row" && rnd.IntN(4) == 0: // of an old key there is nothing new
			s.next++
			s.keys[i] = turnedKey{key.p, s.next}
		}
	}
	return out
}

func (s *turned) add(name string, row []any) {
	r := oracleRow(row)
	s.model.Write(r)
	s.sent[name] = append(s.sent[name], row[0].(string)+" "+turnedLine(r))
}

// oracleRow is a row as the model takes it.
func oracleRow(row []any) oracle.Row {
	kind, err := types.ParseRowKind(row[0].(string))
	if err != nil {
		panic(err)
	}
	out := oracle.Row{Kind: kind}
	for _, v := range row[1:] {
		switch x := v.(type) {
		case int:
			v = int64(x)
		case []int:
			list := []types.Value{}
			for _, e := range x {
				list = append(list, int64(e))
			}
			v = list
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// turnedLine is a row as a canonical line.
func turnedLine(r oracle.Row) string {
	var b strings.Builder
	for i, v := range r.Values {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, `%c"%s":%s`, "{,"[min(i, 1)], turnedColumns[i][0], text)
	}
	return b.String() + "}"
}

// modelled are the rows of the model.
func (s *turned) modelled(t *testing.T) []string {
	t.Helper()
	rows, err := s.model.Rows()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for key := range rows {
		r, _, err := s.model.Row(key)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, turnedLine(r))
	}
	slices.Sort(out)
	return out
}
