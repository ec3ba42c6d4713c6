//go:build interop

package player

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// turns is a warehouse whose tables Java and Tarn write and compact in turns.
type turns struct {
	*testing.T
	judge     *interop.Judge
	warehouse string
	cat       catalog.Catalog
	tables    []*turned
}

// Java compacts what Tarn wrote and Tarn compacts what Java wrote, on each table for
// fifty rounds, minor and in full, and the writers of some compact besides. After each
// round both read the rows of the model, and both tell the same changes, which make
// of the rows they have told before those of the table.
func TestCompactionsTakeTurns(t *testing.T) {
	t.Parallel()
	l := &turns{T: t, judge: judges.of(t), warehouse: t.TempDir(), tables: turnedTables()}
	var err error
	if l.cat, err = tarn.Open(t.Context(), l.warehouse, tarn.Config{Memory: 64 << 20, Workers: 1, Durability: fileio.OS}); err != nil {
		t.Fatal(err)
	}
	defer l.cat.Close()
	var made []any
	for _, s := range l.tables {
		made = append(made, s.create())
	}
	l.play(true, made)
	for _, s := range l.tables {
		s.begin(oracle.NewTable(l.table(s).Schema()))
	}
	rnd := rand.New(rand.NewPCG(50, 1))
	for round := 1; round <= 50; round++ {
		l.round(rnd, round)
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, s := range l.tables {
		l.happened(s)
	}
	for _, ending := range []string{"avro", "parquet"} {
		if files, err := filepath.Glob(filepath.Join(l.warehouse, "db.db", "dedup_none", "bucket-*", "data-*."+ending)); err != nil || len(files) < 20 {
			t.Errorf("%d files of %s: %v", len(files), ending, err)
		}
	}
}

// round has one of the two write and the other compact.
func (l *turns) round(rnd *rand.Rand, round int) {
	l.Helper()
	writer, compactor := "tarn", "java"
	if pair := (round + 1) / 2; (round+pair/2)%2 == 0 {
		writer, compactor = compactor, writer
	}
	var writes, compactions []any
	for _, s := range l.tables {
		writes = append(writes, map[string]any{"op": "write", "table": "db." + s.name, "user": "w-" + writer, "commit_id": round, "rows": s.rows(rnd, round)})
		compactions = append(compactions, map[string]any{"op": "compact", "table": "db." + s.name, "user": "c-" + compactor, "commit_id": round, "full": s.full(round)})
	}
	l.play(writer == "java", writes)
	l.play(compactor == "java", compactions)
	what := fmt.Sprintf("round %d, %s writes, %s compacts", round, writer, compactor)
	l.compare(what, round)
}

// play carries out operations with Java or with Tarn.
func (l *turns) play(java bool, ops []any) {
	l.Helper()
	text, err := json.Marshal(map[string]any{"name": "turns", "ops": ops})
	if err != nil {
		l.Fatal(err)
	}
	if java {
		err = l.judge.Scenario(l.Context(), l.warehouse, json.RawMessage(text))
	} else {
		var s *interop.Scenario
		if s, err = interop.ParseScenario(text); err == nil {
			err = Play(l.Context(), l.cat, s)
		}
	}
	if err != nil {
		l.Fatalf("%v. operations=%s", err, text)
	}
}

func (l *turns) table(s *turned) table.Table {
	l.Helper()
	t, err := l.cat.LoadTable(l.Context(), table.Identifier{Database: "db", Table: s.name})
	if err != nil {
		l.Fatal(err)
	}
	return t
}

// compare compares what both read of the tables after a round, and what they tell of it.
func (l *turns) compare(what string, round int) {
	l.Helper()
	var asked []interop.Asked
	for _, s := range l.tables {
		q := interop.Query{Table: "db." + s.name}
		asked = append(asked, interop.Asked{Query: q})
		if s.told() {
			asked = append(asked, interop.Asked{Query: q, From: fmt.Sprint(s.seen + 1)})
		}
	}
	theirs, err := l.judge.ReadAll(l.Context(), l.warehouse, asked)
	if err != nil {
		l.Fatalf("%s: %v", what, err)
	}
	for _, s := range l.tables {
		what := fmt.Sprintf("%s, %s, full %v", s.name, what, s.full(round))
		t, want := l.table(s), s.modelled(l.T)
		ours, err := Lines(l.Context(), t, table.Scan{})
		if err != nil {
			l.Fatalf("%s: %v", what, err)
		}
		for who, got := range map[string][]string{"Tarn": ours, "Java": theirs[0].Lines} {
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				l.Errorf("%s: %s reads (-model +read):\n%s", what, who, d)
			}
		}
		theirs = theirs[1:]
		first := s.seen + 1
		l.count(s, t, round)
		if !s.told() {
			continue
		}
		if ours, err = changesFrom(l.Context(), t, first, s.seen); err != nil {
			l.Fatalf("%s: %v", what, err)
		}
		changes := l.byKey(ours)
		if d := cmp.Diff(l.byKey(theirs[0].Lines), changes); d != "" {
			l.Errorf("%s: the changes (-Java +Tarn):\n%s", what, d)
		}
		theirs = theirs[1:]
		l.fold(what, s, changes, want, s.full(round))
	}
}

