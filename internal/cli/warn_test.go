package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/event"
)

// What goes wrong beside an import is told, and the import goes on.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	run := func(stdin string, args ...string) (out, errOut string) {
		t.Helper()
		var o, e bytes.Buffer
		a := &app{in: strings.NewReader(stdin), out: &o, errOut: &e, flags: settings{Durability: "os"}}
		defer a.close()
		cmd := a.root()
		cmd.SetArgs(append([]string{"-w", dir}, args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return o.String(), e.String()
	}
	run("", "db", "create", "d")
	run("", "table", "create", "d.t", "id INT, v STRING", "--primary-key", "id", "--option", "bucket=1",
		"--option", "num-sorted-run.compaction-trigger=2")
	if _, told := run("1,a\n", "table", "import", "d.t", "-", "--format", "csv"); told != "" {
		t.Errorf("told without need: %q", told)
	}
	files, err := filepath.Glob(filepath.Join(dir, "d.db", "t", "bucket-0", "data-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("no Parquet at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, told := run("2,b\n", "table", "import", "d.t", "-", "--format", "csv")
	if !strings.Contains(out, "snapshot 2") {
		t.Errorf("the import says %q", out)
	}
	if !strings.HasPrefix(told, "tarn: warning: d.t: compacting files of a bucket: ") || !strings.Contains(told, filepath.Base(files[0])) ||
		strings.Count(told, "\n") != 1 {
		t.Errorf("told: %q", told)
	}
}

// Short waits are no news.
func TestWarningsOfWaits(t *testing.T) {
	var told bytes.Buffer
	l := (&app{errOut: &told}).warnings()
	l.Emit(event.CompactWait{Table: "d.t", Bucket: 3, Runs: 9, Elapsed: longWait - time.Millisecond})
	l.Emit(event.CompactWait{Table: "d.t", Partition: "p=1", Bucket: 3, Runs: 9, Elapsed: 2500 * time.Millisecond})
	l.Emit(event.SnapshotDisplaced{Table: "d.t", Snapshot: 4, User: "u", OtherUser: "v"})
	l.Emit(event.SnapshotDisplaced{Table: "d.t", Snapshot: 4, User: "u"})
	want := `tarn: warning: d.t: writing waited 2.5 s for a compaction of bucket 3 of p=1, which had 9 sorted runs (num-sorted-run.stop-trigger)
tarn: warning: d.t: snapshot 4 of user u is not in the table any more: user v has its id now
tarn: warning: d.t: snapshot 4 of user u is not in the table any more: it was rolled back
`
	if told.String() != want {
		t.Errorf("told:\n%s", told.String())
	}
}
