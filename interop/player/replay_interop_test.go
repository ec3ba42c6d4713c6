//go:build interop

package player

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// Every golden scenario that can be replayed gives a table that Java reads as if
// Java had written it, and so does pypaimon where it can read Java's.
func TestGoldenReplaysReadAlike(t *testing.T) {
	t.Parallel()
	set := golden.Open(t)
	skip := refused(t)
	names := slices.DeleteFunc(set.Names(), func(name string) bool { return skip[name] != "" && instead[name] == nil })
	unread := readUnread(t, names)
	merged := set.Match(t, "agg-*", "cl-*", "first-row*", "lsm-*", "pu-*", "fmt-avro-*", "fmt-pk-avro", "pk-thin-mode", "per-level", "py-pk-partial-update", "evo-pk", "evo-columns-avro-*", "consumers")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, p := implementations(t)
			s := goldenScenario(t, set, name)
			if shape := instead[name]; shape != nil {
				s = reshaped(t, s, shape)
			}
			ours := interop.Query{Warehouse: t.TempDir(), Table: set.Table(t, name).Database + "." + set.Table(t, name).Table}
			theirs := ours
			theirs.Warehouse = t.TempDir()
			if err := replay(t.Context(), ours.Warehouse, s); err != nil {
				t.Fatal(err)
			}
			if err := j.Scenario(t.Context(), theirs.Warehouse, s); err != nil {
				t.Fatalf("the judge's own replay: %v", err)
			}
			// Java cannot travel to before a rename of its sequence.field, its own included.
			javas := map[string]bool{"": true}
			for _, s := range history(t, j, theirs) {
				javas[s.Error] = true
			}
			for _, s := range history(t, j, ours) {
				if !javas[s.Error] {
					t.Errorf("judge on snapshot %d: %s", s.ID, s.Error)
				}
			}
			shown := func(changes []string) []string { return changes }
			if slices.Contains(sooner, name) {
				shown = func(changes []string) []string { return net(t, changes) }
			}
			if changes(t, set, name) {
				followed(t, j, ours, theirs, asked{Name: "changes"}, shown)
			}
			for _, f := range follows(t, set, name) {
				followed(t, j, ours, theirs, f, shown)
			}
			for what, q := range queries(t, set, name, ours) {
				q2 := q
				q2.Warehouse = theirs.Warehouse
				want := read(t, j, q2)
				if diff := cmp.Diff(want, read(t, j, q), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("judge, query %+v (-java's +ours):\n%s", q, diff)
				}
				if diff := cmp.Diff(want, read(t, itself{}, q), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("tarn, query %+v (-java's +ours):\n%s", q, diff)
				}
				if q.System != "" {
					continue
				}
				if unread.check(t, name+" "+what, misread(t, p, q2, want)) {
					if diff := cmp.Diff(want, read(t, p, q), cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("pypaimon, query %+v (-java's +ours):\n%s", q, diff)
					}
				}
			}
			if slices.Contains(merged, name) {
				compacted(t, j, ours, theirs, changes(t, set, name), shown)
			}
		})
	}
}

// instead are shapes for tables of scenarios that wait for a file format: what they are
// about is the same with another.
var instead = map[string]map[string]any{
	"per-level": {"options": map[string]string{"file.format.per.level": "0:avro,5:parquet"}},
}

// sooner are scenarios whose streams are stopped and go on: with its first commit Tarn's
// compacts what the one before had left, of which Java's core knows nothing. What is told
// comes to the same.
var sooner = []string{"cl-full-aggregation"}

// net are the rows that changes come to, sorted.
func net(t *testing.T, changes []string) []string {
	t.Helper()
	rows := map[string]int{}
	for _, l := range changes {
		var row map[string]any
		if err := json.Unmarshal([]byte(l), &row); err != nil {
			t.Fatal(err)
		}
		by := 1
		if kind := row["_kind"]; kind == "-U" || kind == "-D" {
			by = -1
		}
		delete(row, "_kind")
		delete(row, "_snapshot")
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows[string(text)] += by
	}
	var out []string
	for _, text := range slices.Sorted(maps.Keys(rows)) {
		if n := rows[text]; n < 0 || n > 1 {
			t.Errorf("%s is there %d times", text, n)
		} else if n == 1 {
			out = append(out, text)
		}
	}
	return out
}

// compacted has Java compact its table in full, Tarn its own and another of Java's:
// Java reads all three alike, and what was told of them until then.
func compacted(t *testing.T, j *interop.Judge, ours, theirs interop.Query, told bool, shown func([]string) []string) {
	t.Helper()
	mixed := theirs
	mixed.Warehouse = t.TempDir()
	if err := os.CopyFS(mixed.Warehouse, os.DirFS(theirs.Warehouse)); err != nil {
		t.Fatal(err)
	}
	s := fmt.Sprintf(`{"name":"t","table":%q,"ops":[{"op":"compact"}]}`, theirs.Table)
	if err := j.Scenario(t.Context(), theirs.Warehouse, json.RawMessage(s)); err != nil {
		t.Fatalf("Java compacts: %v", err)
	}
	want := read(t, j, theirs)
	for what, q := range map[string]interop.Query{"Tarn's": ours, "Java's": mixed} {
		if err := open(t.Context(), q.Warehouse, q.Table, func(tbl table.Table) error {
			_, err := tbl.Compact(t.Context(), table.CompactOptions{})
			return err
		}); err != nil {
			t.Fatalf("Tarn compacts %s: %v", what, err)
		}
		if diff := cmp.Diff(want, read(t, j, q), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, compacted by Tarn (-by Java): %s", what, diff)
		}
		if diff := cmp.Diff(want, read(t, itself{}, q), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, compacted and read by Tarn (-by Java): %s", what, diff)
		}
		if told {
			if diff := cmp.Diff(shown(streamed(t, j, theirs)), shown(streamed(t, j, q))); diff != "" {
				t.Errorf("changes of %s, compacted by Tarn (-by Java): %s", what, diff)
			}
		}
	}
}

