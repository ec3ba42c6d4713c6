//go:build interop

package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// siblings are one table, twice: what happens to both is the judge's doing, but
// for the operations that are compared.
type siblings struct {
	*testing.T
	judge        *interop.Judge
	ours, theirs interop.Query
}

func newSiblings(t *testing.T, j *interop.Judge) *siblings {
	p := &siblings{T: t, judge: j, ours: interop.Query{Warehouse: t.TempDir(), Table: "db.t"}}
	p.theirs = p.ours
	p.theirs.Warehouse = t.TempDir()
	return p
}

func (p *siblings) java(q interop.Query, ops string) {
	p.Helper()
	if err := p.judge.Scenario(p.Context(), q.Warehouse, json.RawMessage(`{"name":"t","table":"db.t","ops":[`+ops+`]}`)); err != nil {
		p.Fatalf("Java: %s: %v", ops, err)
	}
}

func (p *siblings) tarn(q interop.Query, ops string) {
	p.Helper()
	if err := replay(p.Context(), q.Warehouse, parse(p.T, ops)); err != nil {
		p.Fatalf("Tarn: %s: %v", ops, err)
	}
}

// both lets the judge do it to either table.
func (p *siblings) both(ops string) {
	p.Helper()
	p.java(p.ours, ops)
	p.java(p.theirs, ops)
}

// compared lets Tarn do it to ours and the judge to theirs.
func (p *siblings) compared(op string) {
	p.Helper()
	p.tarn(p.ours, op)
	p.java(p.theirs, op)
	p.same(op)
}

// emptied removes rows, in tables that Tarn writes as in others: there the commit
// stage does it.
func (p *siblings) emptied(writable bool, op string, partitions ...map[string]string) {
	p.Helper()
	if writable {
		p.compared(op)
		return
	}
	committer, _ := commitStage(p.T, p.ours.Warehouse, "t")
	if _, err := committer.Commit(p.Context(), commit.Request{
		User: "tarn", Identifier: table.BatchIdentifier, Overwrite: &commit.Overwrite{Partitions: partitions},
	}); err != nil {
		p.Fatal(err)
	}
	p.java(p.theirs, op)
	p.same(op)
}

// snapshotFields are those of a snapshot file that no two commits share: their
// presence is compared, not their value.
var snapshotFields = []string{
	"baseManifestList", "baseManifestListSize", "deltaManifestList", "deltaManifestListSize", "changelogManifestList", "changelogManifestListSize",
	"indexManifest", "commitUser", "timeMillis", "statistics",
}

// snapshots are a table's snapshot files.
func (p *siblings) snapshots(q interop.Query) []map[string]any {
	p.Helper()
	var all []map[string]any
	for id := 1; ; id++ {
		f, err := os.Open(filepath.Join(q.Warehouse, "db.db", "t", "snapshot", fmt.Sprint("snapshot-", id)))
		if errors.Is(err, fs.ErrNotExist) {
			return all
		}
		if err != nil {
			p.Fatal(err)
		}
		var s map[string]any
		in := json.NewDecoder(f)
		in.UseNumber()
		err = in.Decode(&s)
		f.Close()
		if err != nil {
			p.Fatal(err)
		}
		for _, k := range snapshotFields {
			if s[k] != nil {
				s[k] = "there"
			}
		}
		all = append(all, s)
	}
}

// same compares the two tables: every field of every snapshot, rows, files, and
// what the manifests add and delete.
func (p *siblings) same(when string) {
	p.Helper()
	if d := cmp.Diff(p.snapshots(p.theirs), p.snapshots(p.ours)); d != "" {
		p.Errorf("after %s: snapshots (-Java's +Tarn's):\n%s", when, d)
	}
	for what, q := range map[string]interop.Query{
		"rows":  {},
		"files": {System: "files", Project: []string{"partition", "bucket", "level", "record_count", "min_key", "max_key", "schema_id"}},
		// What each commit added and deleted.
		"manifests": {System: "manifests", Project: []string{"num_added_files", "num_deleted_files", "schema_id", "min_partition_stats", "max_partition_stats"}},
		"totals":    {System: "partitions", Project: []string{"partition", "record_count", "file_count"}},
	} {
		ours, theirs := q, q
		ours.Warehouse, ours.Table, theirs.Warehouse, theirs.Table = p.ours.Warehouse, "db.t", p.theirs.Warehouse, "db.t"
		if d := cmp.Diff(read(p.T, p.judge, theirs), read(p.T, p.judge, ours), cmpopts.EquateEmpty()); d != "" {
			p.Errorf("after %s: %s (-Java's +Tarn's):\n%s", when, what, d)
		}
	}
}