// count counts who has compacted in a round, and notes its last snapshot.
func (l *turns) count(s *turned, t table.Table, round int) {
	l.Helper()
	latest, err := t.Snapshot(l.Context(), 0)
	for err == nil && s.seen < latest.ID {
		s.seen++
		var one *table.Snapshot
		if one, err = t.Snapshot(l.Context(), s.seen); err == nil && one.CommitKind == "COMPACT" {
			s.counts[fmt.Sprintf("%s compacts, full %v", one.CommitUser, s.full(round) && one.CommitUser[0] == 'c')]++
		}
	}
	if err != nil {
		l.Fatal(err)
	}
}

// told is a change without its snapshot: kind and line.
type told struct {
	Snapshot   int64
	Kind, Line string
}

// byKey are changes in their order, by key. Lines begin with _snapshot and _kind.
func (l *turns) byKey(lines []string) map[string][]told {
	l.Helper()
	out := map[string][]told{}
	for _, line := range lines {
		var at struct {
			Snapshot int64  `json:"_snapshot"`
			Kind     string `json:"_kind"`
			P        string `json:"p"`
			K        int    `json:"k"`
		}
		if err := json.Unmarshal([]byte(line), &at); err != nil {
			l.Fatalf("%v: %s", err, line)
		}
		_, rest, _ := strings.Cut(line, `"_kind":"`+at.Kind+`",`)
		key := fmt.Sprintf("%s/%d", at.P, at.K)
		out[key] = append(out[key], told{at.Snapshot, at.Kind, "{" + rest})
	}
	return out
}

// fold takes the changes of a round into those before.
func (l *turns) fold(what string, s *turned, changes map[string][]told, want []string, full bool) {
	l.Helper()
	for key, all := range changes {
		for i, c := range all {
			s.counts["told "+c.Kind]++
			old, live := s.folded[key]
			after := c.Kind == "+I" || c.Kind == "+U"
			if after {
				s.folded[key] = c.Line
			} else {
				delete(s.folded, key)
			}
			// A changelog that is made tells the row that was there, and which it is.
			if s.producer() != "lookup" && s.producer() != "full-compaction" {
				continue
			}
			updated := i > 0 && all[i-1].Kind == "-U"
			if !after && old != c.Line || after && (live || updated != (c.Kind == "+U")) {
				l.Errorf("%s: %s is told of key %s, which was %q, live %v. changes=%v", what, c.Kind, key, old, live, all)
			}
		}
	}
	if s.producer() == "input" {
		asSent := map[string][]string{}
		for key, all := range changes {
			for _, c := range all {
				asSent[key] = append(asSent[key], c.Kind+" "+c.Line)
			}
		}
		if d := cmp.Diff(s.sent, asSent); d != "" {
			l.Errorf("%s: the changes (-written +told):\n%s", what, d)
		}
	}
	if !s.tellsTable(full) {
		return
	}
	var got []string
	for _, line := range s.folded {
		got = append(got, line)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		l.Errorf("%s: the changes make of nothing (-model +told):\n%s", what, d)
	}
}

// happened fails where something did not happen to a table that should.
func (l *turns) happened(s *turned) {
	l.Helper()
	want := []string{"taken back", "c-java compacts, full true", "c-tarn compacts, full true"}
	minor := "c-%s compacts, full false"
	if s.writersCompact() {
		minor = "w-%s compacts, full false"
	}
	want = append(want, fmt.Sprintf(minor, "java"), fmt.Sprintf(minor, "tarn"))
	if s.late {
		want = append(want, "late")
	}
	if s.updates {
		want = append(want, "updated")
	}
	if s.told() {
		want = append(want, "told +I")
		if s.engine() == "deduplicate" || s.removes {
			want = append(want, "told -D")
		}
		if s.looksUp() && s.engine() != "first-row" || s.producer() == "full-compaction" {
			want = append(want, "told -U", "told +U")
		}
	}
	for _, w := range want {
		if s.counts[w] < 3 {
			l.Errorf("%s: %q happened %d times: %v", s.name, w, s.counts[w], s.counts)
		}
	}
}

// changesFrom are the changes of snapshots first to last as Java's judge tells them.
func changesFrom(ctx context.Context, t table.Table, first, last int64) ([]string, error) {
	f, err := t.Follow(ctx, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: first}, To: last, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	for {
		changes, err := f.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		w := rowtext.NewJSONL(&text, t.Schema().Fields, true)
		if err := writeAll(ctx, w, changes.Rows); err != nil {
			return nil, err
		}
		if err := w.Flush(); err != nil {
			return nil, err
		}
		for _, line := range splitLines(text.String()) {
			out = append(out, fmt.Sprintf(`{"_snapshot":%d,%s`, changes.Snapshot.ID, line[1:]))
		}
	}
}
