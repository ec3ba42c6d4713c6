//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/interop"
)

// Java reads the statistics that we commit as its own, and those that the next
// snapshot took over.
func TestStatisticsLikeJavas(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	ours := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
	theirs := ours
	theirs.Warehouse = t.TempDir()
	for _, op := range []string{
		`{"op":"create_table","columns":[["k","INT"],["v","DOUBLE"],["p","STRING"]],"primary_keys":["k"],"options":{"bucket":"1"}}`,
		`{"op":"write","mode":"batch","rows":[["+I",1,1.5,"a"],["+I",2,null,"b"]]}`,
		`{"op":"analyze","merged_rows":2,"merged_size":1234,"columns":{"k":{"distinct":2,"min":1,"max":2,"nulls":0,"avg_len":4,"max_len":4},
			"v":{"distinct":1,"min":1.5,"max":1.5,"nulls":1},"p":{"distinct":2,"min":"a","max":"b","nulls":0,"avg_len":1,"max_len":1}}}`,
		`{"op":"write","mode":"batch","rows":[["+I",3,3.0,"c"]]}`,
	} {
		s, err := interop.ParseScenario([]byte(`{"name":"t","table":"db.t","ops":[` + op + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Scenario(t.Context(), theirs.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		var kind struct{ Op string }
		if err := json.Unmarshal([]byte(op), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Op != "analyze" {
			if err := replay(t.Context(), ours.Warehouse, s); err != nil {
				t.Fatal(err)
			}
			continue
		}
		stats := &snapshot.Statistics{SnapshotID: 1, MergedRows: given(int64(2)), MergedBytes: given(int64(1234)), Columns: map[string]snapshot.ColumnStatistics{
			"k": {ColumnID: 0, Distinct: given(int64(2)), Min: given("1"), Max: given("2"), Nulls: given(int64(0)), AvgLen: given(int64(4)), MaxLen: given(int64(4))},
			"v": {ColumnID: 1, Distinct: given(int64(1)), Min: given("1.5"), Max: given("1.5"), Nulls: given(int64(1))},
			"p": {ColumnID: 2, Distinct: given(int64(2)), Min: given("a"), Max: given("b"), Nulls: given(int64(0)), AvgLen: given(int64(1)), MaxLen: given(int64(1))},
		}}
		committer, _ := commitStage(t, ours.Warehouse, "t")
		if _, err := committer.Commit(t.Context(), commit.Request{User: "u", Identifier: snapshot.BatchIdentifier, Statistics: stats}); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []interop.Query{
		{System: "statistics"},
		{System: "snapshots", Project: []string{"snapshot_id", "schema_id", "commit_identifier", "commit_kind", "total_record_count", "delta_record_count"}},
	} {
		var got [2][]any
		for i, side := range []interop.Query{theirs, ours} {
			q.Warehouse, q.Table = side.Warehouse, side.Table
			for _, line := range read(t, j, q) {
				got[i] = append(got[i], statisticsLine(t, line))
			}
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" || len(got[0]) == 0 {
			t.Errorf("$%s (-Java's +Tarn's): %v\n%s", q.System, got[0], diff)
		}
	}
}

// statisticsLine decodes a line, and the columns in it, whose order is Java's chance.
func statisticsLine(t *testing.T, line string) map[string]any {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatal(err)
	}
	if text, ok := row["colstat"].(string); ok {
		var columns map[string]any
		if err := json.Unmarshal([]byte(text), &columns); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", text, err))
		}
		row["colstat"] = columns
	}
	return row
}

func given[T any](v T) *T { return &v }
