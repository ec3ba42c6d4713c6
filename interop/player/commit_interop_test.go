//go:build interop

package player

import (
	"encoding/json"
	"fmt"
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
	j, _ := implementations(t)
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
	fio := local.New(local.Options{Durability: fileio.OS})
	at := layout.Table{Dir: filepath.Join(tw.warehouse, "db.db", "ours")}
	schemas := schema.NewStore(fio, at.Dir, env.Real())
	s, err := schemas.Latest(tw.Context())
	if err != nil {
		tw.Fatal(err)
	}
	opts, err := tableoption.Parse(s.Options)
	if err != nil {
		tw.Fatal(err)
	}
	tw.snapshots = snapshot.NewStore(fio, at)
	// The stage itself: the table would refuse options that its writers do not know.
	tw.committer, err = commit.New(commit.Config{
		Table: "db.ours", FileIO: fio, Place: at, Schema: s, Schemas: schemas, Snapshots: tw.snapshots, Options: opts, Env: env.Real(),
	})
	if err != nil {
		tw.Fatal(err)
	}
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
