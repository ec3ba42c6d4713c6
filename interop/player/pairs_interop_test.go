//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/metamorphic"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
)

// Tarn writes a short history to a table of each pair of option values, Java reads it: the
// rows, the changes, and these folded are the rows where a compaction tells them.
func TestJavaReadsTablesOfAllPairs(t *testing.T) {
	t.Parallel()
	warehouse := t.TempDir()
	cat, err := tarn.Open(t.Context(), warehouse, tarn.Config{Memory: 64 << 20, Workers: 1, Durability: fileio.OS})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Close() })
	var tables []metamorphic.Table
	var questions []interop.Asked
	var ours [][]string // what Tarn reads: rows, changes, of each table
	for _, p := range metamorphic.Tables() {
		if p.Refused != "" {
			continue
		}
		q := interop.Query{Table: fmt.Sprint("db.t", len(tables)+1)}
		if err := Play(t.Context(), cat, pairHistory(t, q.Table, p.Spec)); err != nil {
			t.Fatalf("%v, of\n%s", err, p.Values)
		}
		tables = append(tables, p)
		questions = append(questions, interop.Asked{Query: q}, interop.Asked{Query: q, From: "earliest"})
		rows, changes := readPair(t, warehouse, q.Table)
		ours = append(ours, rows, changes)
	}
	answers, err := judges.of(t).ReadAll(t.Context(), warehouse, questions)
	if err != nil {
		t.Fatal(err)
	}
	var rows, changes, folded int
	for i, p := range tables {
		theirs := answers[2*i : 2*i+2]
		told := slices.Clone(theirs[1].Lines)
		slices.Sort(theirs[1].Lines)
		for n, what := range []string{"rows", "changes"} {
			if diff := cmp.Diff(theirs[n].Lines, ours[2*i+n], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-read by Java +by Tarn): %s\nof\n%s", what, diff, p.Values)
			}
		}
		rows += len(theirs[0].Lines)
		changes += len(theirs[1].Lines)
		switch p.Spec.Options["changelog-producer"] {
		case "lookup", "full-compaction":
			folded++
			if diff := cmp.Diff(statesOf(t, p.Spec, theirs[0].Lines), foldChanges(t, p.Spec, told), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the table as Java reads it (-rows +changes folded): %s\nof\n%s", diff, p.Values)
			}
		}
	}
	t.Logf("%d tables, %d rows, %d changes, %d folded", len(tables), rows, changes, folded)
	if len(tables) < 100 || rows < 3*len(tables) || changes < 6*len(tables) || folded < 30 {
		t.Errorf("%d tables, %d rows, %d changes, %d folded", len(tables), rows, changes, folded)
	}
}

// readPair reads a table and its changes, both sorted.
func readPair(t *testing.T, warehouse, name string) (rows, changes []string) {
	t.Helper()
	err := open(t.Context(), warehouse, name, func(tbl table.Table) error {
		var last int64
		for s, err := range tbl.Snapshots(t.Context()) {
			if err != nil {
				return err
			}
			last = max(last, s.ID)
		}
		var err error
		if rows, err = Lines(t.Context(), tbl, table.Scan{}); err != nil {
			return err
		}
		changes, err = numberedChanges(t.Context(), tbl, table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: last})
		return err
	})
	if err != nil {
		t.Fatalf("Tarn reads %s: %v", name, err)
	}
	slices.Sort(changes)
	return rows, changes
}

// pairHistory makes a table and writes inserts, updates and, where it takes them, rows that
// take others back; in the end it is compacted in full.
func pairHistory(t *testing.T, name string, s schema.Spec) *interop.Scenario {
	t.Helper()
	var columns [][2]string
	for _, f := range s.Fields {
		columns = append(columns, [2]string{f.Name, f.Type.String()})
	}
	ops := []map[string]any{{
		"op": "create_table", "columns": columns, "primary_keys": s.PrimaryKeys, "partition_keys": s.PartitionKeys, "options": s.Options,
	}}
	clock := 0
	write := func(kinds string) { // of the keys 0, 1, …
		var rows [][]any
		for k, kind := range strings.Fields(kinds) {
			clock++
			if kind == ".." {
				continue
			}
			rows = append(rows, pairRow(s, kind, k, clock))
		}
		ops = append(ops, map[string]any{"op": "write", "user": "tarn", "rows": rows, "keep_writer": true})
	}
	write("+I +I +I +I +I")
	if takesBack(s) {
		write("+U +I -D -D .. +I +I")
		write(".. .. .. +I +I -D +U")
	} else {
		write("+U +I +I +I .. +I +I")
		write(".. .. .. +I +I +I +U")
	}
	ops = append(ops, map[string]any{"op": "compact", "full": true})
	for _, op := range ops {
		op["table"] = name
	}
	text, err := json.Marshal(map[string]any{"name": name, "table": name, "ops": ops})
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := interop.ParseScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	return scenario
}

// takesBack reports a table that takes rows of kind -D.
func takesBack(s schema.Spec) bool {
	switch s.Options["merge-engine"] {
	case "partial-update":
		groups := slices.ContainsFunc(slices.Collect(maps.Keys(s.Options)), func(k string) bool { return strings.HasSuffix(k, ".sequence-group") })
		return groups || s.Options["partial-update.remove-record-on-delete"] == "true" || s.Options["ignore-delete"] == "true"
	case "first-row":
		return s.Options["ignore-delete"] == "true"
	}
	return true
}

// pairRow is a row of key k, newer than all with a smaller clock.
func pairRow(s schema.Spec, kind string, k, clock int) []any {
	row := []any{kind}
	if s.Options["rowkind.field"] != "" {
		row[0] = "+I"
	}
	for i, f := range s.Fields {
		var v any
		switch {
		case f.Name == "p":
			v = fmt.Sprint("p", k%2)
		case f.Name == "k":
			v = k
		case f.Name == "rk":
			v = kind
		case strings.Contains("s,z,g,h,i", f.Name):
			v = clock
		case (clock+i)%3 == 0: // null, for a change
		case f.Type.String() == "BIGINT":
			v = clock%7 + 1
		case f.Type.String() == "STRING":
			v = fmt.Sprint("e", clock)
		case f.Type.String() == "BOOLEAN":
			v = clock%2 == 0
		case f.Type.String() == "ARRAY<INT>":
			v = []int{k, clock}
		}
		row = append(row, v)
	}
	return row
}

// rowState is a row by its key. What a table's changes leave out is not in it.
func rowState(t *testing.T, s schema.Spec, line string) (key, kind, text string) {
	t.Helper()
	var row map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for _, k := range s.PrimaryKeys {
		key += string(row[k]) + " "
	}
	kind = strings.Trim(string(row["_kind"]), `"`)
	delete(row, "_kind")
	delete(row, "_snapshot")
	delete(row, s.Options["changelog-producer.row-deduplicate-ignore-fields"])
	out, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return key, kind, string(out)
}

func statesOf(t *testing.T, s schema.Spec, lines []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lines {
		key, _, text := rowState(t, s, l)
		out[key] = text
	}
	return out
}

// foldChanges are the rows that changes leave, in their order. What takes a row back takes
// the one there is.
func foldChanges(t *testing.T, s schema.Spec, lines []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lines {
		key, kind, text := rowState(t, s, l)
		before, there := out[key]
		switch kind {
		case "+I", "+U":
			if kind == "+I" && there {
				t.Errorf("%s is inserted, but there already", l)
			}
			out[key] = text
		default:
			if before != text {
				t.Errorf("%s is taken back, but there is %q", l, before)
			}
			delete(out, key)
		}
	}
	return out
}
