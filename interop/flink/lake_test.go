//go:build interopall

package flink

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/interop/player"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// theGateway is started by the first test that asks for it.
var theGateway func() (*Gateway, error)

func runAll(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var started *Gateway
	theGateway = sync.OnceValues(func() (g *Gateway, err error) {
		started, err = Start(ctx)
		return started, err
	})
	code := m.Run()
	if started == nil {
		return code
	}
	if code != 0 {
		if path, err := started.KeepLog(); err == nil {
			fmt.Fprintln(os.Stderr, "the log of Flink:", path)
		}
	}
	if err := started.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// lake is a warehouse that Flink and Tarn share. Its tables are in database db.
type lake struct {
	*testing.T
	dir       string
	cat       catalog.Catalog
	batch     *Session // runtime mode batch
	streaming *Session // runtime mode streaming
	commits   int64    // of Tarn's, by user tarn
}

func newLake(t *testing.T) *lake {
	t.Helper()
	g, err := theGateway()
	if err != nil {
		t.Fatal(err)
	}
	l := &lake{T: t, dir: t.TempDir()}
	if l.cat, err = tarn.Open(t.Context(), l.dir, tarn.Config{Memory: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cat.Close() })
	if err := l.cat.CreateDatabase(t.Context(), "db", true); err != nil {
		t.Fatal(err)
	}
	l.batch, l.streaming = l.open(g, "batch"), l.open(g, "streaming")
	return l
}

func (l *lake) open(g *Gateway, mode string) *Session {
	l.Helper()
	s, err := g.Open(l.Context(), map[string]string{"execution.runtime-mode": mode})
	if err != nil {
		l.Fatal(err)
	}
	// Tables change behind its back.
	l.run(s, fmt.Sprintf("CREATE CATALOG lake WITH ('type'='paimon', 'warehouse'='file:%s', 'cache-enabled'='false')", l.dir))
	l.run(s, "USE CATALOG lake")
	l.run(s, "USE db")
	return s
}

func (l *lake) run(s *Session, statement string) *Result {
	l.Helper()
	r, err := s.Run(l.Context(), statement)
	if err != nil {
		l.Fatal(err)
	}
	return r
}

// sql runs a statement as a batch.
func (l *lake) sql(format string, args ...any) *Result {
	l.Helper()
	return l.run(l.batch, fmt.Sprintf(format, args...))
}

// op is an operation of a scenario.
type op map[string]any

// tarn carries operations out with Tarn.
func (l *lake) tarn(ops ...op) {
	l.Helper()
	for _, o := range ops {
		if o["op"] == "write" || o["op"] == "compact" {
			l.commits++
			o["user"], o["commit_id"] = "tarn", l.commits
		}
	}
	text, err := json.Marshal(map[string]any{"name": l.Name(), "ops": ops})
	if err != nil {
		l.Fatal(err)
	}
	s, err := interop.ParseScenario(text)
	if err != nil {
		l.Fatal(err)
	}
	if err := player.Play(l.Context(), l.cat, s); err != nil {
		l.Fatal(err)
	}
}

func (l *lake) table(name string) table.Table {
	l.Helper()
	t, err := l.cat.LoadTable(l.Context(), table.Identifier{Database: "db", Table: name})
	if err != nil {
		l.Fatal(err)
	}
	return t
}

// lines are the rows of a table as Tarn reads them.
func (l *lake) lines(name string, s table.Scan) []string {
	l.Helper()
	lines, err := player.Lines(l.Context(), l.table(name), s)
	if err != nil {
		l.Fatalf("%s: %v", name, err)
	}
	return lines
}

func (l *lake) latest(name string) int64 {
	l.Helper()
	s, err := l.table(name).Snapshot(l.Context(), 0)
	if err != nil {
		l.Fatalf("%s: %v", name, err)
	}
	return s.ID
}

// same compares what is meant to be equal, and to be something.
func same[T any](l *lake, what string, want, got map[string]T) {
	l.Helper()
	if d := cmp.Diff(want, got); d != "" {
		l.Errorf("%s (-Tarn +Flink):\n%s", what, d)
	}
	if len(want) == 0 {
		l.Errorf("%s: nothing to compare", what)
	}
}

// union reads several tables of the columns of shapes in one statement; from says
// what stands behind FROM for each.
func (l *lake) union(s *Session, names []string, columns string, from func(name string) string, where string) map[string][]Row {
	l.Helper()
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("SELECT '%s', %s FROM %s %s", n, columns, from(n), where))
	}
	out := map[string][]Row{}
	for _, r := range l.run(s, strings.Join(parts, "\nUNION ALL\n")).Rows {
		var name string
		if err := json.Unmarshal(r.Values[0], &name); err != nil {
			l.Fatal(err)
		}
		out[name] = append(out[name], Row{Kind: r.Kind, Values: r.Values[1:]})
	}
	return out
}

