package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/table"
)

// Messages that lie in files are given up: their files go, and nothing of what is
// committed.
func TestCommitAbort(t *testing.T) {
	fs := mem.New(mem.Posix)
	run := func(args ...string) (out string, err error) {
		rt, err := tarn.NewRuntime(tarn.Config{Components: tarn.Components{FileIO: fs}})
		if err != nil {
			t.Fatal(err)
		}
		var b, errs bytes.Buffer
		a := &app{in: strings.NewReader("{\"id\":1}\n"), out: &b, errOut: &errs, rt: rt}
		if a.cat, err = rt.Open(t.Context(), "/w"); err != nil {
			t.Fatal(err)
		}
		defer a.close()
		cmd := a.root()
		cmd.SetArgs(args)
		err = cmd.ExecuteContext(t.Context())
		return b.String(), err
	}
	for _, args := range [][]string{{"db", "create", "db"}, {"table", "create", "db.t", "id BIGINT"}, {"table", "import", "db.t", "-", "--format", "jsonl"}} {
		if _, err := run(args...); err != nil {
			t.Fatal(err)
		}
	}
	before := fs.Paths()

	// prepare leaves the messages of one row in files, and commits them when asked.
	dir := t.TempDir()
	prepare := func(name string, commit bool) (files []string) {
		cat, err := tarn.Open(t.Context(), "/w", tarn.Config{Components: tarn.Components{FileIO: fs}})
		if err != nil {
			t.Fatal(err)
		}
		defer cat.Close()
		tb, err := cat.LoadTable(t.Context(), table.Identifier{Database: "db", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, tb.ArrowSchema(), strings.NewReader(`[{"id": 2}]`))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Release()
		w, err := tb.NewBatchWrite(t.Context(), table.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		messages, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			data, err := m.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, filepath.Join(dir, name))
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if commit {
			if _, err := tb.Commit(t.Context(), table.Committable{User: "u", Identifier: 1, Messages: messages}); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	files := prepare("a", false)
	if len(files) != 1 || len(fs.Paths()) != len(before)+1 {
		t.Fatalf("messages %v, files %v", files, fs.Paths())
	}
	abort := append([]string{"commit", "abort", "db.t"}, files...)
	if _, err := run(abort...); err == nil || !strings.Contains(err.Error(), "no terminal") {
		t.Errorf("it was not asked for: %v", err)
	}
	if out, err := run(append(abort, "--yes")...); err != nil || out != "removed the files of 1 message\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !slices.Equal(before, fs.Paths()) {
		t.Errorf("files %v, want %v", fs.Paths(), before)
	}

	committed := prepare("b", true)
	before = fs.Paths()
	if err := os.WriteFile(filepath.Join(dir, "c"), []byte("no message"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"they were committed": committed, "reading commit message": {filepath.Join(dir, "c")}, "no such file": {filepath.Join(dir, "d")},
		"version": {committed[0], "--version", "99"}, "begin with 1": {committed[0], "--version", "0"},
	} {
		_, err := run(append(append([]string{"commit", "abort", "db.t"}, args...), "--yes")...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
	if !slices.Equal(before, fs.Paths()) {
		t.Errorf("files %v, want %v", fs.Paths(), before)
	}
}
