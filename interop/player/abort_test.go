package player

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
)

// A write that is given up leaves the table as it was, and no file.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	cat, err := tarn.Open(t.Context(), dir, tarn.Config{Durability: fileio.OS})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	err = Play(t.Context(), cat, parse(t,
		`{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1"}}`,
		`{"op":"write","rows":[["+I",1,"a"],["+I",2,"b"]]}`,
		`{"op":"write","abort":true,"rows":[["+I",2,"c"],["+I",3,"c"]]}`,
		`{"op":"expect","rows":[[1,"a"],[2,"b"]]}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	var data int
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), "data-") {
			data++
		}
		return nil
	})
	if data != 1 {
		t.Errorf("%d data files, want 1", data)
	}
}