// readable wants all of ours to be.
func (p *siblings) readable(by ...implementation) {
	p.Helper()
	for _, i := range by {
		for _, s := range checked(p.T, i, p.ours) {
			if s.Error != "" {
				p.Errorf("%T on snapshot %d: %s", i, s.ID, s.Error)
			}
		}
	}
}

const (
	parted = `"columns":[["p","STRING"],["k","INT"],["v","STRING"]],"partition_keys":["p"]`
	keyed  = parted + `,"primary_keys":["p","k"]`
	static = `"options":{"dynamic-partition-overwrite":"false"}`
)

// Overwriting, dropping partitions and truncating leave the table as Java leaves
// it, to every field of the snapshot.
func TestOverwritesLikeJava(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	rows := func(v string, keys ...int) string {
		var out []string
		for _, k := range keys {
			out = append(out, fmt.Sprintf(`["+I","%s",%d,"%s"]`, []string{"a", "b", "c"}[k%3], k, v))
		}
		return `"rows":[` + strings.Join(out, ",") + `]`
	}
	for name, create := range map[string]string{
		"append":          parted,
		"key":             keyed + `,"options":{"bucket":"2"}`,
		"key, no upgrade": keyed + `,"options":{"bucket":"1","overwrite-upgrade":"false"}`,
		"key, no stats":   keyed + `,"options":{"bucket":"1","manifest.delete-file-drop-stats":"true"}`,
		"key, lookup":     keyed + `,"options":{"bucket":"1","changelog-producer":"lookup"}`,
		"key, forced up":  keyed + `,"options":{"bucket":"1","compaction.force-up-level-0":"true"}`,
		"key, unparted":   `"columns":[["p","STRING"],["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1"}`,
		"dynamic bucket":  keyed + `,"options":{"bucket":"-1","dynamic-bucket.target-row-num":"2"}`,
		"vectors":         keyed + `,"options":{"bucket":"1","deletion-vectors.enabled":"true"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSiblings(t, j)
			p.both(`{"op":"create_table",` + create + `},
				{"op":"write","watermark":100,"properties":{"x":"y"},` + rows("first", 0, 1, 2, 3, 4, 5) + `},
				{"op":"write",` + rows("second", 0, 4, 5, 9) + `},
				{"op":"write","mode":"batch",` + rows("third", 3, 9) + `}`)
			writable := name != "dynamic bucket" && name != "vectors"
			overwrite := func(op string) {
				if writable {
					p.compared(op)
				}
			}
			unparted := strings.Contains(name, "unparted")
			overwrite(`{"op":"write","overwrite":{},` + rows("dynamic", 0, 3, 12) + `}`)
			if !unparted {
				p.emptied(writable, `{"op":"drop_partition","partitions":[{"p":"b"}]}`, map[string]string{"p": "b"})
				p.emptied(writable, `{"op":"drop_partition","partitions":[{"p":"nowhere"},{"p":"d"}]}`, map[string]string{"p": "nowhere"}, map[string]string{"p": "d"})
				p.both(`{"op":"write","mode":"batch",` + rows("again", 1, 2, 4) + `}`)
				overwrite(`{"op":"write","overwrite":{"p":"c"},` + static + `,` + rows("static", 2, 5) + `}`)
				overwrite(`{"op":"write","overwrite":{"p":"b"},` + static + `,"rows":[]}`)
				overwrite(`{"op":"write","overwrite":{"p":"a"},"rows":[]}`)
			}
			overwrite(`{"op":"write","overwrite":{},` + static + `,` + rows("all", 0, 1) + `}`)
			p.both(`{"op":"write","mode":"batch",` + rows("more", 0, 1, 2) + `},{"op":"analyze","merged_rows":3}`)
			p.emptied(writable, `{"op":"truncate"}`)
			p.emptied(writable, `{"op":"truncate"}`)
			p.both(`{"op":"write","mode":"batch",` + rows("after", 0, 1) + `}`)
			p.same("writing on")
			p.readable(j)
		})
	}
}

// Java and Tarn overwrite, drop and truncate what the other wrote, by turns, and
// read the same after each.
func TestOverwritesTakeTurns(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for name, create := range map[string]string{
		"append": parted, "key": keyed + `,"options":{"bucket":"2"}`,
	} {
		change := `{"comment":"of the schema only"}`
		if name == "key" {
			change = `{"set_option":["bucket","3"]}`
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSiblings(t, j)
			p.java(p.ours, `{"op":"create_table",`+create+`}`)
			for i, step := range []struct {
				who  func(interop.Query, string)
				op   string
				want string
			}{
				{p.tarn, `{"op":"write","user":"tarn","rows":[["+I","a",1,"t"],["+I","a",2,"t"],["+I","b",1,"t"]]}`, "a1t a2t b1t"},
				{p.java, `{"op":"write","overwrite":{},"rows":[["+I","a",1,"j"]]}`, "a1j b1t"},
				{p.tarn, `{"op":"write","overwrite":{},"rows":[["+I","a",3,"t"],["+I","c",1,"t"]]}`, "a3t b1t c1t"},
				{p.java, `{"op":"write","user":"java","rows":[["+I","a",4,"j"],["+I","b",2,"j"]]}`, "a3t a4j b1t b2j c1t"},
				{p.tarn, `{"op":"drop_partition","partitions":[{"p":"b"}]}`, "a3t a4j c1t"},
				{p.java, `{"op":"write","overwrite":{"p":"c"},` + static + `,"rows":[["+I","c",7,"j"]]}`, "a3t a4j c7j"},
				{p.tarn, `{"op":"write","overwrite":{"p":"c"},` + static + `,"rows":[]}`, "a3t a4j"},
				{p.java, `{"op":"drop_partition","partitions":[{"p":"a"}]}`, ""},
				{p.tarn, `{"op":"write","user":"tarn","commit_id":2,"rows":[["+I","a",5,"t"]]}`, "a5t"},
				{p.java, `{"op":"truncate"}`, ""},
				{p.tarn, `{"op":"write","user":"tarn","commit_id":3,"rows":[["+I","a",6,"t"]]}`, "a6t"},
				{p.java, `{"op":"alter","changes":[` + change + `]}`, "a6t"},
				{p.tarn, `{"op":"write","overwrite":{},"rows":[["+I","a",7,"t"],["+I","a",8,"t"],["+I","a",9,"t"]]}`, "a7t a8t a9t"},
				{p.java, `{"op":"write","user":"java","commit_id":2,"rows":[["+I","a",10,"j"]]}`, "a10j a7t a8t a9t"},
				{p.tarn, `{"op":"truncate"}`, ""},
				{p.java, `{"op":"write","user":"java","commit_id":3,"rows":[["+I","a",1,"j"]]}`, "a1j"},
			} {
				step.who(p.ours, step.op)
				var want []string
				for _, w := range strings.Fields(step.want) {
					want = append(want, fmt.Sprintf(`{"p":"%s","k":%s,"v":"%s"}`, w[:1], w[1:len(w)-1], w[len(w)-1:]))
				}
				for _, i2 := range []implementation{j, itself{}} {
					if d := cmp.Diff(want, read(t, i2, p.ours), cmpopts.EquateEmpty()); d != "" {
						t.Fatalf("step %d, %s, read by %T (-want +got):\n%s", i+1, step.op, i2, d)
					}
				}
			}
			p.readable(j, itself{})
		})
	}
}

// What Java prepared and nobody commits, Tarn takes away, and nothing else.
func TestJavaMessagesAborted(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for name, create := range map[string]string{"append": parted, "key": keyed + `,"options":{"bucket":"1","num-sorted-run.compaction-trigger":"2"}`} {
		p := newSiblings(t, j)
		p.java(p.ours, `{"op":"create_table",`+create+`},
			{"op":"write","options":{"write-only":"true"},"rows":[["+I","a",1,"x"],["+I","b",1,"x"]]},
			{"op":"write","options":{"write-only":"true"},"rows":[["+I","a",2,"x"]]}`)
		before, rows := p.dataFiles(), read(t, j, p.ours)
		prepared, err := j.Prepare(t.Context(), interop.Write{
			Warehouse: p.ours.Warehouse, Table: "db.t", User: "java", Identifier: 3, Rows: [][]any{{"+I", "a", 1, "y"}, {"+I", "c", 1, "y"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.dataFiles()) <= len(before)+1 {
			t.Fatalf("%s: Java wrote no files", name)
		}
		var messages []table.Message
		for _, text := range prepared {
			var m table.Message
			if err := m.UnmarshalBinary(text); err != nil {
				t.Fatal(err)
			}
			messages = append(messages, m)
		}
		if err := open(t.Context(), p.ours.Warehouse, "db.t", func(tab table.Table) error { return tab.AbortMessages(t.Context(), messages) }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, p.dataFiles()); d != "" {
			t.Errorf("%s: files (-before +after):\n%s", name, d)
		}
		if d := cmp.Diff(rows, read(t, j, p.ours)); d != "" {
			t.Errorf("%s: rows (-before +after):\n%s", name, d)
		}
	}
}

// dataFiles are the files of ours in buckets.
func (p *siblings) dataFiles() []string {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.ours.Warehouse, "db.db", "t", "p=*", "bucket-*", "*"))
	if err != nil {
		p.Fatal(err)
	}
	return files
}
