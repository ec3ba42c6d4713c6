//go:build interop

package player

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// shared is a table that Tarn and Java have open at once.
type shared struct {
	*testing.T
	judge *interop.Judge
	query interop.Query
	table table.Table
	want  []string // its rows
}

// both checks that either reads the rows.
func (s *shared) both(when string) {
	s.Helper()
	slices.Sort(s.want)
	for _, i := range []implementation{s.judge, itself{}} {
		if diff := cmp.Diff(s.want, read(s.T, i, s.query)); diff != "" {
			s.Errorf("%s, read by %T (-want +got):\n%s", when, i, diff)
		}
	}
}

// Messages that one side wrote are committed by the other, and splits that one
// planned are read by the other: both travel in Java's bytes.
func TestMessagesAndSplitsTravel(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for shape, create := range map[string]string{
		"append": `{"op":"create_table","columns":[["p","STRING"],["k","INT"],["v","DOUBLE"]],"partition_keys":["p"]}`,
		"key": `{"op":"create_table","columns":[["p","STRING"],["k","INT"],["v","DOUBLE"]],"partition_keys":["p"],
			"primary_keys":["p","k"],"options":{"bucket":"2"}}`,
	} {
		t.Run(shape, func(t *testing.T) {
			q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
			if err := replay(t.Context(), q.Warehouse, parse(t, create)); err != nil {
				t.Fatal(err)
			}
			err := open(t.Context(), q.Warehouse, q.Table, func(tab table.Table) error {
				s := &shared{T: t, judge: j, query: q, table: tab}
				s.javaWritesTarnCommits()
				s.both("Java wrote, Tarn committed")
				s.tarnWritesJavaCommits()
				s.both("Tarn wrote, Java committed")
				s.javaPlansTarnReads()
				s.tarnPlansJavaReads()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func (s *shared) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shared) javaWritesTarnCommits() {
	messages, err := s.judge.Prepare(s.Context(), interop.Write{
		Warehouse: s.query.Warehouse, Table: s.query.Table, User: "java", Identifier: 1,
		Rows: [][]any{{"+I", "a/b", 1, 1.5}, {"+I", "ü", 2, nil}},
	})
	s.must(err)
	c := table.Committable{User: "java", Identifier: 1}
	for _, text := range messages {
		var m table.Message
		s.must(m.UnmarshalBinary(text))
		c.Messages = append(c.Messages, m)
	}
	_, err = s.table.Commit(s.Context(), c)
	s.must(err)
	s.want = append(s.want, `{"p":"a/b","k":1,"v":1.5}`, `{"p":"ü","k":2,"v":null}`)
}

func (s *shared) tarnWritesJavaCommits() {
	var values [][]json.RawMessage
	s.must(json.Unmarshal([]byte(`[["+I","a/b",3,-0.0],["+I","=",4,"NaN"]]`), &values))
	rows, err := readRows(s.table.Schema().Fields, values, true)
	s.must(err)
	defer rows.Close()
	w, err := s.table.NewStreamWrite(s.Context(), table.WriteOptions{User: "tarn"})
	s.must(err)
	defer w.Close()
	s.must(copyRows(s.Context(), w, rows))
	prepared, err := w.Prepare(s.Context())
	s.must(err)
	c := interop.Commit{Warehouse: s.query.Warehouse, Table: s.query.Table, User: "tarn", Identifier: 9}
	for _, m := range prepared {
		text, err := m.MarshalBinary()
		s.must(err)
		c.Messages = append(c.Messages, text)
	}
	id, err := s.judge.Commit(s.Context(), c)
	s.must(err)
	if id != 2 {
		s.Errorf("Java's commit gave snapshot %d, want 2", id)
	}
	s.want = append(s.want, `{"p":"a/b","k":3,"v":-0.0}`, `{"p":"=","k":4,"v":"NaN"}`)
}

func (s *shared) javaPlansTarnReads() {
	splits, err := s.judge.Plan(s.Context(), s.query)
	s.must(err)
	var theirs []table.Split
	for _, text := range splits {
		split, err := table.UnmarshalSplit(text)
		s.must(err)
		theirs = append(theirs, split)
	}
	r, err := s.table.Read(s.Context(), table.Scan{}, theirs...)
	s.must(err)
	defer r.Close()
	got, err := canonicalLines(s.Context(), s.table.Schema().Fields, r)
	s.must(err)
	if diff := cmp.Diff(s.want, got); diff != "" {
		s.Errorf("Java planned, Tarn read (-want +got):\n%s", diff)
	}
}

func (s *shared) tarnPlansJavaReads() {
	plan, err := s.table.Plan(s.Context(), table.Scan{})
	s.must(err)
	q := s.query
	for _, split := range plan.Splits {
		text, err := split.MarshalBinary()
		s.must(err)
		q.Splits = append(q.Splits, text)
	}
	if diff := cmp.Diff(s.want, read(s.T, s.judge, q)); diff != "" {
		s.Errorf("Tarn planned, Java read (-want +got):\n%s", diff)
	}
}
