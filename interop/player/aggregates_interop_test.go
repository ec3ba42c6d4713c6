//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// aggregated are the columns of a table with every aggregate function: the type, the
// function with its settings, and values.
var aggregated = []struct {
	column, function, settings string
	value                      func(*rand.Rand) any
}{
	{"INT", "sum", "", func(r *rand.Rand) any { return r.IntN(200) - 100 }},
	{"DECIMAL(20, 2)", "sum", "", func(r *rand.Rand) any { return fmt.Sprintf("%d.%02d", r.IntN(1000), r.IntN(100)) }},
	{"BIGINT", "product", "", func(r *rand.Rand) any { return []int{1, 2, 3, -1}[r.IntN(4)] }},
	{"DOUBLE", "max", "ignore-retract=true", func(r *rand.Rand) any { return float64(r.IntN(100)) / 4 }},
	{"STRING", "min", "ignore-retract=true", word},
	{"INT", "last_value", "", func(r *rand.Rand) any { return r.IntN(9) }},
	{"INT", "last_non_null_value", "", func(r *rand.Rand) any { return r.IntN(9) }},
	{"INT", "first_value", "ignore-retract=true", func(r *rand.Rand) any { return r.IntN(9) }},
	{"STRING", "first_non_null_value", "ignore-retract=true", word},
	{"STRING", "listagg", "ignore-retract=true list-agg-delimiter=;", word},
	{"STRING", "listagg", "ignore-retract=true distinct=true", word},
	{"BOOLEAN", "bool_and", "ignore-retract=true", func(r *rand.Rand) any { return r.IntN(4) > 0 }},
	{"BOOLEAN", "bool_or", "ignore-retract=true", func(r *rand.Rand) any { return r.IntN(4) == 0 }},
	{"ARRAY<INT>", "collect", "", list(func(r *rand.Rand) any { return r.IntN(5) })},
	{"ARRAY<STRING>", "collect", "distinct=true", list(word)},
	{"MAP<STRING, INT>", "merge_map", "", entries(func(r *rand.Rand) any { return r.IntN(50) })},
	{"MAP<STRING, ROW<v INT, t STRING>>", "merge_map_with_keytime", "ignore-retract=true", entries(func(r *rand.Rand) any {
		return map[string]any{"v": r.IntN(9), "t": fmt.Sprintf("2020-01-%02d", 1+r.IntN(28))}
	})},
	{"ARRAY<ROW<id INT, v STRING>>", "nested_update", "nested-key=id", list(member)},
	{"ARRAY<ROW<id INT, v STRING>>", "nested_update", "count-limit=7", list(member)},
	{"ARRAY<ROW<id INT, v STRING>>", "nested_partial_update", "nested-key=id ignore-retract=true", list(member)},
	{"BYTES", "rbm32", "ignore-retract=true", nil},
	{"BYTES", "rbm64", "ignore-retract=true", nil},
	{"BYTES", "hll_sketch", "ignore-retract=true", nil},
	{"BYTES", "theta_sketch", "ignore-retract=true", nil},
}

// A table with every aggregate function is written in several commits by Java and by
// Tarn: each snapshot is read by both alike, also after either has compacted it.
func TestEveryAggregate(t *testing.T) {
	t.Parallel()
	java := judges.of(t)
	pools := sketchPools(t, java)
	for name, options := range map[string]map[string]string{
		"level 0":   {"bucket": "1", "write-only": "true"},
		"compacted": {"bucket": "2", "num-sorted-run.compaction-trigger": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, uint64(len(name))))
			s := aggregateScenario(t, rnd, pools, options)
			last := aggregateWrites(t, rnd, pools, 1, map[string]any{"compact": "full", "options": map[string]string{"write-only": "false"}, "commit_id": 100})

			theirs := t.TempDir()
			if err := java.Scenario(t.Context(), theirs, s); err != nil {
				t.Fatal(err)
			}
			ours := t.TempDir()
			if err := replay(t.Context(), ours, s); err != nil {
				t.Fatal(err)
			}
			want := alike(t, java, theirs)
			if d := cmp.Diff(want, alike(t, java, ours)); d != "" {
				t.Errorf("tables written by Java and by Tarn: %s", d)
			}
			if err := open(t.Context(), theirs, "db.t", func(tbl table.Table) error {
				r, err := tbl.Compact(t.Context(), table.CompactOptions{})
				if err == nil && len(r.Snapshots) == 0 {
					t.Error("Tarn compacted nothing")
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, alike(t, java, theirs)); d != "" {
				t.Errorf("a table before and after Tarn compacted it: %s", d)
			}
			// Java merges what Tarn has merged, of its own rows and of Java's, further.
			var further [2][]string
			for i, warehouse := range []string{theirs, ours} {
				if err := java.Scenario(t.Context(), warehouse, last); err != nil {
					t.Fatal(err)
				}
				further[i] = alike(t, java, warehouse)
			}
			if d := cmp.Diff(further[0], further[1]); d != "" {
				t.Errorf("merged further by Java, of Java's rows and of Tarn's: %s", d)
			}
		})
	}
}

