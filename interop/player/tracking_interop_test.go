//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
)

// Java, pypaimon and Tarn write to one table with row tracking, and Java and Tarn
// compact it and overwrite parts of it: after each step all read the same ids and
// numbers, which stay with their rows, are dense and never given twice. (In Parquet:
// Java 1.4.2 cannot read $row_tracking of its own Avro files.)
func TestRowIDsTakeTurns(t *testing.T) {
	t.Parallel()
	j, p := implementations(t)
	q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
	play := func(by implementation, op string) {
		t.Helper()
		s, err := interop.ParseScenario([]byte(`{"name":"t","table":"db.t","ops":[` + op + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := by.Scenario(t.Context(), q.Warehouse, s); err != nil {
			t.Fatalf("%T: %v", by, err)
		}
	}
	play(j, `{"op":"create_table","columns":[["d","STRING"],["k","INT"],["v","STRING"]],"partition_keys":["d"],
				"options":{"row-tracking.enabled":"true","compaction.min.file-num":"2"}}`)
	writers := []implementation{itself{}, j, p}
	compactors := []implementation{itself{}, j}
	rnd := rand.New(rand.NewPCG(7, 77))
	ids := map[string]string{} // by row: its id and number
	moved := map[string]bool{} // lines of rows that were moved to another file
	k, next := 0, int64(0)
	for round := 1; round <= 16; round++ {
		days := []string{"x", "y"}[:1+rnd.IntN(2)]
		var rows [][]any
		for _, d := range days {
			for range 1 + rnd.IntN(3) {
				k++
				rows = append(rows, []any{"+I", d, k, fmt.Sprint("v", k)})
			}
		}
		text, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		by := writers[round%len(writers)]
		overwrite := ""
		if round%8 == 0 {
			by, overwrite = compactors[round/8%2], `,"mode":"batch","overwrite":{}`
			for row := range ids {
				if slices.Contains(days, row[strings.Index(row, `:"`)+2:][:1]) {
					delete(ids, row)
				}
			}
		}
		user := fmt.Sprintf("%T", by)
		if overwrite != "" { // batches have no identifiers that grow
			user = fmt.Sprint("overwriter", round)
		}
		play(by, fmt.Sprintf(`{"op":"write","user":%q,"commit_id":%d,"rows":%s%s}`, user, round, text, overwrite))
		all := tracked(t, j, q)
		given := map[string]bool{}
		for _, l := range all {
			row, is := cutIDs(l)
			if was, known := ids[row]; known && was != is {
				t.Fatalf("round %d: row %s has %s, it had %s", round, row, is, was)
			} else if !known {
				given[is] = true
				var id, number int64
				fmt.Sscanf(is, "%d %d", &id, &number)
				if id < next || id >= next+int64(len(rows)) {
					t.Fatalf("round %d: %T gives %s the id %d; %d ids from %d on were to be given", round, by, row, id, len(rows), next)
				}
			}
			ids[row] = is
		}
		if len(given) != len(rows) || len(ids) != len(all) {
			t.Fatalf("round %d: %d rows have %d ids; %d rows in all, want %d", round, len(rows), len(given), len(all), len(ids))
		}
		next += int64(len(rows))
		if round%3 == 0 {
			by := compactors[round/3%2]
			files := read(t, j, interop.Query{Warehouse: q.Warehouse, Table: "db.t$files", Project: []string{"partition"}})
			play(by, fmt.Sprintf(`{"op":"compact","user":"c%T","commit_id":%d}`, by, round))
			for _, d := range []string{"x", "y"} { // where there were two files at least
				if n := len(slices.DeleteFunc(slices.Clone(files), func(l string) bool { return !strings.Contains(l, "{"+d+"}") })); n > 1 {
					for _, l := range all {
						if strings.Contains(l, `"d":"`+d+`"`) {
							moved[l] = true
						}
					}
				}
			}
		}
		want := tracked(t, j, q)
		if diff := cmp.Diff(all, want); diff != "" {
			t.Fatalf("round %d, compaction (-before +after):\n%s", round, diff)
		}
		if diff := cmp.Diff(want, tracked(t, itself{}, q)); diff != "" {
			t.Fatalf("round %d (-java +tarn):\n%s", round, diff)
		}
		own := q
		own.Project = []string{"d", "k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"}
		if diff := cmp.Diff(forPython(want, moved), read(t, p, own)); diff != "" {
			t.Fatalf("round %d (-java +pypaimon):\n%s", round, diff)
		}
		for _, sys := range []interop.Query{
			{Table: "db.t$snapshots", Project: []string{"snapshot_id", "commit_kind", "next_row_id"}},
			{Table: "db.t$manifests", Project: []string{"file_name", "min_row_id", "max_row_id"}},
			{Table: "db.t$files", Project: []string{"file_path", "first_row_id", "write_cols", "min_sequence_number", "max_sequence_number", "min_value_stats", "max_value_stats", "null_value_counts"}},
		} {
			sys.Warehouse = q.Warehouse
			if diff := cmp.Diff(read(t, j, sys), named(read(t, itself{}, sys), q.Warehouse)); diff != "" {
				t.Fatalf("round %d, %s (-java +tarn):\n%s", round, sys.Table, diff)
			}
		}
	}
	for _, s := range checked(t, j, q) {
		if s.Error != "" {
			t.Errorf("judge on snapshot %d: %s", s.ID, s.Error)
		}
	}
}

// forPython are lines as pypaimon 2.1 reads them: it knows the ids that a commit gave
// to a file, and not those that a file holds of moved rows.
func forPython(lines []string, moved map[string]bool) []string {
	out := slices.Clone(lines)
	for i, l := range lines {
		if moved[l] {
			out[i] = regexp.MustCompile(`"_ROW_ID":\d+`).ReplaceAllString(l, `"_ROW_ID":null`)
		}
	}
	slices.Sort(out)
	return out
}

// tracked are the rows with their ids and numbers.
func tracked(t *testing.T, i implementation, q interop.Query) []string {
	t.Helper()
	q.Table += "$row_tracking"
	return read(t, i, q)
}

// cutIDs takes ids off a line.
func cutIDs(line string) (row, ids string) {
	m := regexp.MustCompile(`^(.*),"_ROW_ID":(\d+),"_SEQUENCE_NUMBER":(\d+)}$`).FindStringSubmatch(line)
	return m[1], m[2] + " " + m[3]
}

// named puts the word for the warehouse in place of its directory, as the judge does.
func named(lines []string, warehouse string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.ReplaceAll(l, "file:"+warehouse, "$WAREHOUSE")
	}
	return out
}

// A filter, also one on ids and numbers, finds the same rows with the same ids in what
// Java and Tarn have written, whatever it lets them skip.
func TestFiltersOnRowIDs(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
	var rows []string
	for i := range 300 {
		rows = append(rows, fmt.Sprintf(`["+I",%d,"v%d"]`, i, i%7))
	}
	s, err := interop.ParseScenario([]byte(`{"name":"t","table":"db.t","ops":[
		{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"options":{"row-tracking.enabled":"true","parquet.page.row.count.limit":"20"}},
		{"op":"write","rows":[` + strings.Join(rows[:200], ",") + `]},{"op":"write","rows":[` + strings.Join(rows[200:], ",") + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, writer := range []implementation{itself{}, j} {
		q.Warehouse = t.TempDir()
		if err := writer.Scenario(t.Context(), q.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		all := tracked(t, j, q)
		for filter, match := range map[string]func(k, id, number int64) bool{
			`k = 150`: nil, `v = "v3"`: nil, `k >= 250`: nil,
			// Java 1.4.2 cannot plan a read with a filter on these.
			`_ROW_ID = 201`:                    func(_, id, _ int64) bool { return id == 201 },
			`_ROW_ID in [3, 199, 200]`:         func(_, id, _ int64) bool { return id == 3 || id == 199 || id == 200 },
			`_SEQUENCE_NUMBER = 2 AND k < 210`: func(k, _, number int64) bool { return number == 2 && k < 210 },
		} {
			q := q
			q.Filter = filter
			var want []string
			if match == nil {
				want = tracked(t, j, q)
			} else {
				for _, l := range all {
					var k, id, number int64
					row, is := cutIDs(l)
					fmt.Sscanf(row, `{"k":%d`, &k)
					fmt.Sscanf(is, "%d %d", &id, &number)
					if match(k, id, number) {
						want = append(want, l)
					}
				}
			}
			if diff := cmp.Diff(want, tracked(t, itself{}, q)); diff != "" || len(want) == 0 {
				t.Errorf("%T writes, %s (-java +tarn):\n%s", writer, filter, diff)
			}
		}
	}
}