// read reads tables of shapes with Flink: canonical lines by table.
func (l *lake) read(names []string, from func(name string) string, where string) map[string][]string {
	l.Helper()
	out := map[string][]string{}
	for name, rows := range l.union(l.batch, names, columnList, from, where) {
		out[name] = l.canonical(name, rows)
		slices.Sort(out[name])
	}
	return out
}

func (l *lake) canonical(name string, rows []Row) []string {
	l.Helper()
	var names []string
	fields := l.table(name).Schema().Fields
	for _, f := range fields {
		names = append(names, f.Name)
	}
	lines, err := (&Result{Columns: names, Rows: rows}).Lines(fields)
	if err != nil {
		l.Fatal(err)
	}
	return lines
}

// changes are rows with their kinds, by key: what became of it, in order.
type changes map[string][]string

// tell adds a change; key says what the rows of one key share.
func (c changes) tell(key, kind, line string) {
	c[key] = append(c[key], kind+" "+line)
}

// changesByFlink streams tables from their first snapshot on, as long as the
// watermark of their snapshots is not above until, and reads their $audit_log.
func (l *lake) changesByFlink(shapes []shape, until int64) map[string]changes {
	l.Helper()
	from := func(name string) string {
		return fmt.Sprintf("`%s$audit_log` /*+ OPTIONS('scan.mode'='from-snapshot', 'scan.snapshot-id'='1', 'scan.bounded.watermark'='%d', 'continuous.discovery-interval'='20 ms') */",
			name, until)
	}
	out := map[string]changes{}
	for name, rows := range l.union(l.streaming, names(shapes), "rowkind, "+columnList, from, "") {
		c := changes{}
		kinds := make([]string, len(rows))
		for i := range rows {
			if err := json.Unmarshal(rows[i].Values[0], &kinds[i]); err != nil {
				l.Fatal(err)
			}
			rows[i].Values = rows[i].Values[1:]
		}
		for i, line := range l.canonical(name, rows) {
			c.tell(keyOf(l.T, line), kinds[i], line)
		}
		out[name] = c
	}
	return l.ordered(shapes, out)
}

// changesByTarn follows tables from their first snapshot on up to the one given.
func (l *lake) changesByTarn(shapes []shape, to map[string]int64) map[string]changes {
	l.Helper()
	out := map[string]changes{}
	for _, s := range shapes {
		lines, err := player.Changes(l.Context(), l.table(s.name), to[s.name])
		if err != nil {
			l.Fatalf("%s: %v", s.name, err)
		}
		c := changes{}
		for _, line := range lines {
			kind, rest, _ := strings.Cut(strings.TrimPrefix(line, `{"_kind":"`), `",`)
			rest = "{" + rest
			c.tell(keyOf(l.T, rest), kind, rest)
		}
		out[s.name] = c
	}
	return l.ordered(shapes, out)
}

// ordered puts the rows of tables without keys in one order: they have none.
func (l *lake) ordered(shapes []shape, of map[string]changes) map[string]changes {
	for _, s := range shapes {
		if s.engine == "" {
			for _, rows := range of[s.name] {
				slices.Sort(rows)
			}
		}
	}
	return of
}

// keyOf is the key of a row of shapes.
func keyOf(t *testing.T, line string) string {
	t.Helper()
	var row struct {
		P string `json:"p"`
		K int    `json:"k"`
	}
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return fmt.Sprint(row.P, row.K)
}

// folded is the table that changes make of nothing.
func folded(c changes) []string {
	out := []string{}
	for _, rows := range c {
		last := rows[len(rows)-1]
		if kind, line, _ := strings.Cut(last, " "); kind == types.Insert.String() || kind == types.UpdateAfter.String() {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
