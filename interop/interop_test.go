//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The counterparts, started by the first test that asks for them. They end with
// the context of run.
var (
	theJudge  func() (*Judge, error)
	thePython func() (*Python, error)
)

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var started []*peer
	theJudge = sync.OnceValues(func() (*Judge, error) {
		j, err := StartJudge(ctx)
		if err == nil {
			started = append(started, j.peer)
		}
		return j, err
	})
	thePython = sync.OnceValues(func() (*Python, error) {
		p, err := StartPython(ctx)
		if err == nil {
			started = append(started, p.peer)
		}
		return p, err
	})
	code := m.Run()
	for _, p := range started {
		p.Close()
	}
	return code
}

func judge(t *testing.T) *Judge {
	t.Helper()
	j, err := theJudge()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func python(t *testing.T) *Python {
	t.Helper()
	p, err := thePython()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func scenario(t *testing.T, name string) *Scenario {
	t.Helper()
	s, err := LoadScenario(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, s *Scenario) []string {
	t.Helper()
	lines, err := s.WrittenLines()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

type reader interface {
	Read(context.Context, Query) (*Rows, error)
}

func lines(t *testing.T, r reader, q Query) []string {
	t.Helper()
	rows, err := r.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return rows.Lines
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Every scalar and nested type, by each writer to each reader, value by value.
func TestTypes(t *testing.T) {
	j, p := judge(t), python(t)
	s := scenario(t, "types.json")
	want := written(t, s)
	for _, writer := range []struct {
		name  string
		write func(context.Context, string, any) error
	}{{"judge", j.Scenario}, {"pypaimon", p.Scenario}} {
		q := Query{Warehouse: t.TempDir(), Table: s.Table}
		if err := writer.write(t.Context(), q.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		same(t, "written by "+writer.name+", read by judge", lines(t, j, q), want)
		same(t, "written by "+writer.name+", read by pypaimon", lines(t, p, q), want)
	}
}

// What pypaimon has not, or spells otherwise: multisets, variants and times beyond
// nanoseconds of 64 bits.
func TestTypesOfJavaAlone(t *testing.T) {
	j := judge(t)
	more, err := ParseScenario([]byte(`{"ops":[
		{"op":"create_table","columns":[["id","INT"],["v","VARIANT"],["ts9","TIMESTAMP(9)"]]},
		{"op":"write","rows":[
			["+I",1,"{\"a\":[1,2.5,null,true],\"b\":{\"c\":\"x\"}}","0001-01-01T00:00:00.000000001"],
			["+I",2,null,"9999-12-31T23:59:59.999999999"],
			["+I",3,"\"text\"",null]]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Scenario{scenario(t, "types-java.json"), more} {
		q := Query{Warehouse: t.TempDir(), Table: s.Table}
		if err := j.Scenario(t.Context(), q.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		same(t, "read by judge", lines(t, j, q), written(t, s))
	}
}

// pypaimon reads Java's nanoseconds. The other way Java takes pypaimon's Parquet
// timestamps of nanoseconds for microseconds, so that is no exchange to rely on.
func TestNanoseconds(t *testing.T) {
	s, err := ParseScenario([]byte(`{"ops":[
		{"op":"create_table","columns":[["id","INT"],["ts9","TIMESTAMP(9)"],["tz9","TIMESTAMP(9) WITH LOCAL TIME ZONE"]]},
		{"op":"write","rows":[
			["+I",1,"2262-04-11T23:47:16.854775807","1970-01-01T00:00:00.000000001Z"],
			["+I",2,"1969-12-31T23:59:59.999999999","1677-09-21T00:12:43.145224193Z"],
			["+I",3,null,null]]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Warehouse: t.TempDir(), Table: s.Table}
	if err := judge(t).Scenario(t.Context(), q.Warehouse, s); err != nil {
		t.Fatal(err)
	}
	same(t, "read by judge", lines(t, judge(t), q), written(t, s))
	same(t, "read by pypaimon", lines(t, python(t), q), written(t, s))
}

// A partitioned key table through commits, compaction, tags and rollback.
func TestKeyTable(t *testing.T) {
	j, p := judge(t), python(t)
	s := scenario(t, "key-table.json")
	q := Query{Warehouse: t.TempDir(), Table: s.Table}
	if err := j.Scenario(t.Context(), q.Warehouse, s); err != nil {
		t.Fatal(err)
	}
	atLast := []string{
		`{"day":"2024-01-01","id":1,"v":"b","n":2}`,
		`{"day":"2024-01-01","id":2,"v":null,"n":9}`,
		`{"day":"2024-01-02","id":1,"v":"z","n":1}`,
	}
	same(t, "judge", lines(t, j, q), atLast)
	same(t, "pypaimon", lines(t, p, q), atLast)

	first := q
	first.Snapshot = 1
	atFirst := []string{
		`{"day":"2024-01-01","id":1,"v":"a","n":1}`,
		`{"day":"2024-01-01","id":2,"v":null,"n":1}`,
		`{"day":"2024-01-01","id":3,"v":"c","n":1}`,
	}
	same(t, "judge, snapshot 1", lines(t, j, first), atFirst)
	same(t, "pypaimon, snapshot 1", lines(t, p, first), atFirst)
	first.Snapshot, first.Tag = 0, "first"
	same(t, "judge, tag", lines(t, j, first), atFirst)

	narrow := q
	narrow.Filter, narrow.Project, narrow.Kind = `n >= 2 and v is not null`, []string{"v", "id"}, true
	same(t, "judge, filter and projection", lines(t, j, narrow), []string{`{"_kind":"+I","v":"b","id":1}`})

	snapshots := q
	snapshots.System, snapshots.Project = "snapshots", []string{"snapshot_id", "commit_kind", "commit_user", "watermark"}
	want := []string{
		`{"snapshot_id":1,"commit_kind":"APPEND","commit_user":"writer","watermark":5}`,
		`{"snapshot_id":2,"commit_kind":"APPEND","commit_user":"writer","watermark":5}`,
		`{"snapshot_id":3,"commit_kind":"COMPACT","commit_user":"writer","watermark":5}`,
	}
	same(t, "judge, $snapshots", lines(t, j, snapshots), want)

	check, err := j.Check(t.Context(), q.Warehouse, q.Table)
	if err != nil {
		t.Fatal(err)
	}
	wantCheck := &Check{Rows: 3, Snapshots: []CheckedSnapshot{
		{ID: 1, Kind: "APPEND", Rows: 3, Digest: Digest(atFirst)},
		{ID: 2, Kind: "APPEND", Rows: 3, Digest: Digest(atLast)},
		{ID: 3, Kind: "COMPACT", Rows: 3, Digest: Digest(atLast)},
	}}
	if diff := cmp.Diff(wantCheck, check); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if check, err = p.Check(t.Context(), q.Warehouse, q.Table); err != nil {
		t.Fatal(err)
	}
	for i := range wantCheck.Snapshots {
		wantCheck.Snapshots[i].Kind = ""
	}
	if diff := cmp.Diff(wantCheck, check); diff != "" {
		t.Errorf("pypaimon's check (-want +got):\n%s", diff)
	}

	changes, err := j.Stream(t.Context(), q, "2", 2)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(changes.Lines) // the order of buckets is not promised
	same(t, "stream of snapshot 2", changes.Lines, []string{
		`{"_snapshot":2,"_kind":"+I","day":"2024-01-02","id":1,"v":"z","n":1}`,
		`{"_snapshot":2,"_kind":"+U","day":"2024-01-01","id":1,"v":"b","n":2}`,
		`{"_snapshot":2,"_kind":"+U","day":"2024-01-01","id":2,"v":null,"n":9}`,
		`{"_snapshot":2,"_kind":"-D","day":"2024-01-01","id":3,"v":"c","n":1}`,
	})
}

// Messages and splits leave Java in its own bytes and come back.
func TestMessagesAndSplits(t *testing.T) {
	j := judge(t)
	s := scenario(t, "key-table.json")
	q := Query{Warehouse: t.TempDir(), Table: s.Table}
	if err := j.Scenario(t.Context(), q.Warehouse, s); err != nil {
		t.Fatal(err)
	}
	before := lines(t, j, q)
	messages, err := j.Prepare(t.Context(), Write{
		Warehouse: q.Warehouse, Table: q.Table, User: "remote", Identifier: 7,
		Rows: [][]any{{"+I", "2024-01-03", 4, "new", 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after prepare", lines(t, j, q), before)
	splits, err := j.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	id, err := j.Commit(t.Context(), Commit{
		Warehouse: q.Warehouse, Table: q.Table, User: "remote", Identifier: 7, Messages: messages,
	})
	if err != nil || id != 4 {
		t.Fatalf("commit: snapshot %d, %v", id, err)
	}
	after := append(slices.Clone(before), `{"day":"2024-01-03","id":4,"v":"new","n":1}`)
	same(t, "after commit", lines(t, j, q), after)
	q.Splits = splits
	same(t, "splits planned before the commit", lines(t, j, q), before)
}

func TestLinesToAFile(t *testing.T) {
	for _, r := range []reader{judge(t), python(t)} {
		s := scenario(t, "types.json")
		q := Query{Warehouse: t.TempDir(), Table: s.Table}
		if err := judge(t).Scenario(t.Context(), q.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		want := lines(t, r, q)
		q.Out = filepath.Join(t.TempDir(), "out.jsonl")
		rows, err := r.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(q.Out)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("%T", r), strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), want)
		if rows.Lines != nil || rows.Count != int64(len(want)) {
			t.Errorf("%T: reply has %d lines and %d rows", r, len(rows.Lines), rows.Count)
		}
	}
}

func TestTypesAreNamedAlike(t *testing.T) {
	s := scenario(t, "types.json")
	q := Query{Warehouse: t.TempDir(), Table: s.Table}
	if err := judge(t).Scenario(t.Context(), q.Warehouse, s); err != nil {
		t.Fatal(err)
	}
	j, err := judge(t).Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := python(t).Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "columns", p.Columns, j.Columns)
	same(t, "types", p.Types, j.Types)
}

// Failures come with the other side's exceptions, and the process goes on.
func TestFailures(t *testing.T) {
	w := t.TempDir()
	create := `{"op":"create_table","columns":[["a","INT"]],"options":{"bucket":"1","bucket-key":"a"}}`
	for _, c := range []struct {
		what string
		err  error
		want string
	}{
		{"judge, no table", second(judge(t).Read(t.Context(), Query{Warehouse: w, Table: "db.none"})), "TableNotExistException"},
		{"pypaimon, no table", second(python(t).Read(t.Context(), Query{Warehouse: w, Table: "db.none"})), "TableNotExistException"},
		{"judge, validation", play(t, judge(t), create, `{"op":"alter","changes":[{"set_option":["bucket","-7"]}]}`), "op 2 alter failed"},
		{"judge, expectation", play(t, judge(t), create, `{"op":"expect","rows":[[1]]}`), `want 1 rows, got 0; missing [{"a":1}]`},
		{"judge, met failure", play(t, judge(t), create, `{"op":"alter","fails":"columnX","changes":[{"drop_column":"columnX"}]}`), ""},
		{"judge, unmet failure", play(t, judge(t), create, `{"op":"truncate","fails":"never"}`), "should have failed"},
		{"judge, unknown operation", play(t, judge(t), `{"op":"dance"}`), "operation \"dance\""},
		{"pypaimon, expectation", play(t, python(t), create, `{"op":"expect","rows":[[1]]}`), `want 1 rows, got 0; missing ['{"a":1}']`},
		{"pypaimon, operation it lacks", play(t, python(t), create, `{"op":"truncate"}`), "no operation truncate"},
		{"pypaimon, row kind", play(t, python(t), create, `{"op":"write","rows":[["-D",1]]}`), "kind ['-D']"},
		{"pypaimon, kinds of rows read", second(python(t).Read(t.Context(), Query{Warehouse: w, Table: "db.none", Kind: true})), "does not know kind"},
	} {
		if c.want == "" {
			if c.err != nil {
				t.Errorf("%s: %v", c.what, c.err)
			}
			continue
		}
		var failure *Failure
		if !errors.As(c.err, &failure) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.what, c.want, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func play(t *testing.T, p interface {
	Scenario(context.Context, string, any) error
}, ops ...string) error {
	t.Helper()
	s, err := ParseScenario([]byte(`{"table":"db.t","ops":[` + strings.Join(ops, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return p.Scenario(t.Context(), t.TempDir(), s)
}
