//go:build !cgo || tarn_nosql

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithoutSQL takes the tour in a build without SQL: it ends well, and one
// line says what is left out and why. The whole tour is run as a program.
func TestWithoutSQL(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	err = run(t.Context(), t.TempDir(), "../../testdata/flights")
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nThe parts in SQL are left out: starting DuckDB: SQL in a build without cgo.", " rows/s, commits included\n",
		"\nPeak memory of this process, all parts together: ", "\nWhat to try next\n",
	} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "tarn sql") {
		t.Errorf("SQL is offered:\n%s", text)
	}
}
