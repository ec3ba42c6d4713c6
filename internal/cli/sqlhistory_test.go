package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func newHistory(t *testing.T, path string) (*sqlHistory, *[]string, *strings.Builder) {
	t.Helper()
	remembered, said := &[]string{}, &strings.Builder{}
	h := &sqlHistory{path: path, errOut: said, remember: func(s string) { *remembered = append(*remembered, s) }}
	h.load()
	return h, remembered, said
}

func TestHistoryIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "tarn", "sql_history")
	h, _, said := newHistory(t, path)
	texts := []string{"SELECT 1;", "SELECT 'a\\n' ||\n  'b';", "é \\ \r\n;"}
	for _, s := range texts {
		h.add(s)
	}
	h.add(" SELECT 'secret';")
	h.add(strings.Repeat("x", historyText+1))
	_, got, _ := newHistory(t, path)
	if !slices.Equal(*got, texts) || said.Len() > 0 {
		t.Errorf("remembered %q (%s)", *got, said)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// A file that others could read is closed to them.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	h.add("SELECT 2;")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	var b strings.Builder
	for i := range 2*historyMost + 1 {
		fmt.Fprintf(&b, "SELECT %d;\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, got, said := newHistory(t, path)
	if len(*got) != historyMost || (*got)[historyMost-1] != fmt.Sprintf("SELECT %d;", 2*historyMost) || said.Len() > 0 {
		t.Errorf("%d statements, the last %q (%s)", len(*got), (*got)[len(*got)-1], said)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != historyMost {
		t.Errorf("%d lines in the file, %v", strings.Count(string(text), "\n"), err)
	}
	// One that is too large is read from the middle of a statement on.
	if err := os.WriteFile(path, []byte(strings.Repeat("x", historyBytes)+"\nSELECT 1;\nSELECT 2;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, got, _ = newHistory(t, path)
	if !slices.Equal(*got, []string{"SELECT 1;", "SELECT 2;"}) {
		t.Errorf("of a large file: %d statements", len(*got))
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 100 {
		t.Errorf("it stays large: %v, %v", info.Size(), err)
	}
}

// TestHistoryCannotBeWritten: a warning, once, and the statements are there until
// the shell is left.
func TestHistoryCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, got, said := newHistory(t, filepath.Join(file, "sql_history"))
	h.add("SELECT 1;")
	h.add("SELECT 2;")
	if !slices.Equal(*got, []string{"SELECT 1;", "SELECT 2;"}) {
		t.Errorf("remembered %q", *got)
	}
	if strings.Count(said.String(), "warning: statements are not remembered") != 1 {
		t.Errorf("said %q", said)
	}
	if _, _, said := newHistory(t, filepath.Dir(file)); !strings.Contains(said.String(), "is no file") {
		t.Errorf("a directory: %q", said)
	}
	h, _, said = newHistory(t, "")
	h.add("SELECT 1;")
	if said.Len() > 0 {
		t.Errorf("without a file: %q", said)
	}
}

func TestHistoryPath(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	t.Setenv("TARN_HISTORY", "")
	os.Unsetenv("TARN_HISTORY") // until the end of the test
	if got := historyPath(); got != filepath.FromSlash("/state/tarn/sql_history") {
		t.Errorf("in %s", got)
	}
	t.Setenv("TARN_HISTORY", "")
	if got := historyPath(); got != "" {
		t.Errorf("in %s", got)
	}
}