// changes reports a scenario whose table is followed from its first snapshot on.
func changes(t *testing.T, set *golden.Set, name string) bool {
	t.Helper()
	var s struct {
		Changes bool `json:"changes"`
	}
	if err := json.Unmarshal(set.Table(t, name).Scenario, &s); err != nil {
		t.Fatal(err)
	}
	return s.Changes
}

// streamed are the lines of all changes, sorted: the order of buckets is not promised.
func streamed(t *testing.T, j *interop.Judge, q interop.Query) []string {
	t.Helper()
	snapshots := checked(t, j, q)
	rows, err := j.Stream(t.Context(), q, "earliest", snapshots[len(snapshots)-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows.Lines)
	return rows.Lines
}

func checked(t *testing.T, i implementation, q interop.Query) []interop.CheckedSnapshot {
	t.Helper()
	check, err := i.Check(t.Context(), q.Warehouse, q.Table)
	if err != nil {
		t.Fatal(err)
	}
	return check.Snapshots
}

// history has every snapshot read by Java and by Tarn, which must find the same rows
// where Java can read it.
func history(t *testing.T, j *interop.Judge, q interop.Query) []interop.CheckedSnapshot {
	t.Helper()
	javas, tarns := checked(t, j, q), checked(t, itself{}, q)
	for i := range min(len(javas), len(tarns)) {
		if javas[i].Error != "" && javas[i].ID == tarns[i].ID {
			tarns[i] = javas[i]
		}
	}
	if diff := cmp.Diff(javas, tarns, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("snapshots of %s (-read by Java +by Tarn):\n%s", q.Warehouse, diff)
	}
	return javas
}

// asked is a read that a scenario asks for.
type asked struct {
	interop.Query
	Name   string `json:"name"`
	Stream bool   `json:"stream"`
	From   string `json:"from"`
}

func reads(t *testing.T, set *golden.Set, name string) []asked {
	t.Helper()
	var s struct {
		Reads []asked `json:"reads"`
	}
	if err := json.Unmarshal(set.Table(t, name).Scenario, &s); err != nil {
		t.Fatal(err)
	}
	return s.Reads
}

// incomparable are system tables that show the names and sizes of files.
var incomparable = []string{"manifests"}

// queries are those that the scenario asks for, by name, and the plain read.
func queries(t *testing.T, set *golden.Set, name string, plain interop.Query) map[string]interop.Query {
	t.Helper()
	all := map[string]interop.Query{"plain": plain}
	for _, r := range reads(t, set, name) {
		q := r.Query
		if r.Stream || slices.Contains(incomparable, q.System) {
			continue
		}
		if len(q.Options) > 0 || q.Tag != "" || q.Branch != "" {
			t.Errorf("the read %s is not compared", r.Name)
		}
		q.Warehouse, q.Table = plain.Warehouse, plain.Table
		all[r.Name] = q
	}
	return all
}

// follows are the streams that the scenario asks for.
func follows(t *testing.T, set *golden.Set, name string) []asked {
	t.Helper()
	return slices.DeleteFunc(reads(t, set, name), func(r asked) bool { return !r.Stream })
}

// followed has Java follow its table and Tarn's, and Tarn its own: they tell the same
// changes, and some.
func followed(t *testing.T, j *interop.Judge, ours, theirs interop.Query, a asked, shown func([]string) []string) {
	t.Helper()
	from := table.Start{Mode: table.StartEarliest}
	if a.From == "" {
		a.From = "earliest"
	} else if id, err := strconv.ParseInt(a.From, 10, 64); err == nil {
		from = table.Start{Mode: table.StartAt, Snapshot: id}
	} else {
		t.Fatalf("stream %s from %s", a.Name, a.From)
	}
	ours.Options, theirs.Options = a.Options, a.Options
	snapshots := checked(t, j, ours)
	to := snapshots[len(snapshots)-1].ID
	lines := func(q interop.Query) []string {
		rows, err := j.Stream(t.Context(), q, a.From, to)
		if err != nil {
			t.Fatalf("judge, stream %s: %v", a.Name, err)
		}
		slices.Sort(rows.Lines)
		return rows.Lines
	}
	want := shown(lines(theirs))
	if diff := cmp.Diff(want, shown(lines(ours))); diff != "" || len(want) == 0 {
		t.Errorf("judge, stream %s (-java's +ours):\n%s", a.Name, diff)
	}
	var got []string
	if err := open(t.Context(), ours.Warehouse, ours.Table, func(tbl table.Table) (err error) {
		got, err = numberedChanges(t.Context(), tbl, table.FollowOptions{From: from, To: to, Options: a.Options})
		return err
	}); err != nil {
		t.Fatalf("tarn, stream %s: %v", a.Name, err)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Errorf("tarn, stream %s (-java's +ours):\n%s", a.Name, diff)
	}
}
