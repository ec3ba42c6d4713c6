package commit_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

var update = flag.Bool("update", false, "write the tables of docs/commit.md anew")

const docs = "../../docs/commit.md"

// operation is a kind of commit, prepared on a table of two files of one bucket.
type operation struct {
	name    string
	prepare func(w *world) commit.Request
}

func messages(m ...*commitmsg.Message) commit.Request { return commit.Request{Messages: m} }

func insert(w *world) commit.Request { return messages(w.made(fmt.Sprint("c", w.seed), 4)) }

func compaction(level int32) func(w *world) commit.Request {
	return func(w *world) commit.Request { return messages(w.compacted(level)) }
}

func overwriting(w *world) commit.Request {
	r := messages(w.made("d", 5))
	r.Overwrite = &commit.Overwrite{}
	return r
}

func truncating(*world) commit.Request { return commit.Request{Overwrite: &commit.Overwrite{}} }

// moving lifts one file to level 1, as a compaction that has nothing to merge does.
func moving(file string) func(w *world) commit.Request {
	return func(w *world) commit.Request {
		f := w.files[file]
		m := w.like(f)
		m.CompactBefore, m.CompactAfter = []*datafile.Meta{f}, []*datafile.Meta{f.Upgrade(1)}
		return messages(m)
	}
}

// deleting writes a file anew without some rows.
func deleting(w *world) commit.Request {
	f := w.files["f1"]
	m := w.like(f)
	m.DeletedFiles, m.NewFiles = []*datafile.Meta{f}, w.made("a", 2).NewFiles
	if w.tracked {
		carry(m.NewFiles[0], datafile.Append)
	}
	return messages(m)
}

// vectoring deletes rows by a vector.
func vectoring(w *world) commit.Request {
	f := w.files["f1"]
	m := w.like(f)
	m.NewIndex = []manifest.IndexEntry{{
		IndexType: "DELETION_VECTORS", FileName: "index-" + w.env().UUID(), FileSize: 43, RowCount: 1,
		Vectors: []manifest.VectorRange{{DataFile: f.FileName, Offset: 1, Length: 22, Cardinality: ptr[int64](1)}},
	}}
	return messages(m)
}

// kinds of tables, as docs/commit.md names them.
const (
	appendTable   = "keyed=false"
	keyTable      = "keyed=true"
	trackingTable = "row-tracking"
)

var operations = map[string][]operation{
	appendTable: {
		{"INSERT", insert}, {"DELETE, rewriting", deleting}, {"DELETE, vectors", vectoring},
		{"compaction", compaction(0)}, {"INSERT OVERWRITE", overwriting}, {"TRUNCATE, drop", truncating},
	},
	trackingTable: {
		{"INSERT", insert}, {"UPDATE, rewriting", deleting}, {"compaction", compaction(0)}, {"INSERT OVERWRITE", overwriting},
	},
	keyTable: {
		{"INSERT", insert}, {"compaction, all files", compaction(5)}, {"compaction, file 1", moving("f1")},
		{"compaction, file 2", moving("f2")}, {"INSERT OVERWRITE", overwriting}, {"TRUNCATE, drop", truncating},
	},
}

// TestWhoConflictsWithWhom prepares two operations on one bucket and commits one
// after the other, each pair. What comes out is the table in docs/commit.md; write
// it anew with -update.
func TestWhoConflictsWithWhom(t *testing.T) {
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, kind := range []string{appendTable, trackingTable, keyTable} {
		begin, end := fmt.Sprintf("<!-- %s -->\n", kind), fmt.Sprintf("<!-- %s, end -->\n", kind)
		head, rest, ok := strings.Cut(text, begin)
		old, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/commit.md has no place for the table of %s", kind)
		}
		table := matrix(t, kind)
		if !*update {
			if d := cmp.Diff(strings.Split(old, "\n"), strings.Split(table, "\n")); d != "" {
				t.Errorf("docs/commit.md says something else; write it anew with: go test ./internal/commit -run TestWhoConflictsWithWhom -update\n%s", d)
			}
		}
		text = head + begin + table + end + tail
	}
	if *update {
		if err := os.WriteFile(docs, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func matrix(t *testing.T, kind string) string {
	ops := operations[kind]
	var b strings.Builder
	b.WriteString("| first \\ second |")
	for _, second := range ops {
		fmt.Fprintf(&b, " %s |", second.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(ops)) + "\n")
	for _, first := range ops {
		fmt.Fprintf(&b, "| %s |", first.name)
		for _, second := range ops {
			fmt.Fprintf(&b, " %s |", meeting(t, kind, first, second))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// meeting says what becomes of the second operation. Whatever it is, what the
// first has written is there or was overwritten, and no row is there twice.
func meeting(t *testing.T, kind string, first, second operation) string {
	t.Helper()
	ctx := context.Background()
	var w *world
	d := deed{keyed: kind == keyTable, tracked: kind == trackingTable, prepare: func(staged *world) commit.Request { w = staged; return commit.Request{} }}
	d.stage(t)
	a, b := first.prepare(w), second.prepare(w)
	a.User, b.User, a.Identifier, b.Identifier = "first", "second", 10, 10
	if _, err := w.committer("a").Commit(ctx, a); err != nil {
		t.Fatalf("%s: %v", first.name, err)
	}
	there := rows(t, w.fs, place)
	r, err := w.committer("b").Commit(ctx, b)
	now := rows(t, w.fs, place)
	if kind == trackingTable {
		checkTracked(t, w.fs)
	}
	if len(slices.Compact(slices.Clone(now))) != len(now) {
		t.Errorf("%s, then %s: rows %v", first.name, second.name, now)
	}
	switch {
	case errors.Is(err, tarnerr.Conflict):
		check, _ := tarnerr.Attribute(err, "check")
		if !slices.Equal(there, now) {
			t.Errorf("%s, then %s is refused, but rows are %v, were %v", first.name, second.name, now, there)
		}
		return fmt.Sprintf("**%v**", check)
	case err != nil:
		t.Fatalf("%s, then %s: %v", first.name, second.name, err)
	case len(r.RolledBack) > 0:
		return "undoes it"
	}
	if s := r.Snapshots[len(r.Snapshots)-1]; s.CommitKind == snapshot.Overwrite && b.Overwrite != nil {
		return "replaces all"
	}
	return "lands"
}