// alike reads each snapshot with Java and with Tarn and returns the lines of the last.
func alike(t *testing.T, java *interop.Judge, warehouse string) []string {
	t.Helper()
	c, err := java.Check(t.Context(), warehouse, "db.t")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range c.Snapshots {
		q := interop.Query{Warehouse: warehouse, Table: "db.t", Snapshot: s.ID}
		lines = read(t, java, q)
		if d := cmp.Diff(lines, read(t, itself{}, q)); d != "" {
			t.Fatalf("snapshot %d, read by Java and by Tarn: %s", s.ID, d)
		}
	}
	if len(lines) < 5 {
		t.Fatalf("%d rows are too few", len(lines))
	}
	return lines
}

func aggregateScenario(t *testing.T, rnd *rand.Rand, pools map[string][]string, options map[string]string) *interop.Scenario {
	columns, all := [][]string{{"k", "INT"}}, map[string]string{"merge-engine": "aggregation"}
	for k, v := range options {
		all[k] = v
	}
	for i, a := range aggregated {
		name := fmt.Sprintf("c%d", i)
		columns = append(columns, []string{name, a.column})
		all["fields."+name+".aggregate-function"] = a.function
		for _, setting := range strings.Fields(a.settings) {
			key, value, _ := strings.Cut(setting, "=")
			all["fields."+name+"."+key] = value
		}
	}
	create := map[string]any{"op": "create_table", "columns": columns, "primary_keys": []string{"k"}, "partition_keys": []string{}, "options": all}
	return aggregateWrites(t, rnd, pools, 6, nil, create)
}

// aggregateWrites is a scenario of commits after the operations given.
func aggregateWrites(t *testing.T, rnd *rand.Rand, pools map[string][]string, commits int, settings map[string]any, ops ...any) *interop.Scenario {
	for range commits {
		var rows [][]any
		for range 14 {
			row := []any{[]string{"+I", "+I", "+I", "+U", "-U", "-D"}[rnd.IntN(6)], rnd.IntN(9)}
			for _, a := range aggregated {
				switch {
				case rnd.IntN(5) == 0:
					row = append(row, nil)
				case a.value == nil:
					pool := pools[a.function]
					row = append(row, "hex:"+pool[rnd.IntN(len(pool))])
				default:
					row = append(row, a.value(rnd))
				}
			}
			rows = append(rows, row)
		}
		op := map[string]any{"op": "write", "rows": rows}
		for k, v := range settings {
			op[k] = v
		}
		ops = append(ops, op)
	}
	text, err := json.Marshal(map[string]any{"name": "aggregates", "table": "db.t", "ops": ops})
	if err != nil {
		t.Fatal(err)
	}
	s, err := interop.ParseScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sketchPools(t *testing.T, java *interop.Judge) map[string][]string {
	pools := map[string][]string{}
	for _, kind := range []string{"rbm32", "rbm64", "hll_sketch", "theta_sketch"} {
		for i, n := range []int{1, 3, 20, 600} {
			b, err := java.Sketch(t.Context(), interop.Sketch{Kind: kind, From: int64(i * 100), Step: 1 + int64(i%2)*2, Count: n})
			if err != nil {
				t.Fatal(err)
			}
			pools[kind] = append(pools[kind], b)
		}
	}
	return pools
}

func word(r *rand.Rand) any { return []string{"a", "b", "c", "a,b", "", "longer than some"}[r.IntN(6)] }

func member(r *rand.Rand) any { return map[string]any{"id": r.IntN(6), "v": word(r)} }

func list(value func(*rand.Rand) any) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		out := []any{}
		for range r.IntN(4) {
			out = append(out, value(r))
		}
		return out
	}
}

func entries(value func(*rand.Rand) any) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		out := []any{}
		for _, k := range []string{"x", "y", "z", "w"} {
			if r.IntN(2) == 0 {
				out = append(out, []any{k, value(r)})
			}
		}
		return out
	}
}
