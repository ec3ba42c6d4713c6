//go:build interop

package player

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// tableDir is where db.t lies.
func tableDir(warehouse string) string { return filepath.Join(warehouse, "db.db", "t") }

// tree is every file of a table with a digest of its bytes, and every directory; Tarn's
// own records beside it are left out.
func tree(t *testing.T, warehouse string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := tableDir(warehouse)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".tarn":
			return filepath.SkipDir
		case d.IsDir():
			out[name+"/"] = "a directory"
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		out[name] = strings.TrimSpace(string(b))
		if d := filepath.Dir(name); d != "snapshot" && d != "changelog" && d != "consumer" {
			sum := sha256.Sum256(b)
			out[name] = hex.EncodeToString(sum[:8])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// copied is a copy of a warehouse, with the times of consumers, which expire by them.
func copied(t *testing.T, warehouse string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(warehouse)); err != nil {
		t.Fatal(err)
	}
	consumers, err := filepath.Glob(filepath.Join(tableDir(warehouse), "consumer", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range consumers {
		info, err := os.Stat(from)
		if err == nil {
			err = os.Chtimes(filepath.Join(tableDir(to), "consumer", filepath.Base(from)), info.ModTime(), info.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// versions are the numbers of files like snapshot-N of a directory of a table,
// ascending.
func versions(t *testing.T, warehouse, dir, prefix string) (ids []int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tableDir(warehouse), dir, prefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		id, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(f), prefix), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func snapshotIDs(t *testing.T, warehouse string) []int64 {
	t.Helper()
	return versions(t, warehouse, "snapshot", "snapshot-")
}

func changelogIDs(t *testing.T, warehouse string) []int64 {
	t.Helper()
	return versions(t, warehouse, "changelog", "changelog-")
}

func tagNames(t *testing.T, warehouse string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tableDir(warehouse), "tag", "tag-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, strings.TrimPrefix(filepath.Base(f), "tag-"))
	}
	return names
}

// spreadTimes makes each snapshot an hour older than the next, and the last one half an
// hour old.
func spreadTimes(t *testing.T, warehouse string) {
	t.Helper()
	ids := snapshotIDs(t, warehouse)
	now := time.Now()
	for i, id := range ids {
		file := filepath.Join(tableDir(warehouse), "snapshot", fmt.Sprint("snapshot-", id))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			TimeMillis int64 `json:"timeMillis"`
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-30*time.Minute - time.Duration(len(ids)-1-i)*time.Hour).UnixMilli()
		was, is := fmt.Sprintf(`"timeMillis" : %d`, s.TimeMillis), fmt.Sprintf(`"timeMillis" : %d`, at)
		if strings.Count(string(text), was) != 1 {
			t.Fatalf("no %s in %s", was, text)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), was, is, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// seen is what readers find in a table.
type seen struct {
	snapshots map[int64]interop.CheckedSnapshot
	changes   map[int64][]string // by snapshot, sorted
}

// seenByTarn is what Tarn finds of snapshots and changes.
func seenByTarn(t *testing.T, warehouse string) seen {
	t.Helper()
	s := seen{snapshots: map[int64]interop.CheckedSnapshot{}}
	for _, c := range checked(t, itself{}, interop.Query{Warehouse: warehouse, Table: "db.t"}) {
		s.snapshots[c.ID] = c
	}
	var lines []string
	err := open(t.Context(), warehouse, "db.t", func(tbl table.Table) (err error) {
		lines, err = numberedChanges(t.Context(), tbl, table.FollowOptions{
			From: table.Start{Mode: table.StartAt, Snapshot: firstChange(t, warehouse)}, To: slices.Max(snapshotIDs(t, warehouse)), Options: keptChangelogs,
		})
		return err
	})
	if err != nil {
		t.Fatalf("following %s: %v", warehouse, err)
	}
	s.changes = bySnapshot(t, lines)
	return s
}

// seenByJava is what Java finds of snapshots and changes.
func seenByJava(t *testing.T, j *interop.Judge, warehouse string) seen {
	t.Helper()
	s := seen{snapshots: map[int64]interop.CheckedSnapshot{}}
	q := interop.Query{Warehouse: warehouse, Table: "db.t"}
	for _, c := range checked(t, j, q) {
		s.snapshots[c.ID] = c
	}
	q.Options = keptChangelogs
	rows, err := j.Stream(t.Context(), q, fmt.Sprint(firstChange(t, warehouse)), 0)
	if err != nil {
		t.Fatal(err)
	}
	s.changes = bySnapshot(t, rows.Lines)
	return s
}

// keptChangelogs make a follower look for changelogs that outlive snapshots.
var keptChangelogs = map[string]string{"changelog.time-retained": "1000 d"}

// taggedRows are digests of the rows of tags.
func taggedRows(t *testing.T, j *interop.Judge, warehouse string, tags ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, tag := range tags {
		out[tag] = interop.Digest(read(t, j, interop.Query{Warehouse: warehouse, Table: "db.t", Tag: tag}))
	}
	return out
}

// firstChange is the first snapshot or changelog behind which none is missing.
func firstChange(t *testing.T, warehouse string) int64 {
	t.Helper()
	ids := append(snapshotIDs(t, warehouse), changelogIDs(t, warehouse)...)
	slices.Sort(ids)
	first := len(ids) - 1
	for first > 0 && ids[first-1] >= ids[first]-1 {
		first--
	}
	return ids[first]
}

// numberedChanges are the changes that o asks for, as the judge writes them.
func numberedChanges(ctx context.Context, t table.Table, o table.FollowOptions) (lines []string, err error) {
	o.Workers = 1
	f, err := t.Follow(ctx, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		changes, err := f.Next(ctx)
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		out := rowtext.NewJSONL(&text, t.Schema().Fields, true)
		if err := writeAll(ctx, out, changes.Rows); err != nil {
			return nil, err
		}
		if err := out.Flush(); err != nil {
			return nil, err
		}
		for _, l := range splitLines(text.String()) {
			lines = append(lines, fmt.Sprintf(`{"_snapshot":%d,%s`, changes.Snapshot.ID, strings.TrimPrefix(l, "{")))
		}
	}
}

func bySnapshot(t *testing.T, lines []string) map[int64][]string {
	t.Helper()
	out := map[int64][]string{}
	for _, l := range lines {
		var id int64
		if _, err := fmt.Sscanf(l, `{"_snapshot":%d,`, &id); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		out[id] = append(out[id], l)
	}
	for _, l := range out {
		slices.Sort(l) // buckets come in any order
	}
	return out
}
