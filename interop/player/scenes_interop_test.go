//go:build interop

package player

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// scene is a key table of one bucket that Java and Tarn write to and compact, each
// with its own compaction and its own commit, in turns that the test decides.
type scene struct {
	*testing.T
	judge     *interop.Judge
	warehouse string
	written   int64 // commits of Java's
}

func newScene(t *testing.T, j *interop.Judge, options string) *scene {
	t.Helper()
	s := &scene{T: t, judge: j, warehouse: t.TempDir()}
	s.java(fmt.Sprintf(`{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1",%s}}`, options))
	return s
}

func (s *scene) java(ops string) {
	s.Helper()
	text := fmt.Sprintf(`{"name":"t","table":"db.t","ops":[%s]}`, ops)
	if err := s.judge.Scenario(s.Context(), s.warehouse, json.RawMessage(text)); err != nil {
		s.Fatal(err)
	}
}

// javaWrites commits rows of the keys given.
func (s *scene) javaWrites(v string, keys ...int) {
	s.Helper()
	s.written++
	s.java(fmt.Sprintf(`{"op":"write","user":"java","commit_id":%d,"rows":%s}`, s.written, rowsText(v, keys)))
}

func rowsText(v string, keys []int) string {
	var rows []string
	for _, k := range keys {
		rows = append(rows, fmt.Sprintf(`["+I",%d,%q]`, k, v))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// javaPrepares writes rows, compacts, and returns the messages of both.
func (s *scene) javaPrepares(options map[string]string, v string, keys ...int) [][]byte {
	s.Helper()
	s.written++
	w := interop.Write{Warehouse: s.warehouse, Table: "db.t", User: "java", Identifier: s.written, Options: options}
	for _, k := range keys {
		w.Rows = append(w.Rows, []any{"+I", k, v})
	}
	m, err := s.judge.Prepare(s.Context(), w)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *scene) javaCommits(m [][]byte) error {
	_, err := s.judge.Commit(s.Context(), interop.Commit{
		Warehouse: s.warehouse, Table: "db.t", User: "java", Identifier: s.written, Messages: m,
	})
	return err
}

// open gives the table to use, which tells l.
func (s *scene) open(l *event.Listener, use func(context.Context, table.Table) error) {
	s.Helper()
	cat, err := tarn.Open(s.Context(), s.warehouse, tarn.Config{Memory: 64 << 20, Components: tarn.Components{Listener: l}})
	if err != nil {
		s.Fatal(err)
	}
	defer cat.Close()
	t, err := cat.LoadTable(s.Context(), table.Identifier{Database: "db", Table: "t"})
	if err != nil {
		s.Fatal(err)
	}
	if err := use(s.Context(), t); err != nil {
		s.Fatal(err)
	}
}

// compact is a job of Tarn's; meanwhile happens between what it has rewritten and
// its commit.
func (s *scene) compact(meanwhile func()) (report *table.CompactReport) {
	s.Helper()
	var once sync.Once
	l := &event.Listener{CompactEnd: func(event.CompactEnd) { once.Do(meanwhile) }}
	s.open(l, func(ctx context.Context, t table.Table) (err error) {
		report, err = t.Compact(ctx, table.CompactOptions{User: "c-tarn"})
		return err
	})
	return report
}

// write fills a write of Tarn's and ends it with end.
func (s *scene) write(v string, keys []int, end func(context.Context, table.Table, table.BatchWrite) error) {
	s.Helper()
	s.open(nil, func(ctx context.Context, t table.Table) error {
		var rows [][]json.RawMessage
		if err := json.Unmarshal([]byte(rowsText(v, keys)), &rows); err != nil {
			return err
		}
		in, err := readRows(t.Schema().Fields, rows, true)
		if err != nil {
			return err
		}
		defer in.Close()
		w, err := t.NewBatchWrite(ctx, table.WriteOptions{User: "tarn"})
		if err != nil {
			return err
		}
		defer w.Close()
		if err := copyRows(ctx, w, in); err != nil {
			return err
		}
		return end(ctx, t, w)
	})
}

func commitWrite(ctx context.Context, _ table.Table, w table.BatchWrite) error {
	r, err := w.Commit(ctx)
	if err == nil && r.Compaction != "" {
		err = fmt.Errorf("the compaction did not land: %s", r.Compaction)
	}
	return err
}

// holds checks the rows of both readers, and that Java reads every snapshot.
func (s *scene) holds(want map[int]string) {
	s.Helper()
	var lines []string
	for k, v := range want {
		lines = append(lines, fmt.Sprintf(`{"k":%d,"v":%q}`, k, v))
	}
	slices.Sort(lines)
	q := interop.Query{Warehouse: s.warehouse, Table: "db.t"}
	for who, i := range map[string]implementation{"java": s.judge, "tarn": itself{}} {
		if d := cmp.Diff(lines, read(s.T, i, q)); d != "" {
			s.Errorf("read by %s: %s", who, d)
		}
	}
	for _, c := range checked(s.T, s.judge, q) {
		if c.Error != "" {
			s.Errorf("snapshot %d: %s", c.ID, c.Error)
		}
	}
}

// kinds are the commit kinds of all snapshots with their users.
func (s *scene) kinds() string {
	s.Helper()
	var out []string
	s.open(nil, func(ctx context.Context, t table.Table) error {
		for one, err := range t.Snapshots(ctx) {
			if err != nil {
				return err
			}
			out = append(out, fmt.Sprint(one.CommitUser, " ", one.CommitKind))
		}
		return nil
	})
	return strings.Join(out, ", ")
}

// What compactions of Tarn's and of Java's do to each other.
func TestCompactionsOfBoth(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	t.Run("jobs meet", func(t *testing.T) { jobsMeet(t, j) })
	t.Run("outputs overlap", func(t *testing.T) { outputsOverlap(t, j) })
}

// Two jobs compact the same files, one of Tarn's and one of Java's: the second finds
// them gone. Rows stay in either case (P17, scene 2).
func jobsMeet(t *testing.T, j *interop.Judge) {
	t.Run("Java is faster", func(t *testing.T) {
		s := newScene(t, j, `"write-only":"true"`)
		s.javaWrites("a", 1, 2)
		s.javaWrites("b", 2, 3)
		r := s.compact(func() {
			s.java(`{"op":"compact","user":"c-java"}`)
			s.javaWrites("c", 3, 4)
		})
		// It looks again, and compacts what it then finds.
		if r.Compacted != 1 || r.Lost != 0 || len(r.Snapshots) != 1 {
			t.Errorf("%+v", r)
		}
		s.holds(map[int]string{1: "a", 2: "b", 3: "c", 4: "c"})
		if got, want := s.kinds(), "java APPEND, java APPEND, c-java APPEND, c-java COMPACT, java APPEND, c-tarn COMPACT"; got != want {
			t.Errorf("snapshots %s, want %s", got, want)
		}
	})
	t.Run("Tarn is faster", func(t *testing.T) {
		s := newScene(t, j, `"write-only":"true"`)
		s.javaWrites("a", 1, 2)
		s.javaWrites("b", 2, 3)
		late := s.javaPrepares(map[string]string{"write-only": "false", "num-sorted-run.compaction-trigger": "2"}, "late", 3, 5)
		if r := s.compact(func() {}); r.Compacted != 1 {
			t.Errorf("%+v", r)
		}
		if err := s.javaCommits(late); err == nil || !strings.Contains(err.Error(), "File deletion conflicts detected") {
			t.Errorf("Java's compaction: %v", err)
		}
		s.holds(map[int]string{1: "a", 2: "b", 3: "late", 5: "late"})
	})
	// With write-only writers and one job there is nothing to meet.
	t.Run("one job", func(t *testing.T) {
		s := newScene(t, j, `"write-only":"true"`)
		s.javaWrites("a", 1, 2)
		s.javaWrites("b", 2, 3)
		r := s.compact(func() {
			s.javaWrites("c", 3)
			s.write("d", []int{4}, commitWrite)
		})
		if r.Compacted != 1 || r.Lost != 0 || r.FilesBefore != 2 || len(r.Snapshots) != 1 {
			t.Errorf("%+v", r)
		}
		s.java(`{"op":"compact","user":"c-java"}`)
		s.holds(map[int]string{1: "a", 2: "b", 3: "c", 4: "d"})
		if got, want := s.kinds(), "java APPEND, java APPEND, java APPEND, tarn APPEND, c-tarn COMPACT, c-java APPEND, c-java COMPACT"; got != want {
			t.Errorf("snapshots %s, want %s", got, want)
		}
	})
}

// Two writers compact different files of level 0 to one level: no file is missing for
// either, but their outputs overlap there (P17, scene 3).
func outputsOverlap(t *testing.T, j *interop.Judge) {
	began := func(t *testing.T) (*scene, map[int]string) {
		s := newScene(t, j, `"compaction.force-up-level-0":"true"`)
		keys, want := []int{}, map[int]string{}
		for k := range 300 {
			keys = append(keys, k)
			want[k] = "base"
		}
		// Large enough to be left alone, and compacted to the bottom.
		s.written++
		s.java(fmt.Sprintf(`{"op":"write","user":"java","commit_id":%d,"compact":"full","rows":%s}`, s.written, rowsText("base", keys)))
		return s, want
	}
	t.Run("Tarn is faster", func(t *testing.T) {
		s, want := began(t)
		late := s.javaPrepares(nil, "java", 2, 8)
		s.write("tarn", []int{1, 9}, commitWrite)
		if err := s.javaCommits(late); err == nil || !strings.Contains(err.Error(), "LSM conflicts detected") {
			t.Errorf("Java's compaction: %v", err)
		}
		want[1], want[9], want[2], want[8] = "tarn", "tarn", "java", "java"
		s.holds(want)
		if r := s.compact(func() {}); r.Compacted != 1 {
			t.Errorf("%+v", r)
		}
		s.holds(want)
	})
	t.Run("Java is faster", func(t *testing.T) {
		s, want := began(t)
		s.write("tarn", []int{1, 9}, func(ctx context.Context, tbl table.Table, w table.BatchWrite) error {
			m, err := w.Prepare(ctx)
			if err != nil {
				return err
			}
			s.javaWrites("java", 2, 8)
			r, err := tbl.Commit(ctx, table.Committable{User: "tarn", Identifier: 1, Messages: m})
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(r.Conflicts, func(c table.Conflict) bool {
				return c.Check == "key-range" && c.OtherUser == "java"
			}) || r.Compaction == "" {
				t.Errorf("%+v", r)
			}
			return nil
		})
		want[1], want[9], want[2], want[8] = "tarn", "tarn", "java", "java"
		s.holds(want)
		s.java(`{"op":"compact","user":"c-java"}`)
		s.holds(want)
	})
}
