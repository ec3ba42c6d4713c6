//go:build interop

package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/interop"
	tableoption "github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
)

// twins are two tables that Java writes the same rows to: Tarn commits the
// messages of one, Java those of the other.
type twins struct {
	*testing.T
	judge     *interop.Judge
	warehouse string
	committer *commit.Committer
	snapshots *snapshot.Store
	created   string
}

// Java's messages with compactions, changelog files, hash indexes and deletion
// vectors make the same snapshots, rows and changes whoever commits them.
func TestCommitsLikeJava(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	const key = `"columns":[["p","STRING"],["k","INT"],["v","STRING"]],"primary_keys":["p","k"],"partition_keys":["p"]`
	// What each of them must have, so that the test tests it.
	needs := map[string]string{
		"compaction": "compact", "lookup": "compact changelog", "input": "compact changelog", "vectors": "compact index",
		"vectors 64": "compact index", "dynamic bucket": "compact index",
	}
	for name, create := range map[string]string{
		"compaction":     key + `,"options":{"bucket":"1","num-sorted-run.compaction-trigger":"2"}`,
		"lookup":         key + `,"options":{"bucket":"2","changelog-producer":"lookup"}`,
		"input":          key + `,"options":{"bucket":"1","changelog-producer":"input","num-sorted-run.compaction-trigger":"2"}`,
		"vectors":        key + `,"options":{"bucket":"1","deletion-vectors.enabled":"true"}`,
		"vectors 64":     key + `,"options":{"bucket":"1","deletion-vectors.enabled":"true","deletion-vectors.bitmap64":"true"}`,
		"dynamic bucket": key + `,"options":{"bucket":"-1","dynamic-bucket.target-row-num":"3","num-sorted-run.compaction-trigger":"2"}`,
		"append":         `"columns":[["p","STRING"],["k","INT"],["v","STRING"]],"partition_keys":["p"],"options":{"bucket":"-1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			tw := &twins{T: t, judge: j, warehouse: t.TempDir(), created: create}
			tw.create()
			keyed := strings.Contains(create, "primary_keys")
			for id := int64(1); id <= 5; id++ {
				rows := [][]any{
					{"+I", "a", id, fmt.Sprint("first ", id)}, {"+I", "a", id % 3, fmt.Sprint("again ", id)}, {"+I", "b", 1, fmt.Sprint("other ", id)},
				}
				if keyed && id > 2 {
					rows = append(rows, []any{"-D", "a", id - 2, nil})
				}
				tw.both(id, rows)
			}
			tw.same()
			tw.has(strings.Fields(needs[name]))
		})
	}
}

func (tw *twins) create() {
	tw.Helper()
	for _, name := range []string{"ours", "theirs"} {
		text := fmt.Sprintf(`{"name":"t","table":"db.%s","ops":[{"op":"create_table",%s}]}`, name, tw.created)
		if err := tw.judge.Scenario(tw.Context(), tw.warehouse, json.RawMessage(text)); err != nil {
			tw.Fatal(err)
		}
	}
	tw.committer, tw.snapshots = commitStage(tw.T, tw.warehouse, "ours")
}

// commitStage is the commit stage of db.name: the table would refuse options that
// its writers do not know.
func commitStage(t *testing.T, warehouse, name string) (*commit.Committer, *snapshot.Store) {
	t.Helper()
	fio := local.New(local.Options{Durability: fileio.OS})
	at := layout.Table{Dir: filepath.Join(warehouse, "db.db", name)}
	schemas := schema.NewStore(fio, at.Dir, env.Real())
	s, err := schemas.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opts, err := tableoption.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	snapshots := snapshot.NewStore(fio, at)
	committer, err := commit.New(commit.Config{
		Table: "db." + name, FileIO: fio, Place: at, Schema: s, Schemas: schemas, Snapshots: snapshots, Options: opts, Env: env.Real(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return committer, snapshots
}

func (tw *twins) prepare(name string, id int64, rows [][]any) [][]byte {
	tw.Helper()
	m, err := tw.judge.Prepare(tw.Context(), interop.Write{
		Warehouse: tw.warehouse, Table: "db." + name, User: "java", Identifier: id, Rows: rows,
	})
	if err != nil {
		tw.Fatal(err)
	}
	return m
}

func (tw *twins) both(id int64, rows [][]any) {
	tw.Helper()
	req := commit.Request{User: "java", Identifier: id}
	for _, text := range tw.prepare("ours", id, rows) {
		m := new(commitmsg.Message)
		if err := m.UnmarshalBinary(text); err != nil {
			tw.Fatal(err)
		}
		req.Messages = append(req.Messages, m)
	}
	if r, err := tw.committer.Commit(tw.Context(), req); err != nil || r.Compaction != nil {
		tw.Fatalf("commit %d: %v, %+v", id, err, r)
	}
	if _, err := tw.judge.Commit(tw.Context(), interop.Commit{
		Warehouse: tw.warehouse, Table: "db.theirs", User: "java", Identifier: id, Messages: tw.prepare("theirs", id, rows),
	}); err != nil {
		tw.Fatal(err)
	}
}

// same compares rows, snapshots and changes of the two as Java reads them.
func (tw *twins) same() {
	tw.Helper()
	ask := func(name string, q interop.Query) []string {
		q.Warehouse, q.Table = tw.warehouse, "db."+name
		rows, err := tw.judge.Read(tw.Context(), q)
		if err != nil {
			tw.Fatalf("%s: %v", name, err)
		}
		return rows.Lines
	}
	for what, q := range map[string]interop.Query{
		"rows": {},
		"snapshots": {System: "snapshots", Project: []string{
			"snapshot_id", "schema_id", "commit_user", "commit_identifier", "commit_kind", "total_record_count", "delta_record_count", "changelog_record_count", "watermark",
		}},
		"files": {System: "files", Project: []string{"partition", "bucket", "level", "record_count", "min_key", "max_key"}},
	} {
		if d := cmp.Diff(ask("theirs", q), ask("ours", q)); d != "" {
			tw.Errorf("%s (-Java +Tarn):\n%s", what, d)
		}
	}
	stream := func(name string) []string {
		rows, err := tw.judge.Stream(tw.Context(), interop.Query{Warehouse: tw.warehouse, Table: "db." + name}, "earliest", 0)
		if err != nil {
			return []string{err.Error()}
		}
		slices.Sort(rows.Lines) // buckets come in any order
		return rows.Lines
	}
	if d := cmp.Diff(stream("theirs"), stream("ours")); d != "" {
		tw.Errorf("changes (-Java +Tarn):\n%s", d)
	}
	check, err := tw.judge.Check(tw.Context(), tw.warehouse, "db.ours")
	if err != nil {
		tw.Fatal(err)
	}
	for _, s := range check.Snapshots {
		if s.Error != "" {
			tw.Errorf("snapshot %d: %s", s.ID, s.Error)
		}
	}
}

// has fails when no snapshot shows what the messages should have brought.
func (tw *twins) has(needs []string) {
	tw.Helper()
	found := map[string]bool{}
	for s, err := range tw.snapshots.All(tw.Context()) {
		if err != nil {
			tw.Fatal(err)
		}
		found["compact"] = found["compact"] || s.CommitKind == snapshot.Compact
		found["changelog"] = found["changelog"] || s.ChangelogManifestList != nil
		found["index"] = found["index"] || s.IndexManifest != nil
	}
	for _, n := range needs {
		if !found[n] {
			tw.Errorf("no snapshot has %s", n)
		}
	}
}

func (tw *twins) scenario(ops string) error {
	text := fmt.Sprintf(`{"name":"t","table":"db.ours","ops":[%s]}`, ops)
	return tw.judge.Scenario(tw.Context(), tw.warehouse, json.RawMessage(text))
}

func (tw *twins) messages(id int64, rows ...[]any) (out []*commitmsg.Message) {
	tw.Helper()
	for _, text := range tw.prepare("ours", id, rows) {
		m := new(commitmsg.Message)
		if err := m.UnmarshalBinary(text); err != nil {
			tw.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// A deletion of Tarn's rolls a compaction of Java's back; Java reads every
// snapshot, compacts again and writes on (P17, scene 6).
func TestJavaCompactionRolledBack(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	tw := &twins{T: t, judge: j, warehouse: t.TempDir(), created: `"columns":[["k","INT"],["v","STRING"]],"options":{"bucket":"-1","compaction.min.file-num":"2"}`}
	tw.create()
	ctx := t.Context()
	commit1 := func(user string, id int64, m ...*commitmsg.Message) *commit.Report {
		t.Helper()
		r, err := tw.committer.Commit(ctx, commit.Request{User: user, Identifier: id, Messages: m})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	m1 := tw.messages(1, []any{"+I", 1, "a"}, []any{"+I", 2, "a"})
	commit1("java", 1, m1...)
	commit1("java", 2, tw.messages(2, []any{"+I", 3, "a"})...)
	without := tw.messages(3, []any{"+I", 2, "a"})[0]
	without.DeletedFiles = m1[0].NewFiles
	if err := tw.scenario(`{"op":"compact"}`); err != nil {
		t.Fatal(err)
	}
	r := commit1("tarn", 1, without)
	if !slices.Equal(r.RolledBack, []int64{4}) || r.IDs()[0] != 5 {
		t.Fatalf("%+v", r)
	}
	rows := func(want ...string) {
		t.Helper()
		check, err := j.Check(ctx, tw.warehouse, "db.ours")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range check.Snapshots {
			if s.Error != "" {
				t.Errorf("snapshot %d: %s", s.ID, s.Error)
			}
		}
		if d := cmp.Diff(want, read(t, j, interop.Query{Warehouse: tw.warehouse, Table: "db.ours"})); d != "" {
			t.Error(d)
		}
	}
	rows(`{"k":2,"v":"a"}`, `{"k":3,"v":"a"}`)
	if err := tw.scenario(`{"op":"compact","user":"compactor 2"},{"op":"write","user":"w","rows":[["+I",5,"b"]]},{"op":"expire_snapshots","retain_max":1,"retain_min":1}`); err != nil {
		t.Fatal(err)
	}
	rows(`{"k":2,"v":"a"}`, `{"k":3,"v":"a"}`, `{"k":5,"v":"b"}`)
	commit1("java", 4, tw.messages(4, []any{"+I", 6, "b"})...)
	rows(`{"k":2,"v":"a"}`, `{"k":3,"v":"a"}`, `{"k":5,"v":"b"}`, `{"k":6,"v":"b"}`)
}

// The uuid of a snapshot, by which catalogs of later versions compare, is nothing to
// Java 1.4.2: it reads the snapshot, commits upon it and expires it.
func TestSnapshotUUIDsAreIgnored(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	tw := &twins{T: t, judge: j, warehouse: t.TempDir(), created: `"columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1"}`}
	tw.create()
	ctx := t.Context()
	r, err := tw.committer.Commit(ctx, commit.Request{User: "tarn", Identifier: 1, Messages: tw.messages(1, []any{"+I", 1, "a"}, []any{"+I", 2, "a"})})
	if err != nil {
		t.Fatal(err)
	}
	s, uuid := *r.Snapshots[0], "b9e5a8d2-0000-4000-8000-000000000001"
	s.UUID = &uuid
	file := filepath.Join(tw.warehouse, "db.db", "ours", "snapshot", "snapshot-1")
	if err := os.WriteFile(file, s.Marshal(), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := func(want ...string) {
		t.Helper()
		if d := cmp.Diff(want, read(t, j, interop.Query{Warehouse: tw.warehouse, Table: "db.ours"})); d != "" {
			t.Error(d)
		}
	}
	rows(`{"k":1,"v":"a"}`, `{"k":2,"v":"a"}`)
	if err := tw.scenario(`{"op":"write","user":"w","rows":[["+I",2,"b"]]}`); err != nil {
		t.Fatal(err)
	}
	rows(`{"k":1,"v":"a"}`, `{"k":2,"v":"b"}`)
	if next, err := tw.snapshots.Get(ctx, 2); err != nil || next.UUID != nil || next.CommitUser != "w" || next.TotalRecordCount != 3 {
		t.Errorf("%+v, %v", next, err)
	}
	if err := tw.scenario(`{"op":"expire_snapshots","retain_max":1,"retain_min":1}`); err != nil {
		t.Fatal(err)
	}
	rows(`{"k":1,"v":"a"}`, `{"k":2,"v":"b"}`)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("snapshot 1 has not expired: %v", err)
	}
}

// Of two compactions of one bucket the second finds its files gone, whoever
// commits it (P17, scene 2).
func TestCompactionsMeetJava(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	tw := &twins{T: t, judge: j, warehouse: t.TempDir(), created: `"columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1","num-sorted-run.compaction-trigger":"2"}`}
	tw.create()
	ctx := t.Context()
	if err := tw.scenario(`{"op":"write","options":{"write-only":"true"},"rows":[["+I",1,"a"]]},{"op":"write","options":{"write-only":"true"},"rows":[["+I",1,"b"]]}`); err != nil {
		t.Fatal(err)
	}
	// Prepared on the same snapshot: each adds a file and compacts all three.
	ours, late := tw.messages(3, []any{"+I", 2, "ours"}), tw.prepare("ours", 3, [][]any{{"+I", 3, "late"}})
	if len(ours[0].CompactBefore) == 0 {
		t.Fatal("Java did not compact")
	}
	if err := tw.scenario(`{"op":"compact"}`); err != nil {
		t.Fatal(err)
	}
	r, err := tw.committer.Commit(ctx, commit.Request{User: "tarn", Identifier: 1, Messages: ours})
	if err != nil || r.Compaction == nil || !strings.Contains(r.Compaction.Error(), "check=file-deletion") || !strings.Contains(r.Compaction.Error(), "other user=compactor") {
		t.Fatalf("%v, %+v", err, r)
	}
	_, err = j.Commit(ctx, interop.Commit{Warehouse: tw.warehouse, Table: "db.ours", User: "java", Identifier: 9, Messages: late})
	if err == nil || !strings.Contains(err.Error(), "File deletion conflicts detected") {
		t.Errorf("Java's own: %v", err)
	}
	// What was written is there in either case.
	want := []string{`{"k":1,"v":"b"}`, `{"k":2,"v":"ours"}`, `{"k":3,"v":"late"}`}
	if d := cmp.Diff(want, read(t, j, interop.Query{Warehouse: tw.warehouse, Table: "db.ours"})); d != "" {
		t.Error(d)
	}
}
