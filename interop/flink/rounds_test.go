//go:build interopall

package flink

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

const rounds = 50

// turned are tables of each merge engine. Whoever writes to dedup_lookup compacts it,
// the others are compacted by jobs of their own.
func turned() []shape {
	shapes := []shape{
		{name: "dedup", engine: "deduplicate", kinds: "deletes", options: map[string]string{"sequence.field": "s", "changelog-producer": "input"}},
		{name: "dedup_lookup", engine: "deduplicate", kinds: "updates", parted: true, options: map[string]string{"changelog-producer": "lookup", "bucket": "1"}},
		{name: "first", engine: "first-row", options: map[string]string{"changelog-producer": "lookup", "bucket": "1"}},
		{name: "partial", engine: "partial-update", parted: true, options: map[string]string{"changelog-producer": "lookup", "file.format": "avro"}},
		{name: "sums", engine: "aggregation", options: map[string]string{"changelog-producer": "full-compaction"}},
	}
	for _, s := range shapes {
		s.options["manifest.merge-min-count"] = "5" // each statement reads all there are
		if s.name != "dedup_lookup" {
			s.options["write-only"] = "true"
		}
	}
	return shapes
}

// Tarn and Flink write to the same tables and compact them in turns, minor and in
// full, either what it or what the other has written: after each round both read the
// rows of the model, and in the end both tell the same changes.
func TestTurns(t *testing.T) {
	l := newLake(t)
	shapes := turned()
	models := map[string]*oracle.Table{}
	var writeOnly []shape
	for i, s := range shapes {
		if i%2 == 0 {
			l.tarn(s.create())
		} else {
			l.sql("%s", s.ddl())
		}
		models[s.name] = oracle.NewTable(l.table(s.name).Schema())
		if s.options["write-only"] != "" {
			writeOnly = append(writeOnly, s)
		}
	}
	g := &generator{Rand: rand.New(rand.NewPCG(50, 1))}
	deletes := map[string]int{}
	for round := 1; round <= rounds; round++ {
		flinkWrites, flinkCompacts, full := round%2 == 0, round%4 < 2, g.IntN(3) == 0
		var inserts []string
		for _, s := range shapes {
			rows := g.fit(s, models[s.name], flinkWrites)
			if flinkWrites {
				inserts = append(inserts, insert(s.name, rows))
			} else {
				l.tarn(op{"op": "write", "table": "db." + s.name, "rows": rows})
			}
		}
		if flinkWrites {
			l.statements(inserts)
			if round%8 == 0 {
				name := []string{"dedup", "dedup_lookup"}[round/8%2]
				deletes[name] += l.deleteByFlink(g, name, models[name])
			}
		}
		if flinkCompacts {
			l.compactByFlink(writeOnly, full)
		} else {
			for _, s := range writeOnly {
				l.compact(s, full)
			}
		}
		what := fmt.Sprintf("round %d, Flink writes %v and compacts %v, full %v", round, flinkWrites, flinkCompacts, full)
		byTarn, byModel := map[string][]string{}, map[string][]string{}
		for _, s := range shapes {
			byTarn[s.name], byModel[s.name] = l.lines(s.name, table.Scan{}), modelled(t, models[s.name])
		}
		same(l, what+", the model", byTarn, byModel)
		same(l, what, byTarn, l.read(names(shapes), func(name string) string { return name }, ""))
		if t.Failed() {
			t.FailNow()
		}
	}
	if deletes["dedup"] == 0 || deletes["dedup_lookup"] == 0 {
		t.Errorf("Flink has deleted nothing of some table: %v", deletes)
	}
	to := map[string]int64{}
	for _, s := range shapes {
		if by := l.compactions(s.name); by["tarn"] < rounds/10 || by["Flink"] < rounds/10 {
			t.Errorf("%s: compactions by each: %v", s.name, by)
		}
		l.compact(s, true)
		to[s.name] = l.latest(s.name)
	}
	l.mark(shapes)
	byTarn := l.changesByTarn(shapes, to)
	same(l, "changes", byTarn, l.changesByFlink(shapes, marked-1))
	for _, s := range shapes[1:] { // the first tells late rows as they came
		if want, got := modelled(t, models[s.name]), folded(byTarn[s.name]); !slices.Equal(want, got) {
			t.Errorf("%s: the changes make %q of nothing, the model has %q", s.name, got, want)
		}
	}
}

// compactions counts the snapshots of a table that compactions made, by tarn and by Flink.
func (l *lake) compactions(name string) map[string]int {
	l.Helper()
	out := map[string]int{}
	for s, err := range l.table(name).Snapshots(l.Context()) {
		if err != nil {
			l.Fatalf("%s: %v", name, err)
		}
		switch {
		case s.CommitKind != "COMPACT":
		case s.CommitUser == "tarn":
			out["tarn"]++
		default: // a user for each job
			out["Flink"]++
		}
	}
	return out
}

// fit makes rows of a commit, and adds them to the model. Rows that are late come
// only where there is a row: a compaction may have forgotten a delete, and how new
// it was.
func (g *generator) fit(s shape, m *oracle.Table, insertsOnly bool) [][]any {
	if insertsOnly {
		s.kinds = ""
	}
	rows := g.rows(s)
	for _, r := range rows {
		if _, live, _ := m.Row(m.Key(modelRow(r))); !live && r[5].(int64) < g.clock-9 {
			g.clock++
			r[5] = g.clock
		}
		m.Write(modelRow(r))
	}
	return rows
}

// modelRow is a row as the model takes it.
func modelRow(r []any) oracle.Row {
	kind, err := types.ParseRowKind(r[0].(string))
	if err != nil {
		panic(err)
	}
	out := oracle.Row{Kind: kind}
	for _, v := range r[1:] {
		if i, ok := v.(int); ok {
			v = int64(i)
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// modelled are the rows of a model as canonical lines.
func modelled(t *testing.T, m *oracle.Table) []string {
	t.Helper()
	rows, err := m.Rows()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		r, _, err := m.Row(key)
		if err != nil {
			t.Fatal(err)
		}
		line := "{"
		for i, v := range r.Values {
			text := "null"
			switch v := v.(type) {
			case string:
				text = fmt.Sprintf("%q", v)
			case int64:
				text = fmt.Sprint(v)
			}
			line += fmt.Sprintf(`"%s":%s,`, columnTypes[i][0], text)
		}
		out = append(out, line[:len(line)-1]+"}")
	}
	slices.Sort(out)
	return out
}

// deleteByFlink deletes the rows of one k.
func (l *lake) deleteByFlink(g *generator, name string, m *oracle.Table) (deleted int) {
	l.Helper()
	k := g.IntN(keys)
	l.sql("DELETE FROM %s WHERE k = %d", name, k)
	for _, p := range []string{"a", "b"} {
		if r, live, _ := m.Row(fmt.Sprintf("%s/%d", p, k)); live {
			r.Kind = types.Delete
			m.Write(r)
			deleted++
		}
	}
	return deleted
}

// compactByFlink compacts tables in one job.
func (l *lake) compactByFlink(shapes []shape, full bool) {
	l.Helper()
	strategy := map[bool]string{true: "full", false: "minor"}[full]
	l.sql("CALL sys.compact_database(including_databases => 'db', mode => 'divided', including_tables => 'db\\.(%s)', compact_strategy => '%s')",
		strings.Join(names(shapes), "|"), strategy)
}
