package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/fileiotest"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/tarnerr"
)

func root(t *testing.T) string {
	dir := filepath.ToSlash(t.TempDir())
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // a Windows drive
	}
	return dir
}

func TestContract(t *testing.T) {
	for _, d := range []fileio.Durability{fileio.Fsync, fileio.OS} {
		t.Run(d.String(), func(t *testing.T) {
			fileiotest.Run(t, func(t *testing.T) (fileio.FileIO, string) {
				fs := local.New(local.Options{Durability: d})
				if fs.Capabilities().Durable != (d == fileio.Fsync) {
					t.Error("Capabilities.Durable must follow the setting")
				}
				return fs, root(t)
			})
		})
	}
}

// The registry passes on when a write counts as done.
func TestRegisteredDurability(t *testing.T) {
	for _, d := range []fileio.Durability{fileio.Fsync, fileio.OS} {
		fs, _, err := fileio.OpenURI(t.Context(), "file:"+root(t), fileio.Settings{Durability: d})
		if err != nil {
			t.Fatal(err)
		}
		if fs.Capabilities().Durable != (d == fileio.Fsync) {
			t.Errorf("%v: durable is %v", d, fs.Capabilities().Durable)
		}
	}
}

func TestURIAsJavaPrintsIt(t *testing.T) {
	if got := local.New(local.Options{}).URI("/w/db.db/t"); got != "file:/w/db.db/t" {
		t.Error(got)
	}
}

func TestCreateTakenName(t *testing.T) {
	fs, dir := local.New(local.Options{}), root(t)
	if err := fileio.WriteFile(t.Context(), fs, dir+"/f", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Create(t.Context(), dir+"/f"); tarnerr.KindOf(err) != tarnerr.AlreadyExists {
		t.Errorf("got %v", err)
	}
	if _, err := fs.Create(t.Context(), dir+"/f/below"); tarnerr.KindOf(err) != tarnerr.AlreadyExists {
		t.Errorf("below a file: %v", err)
	}
}

func TestFileCutWhileOpen(t *testing.T) {
	fs, dir := local.New(local.Options{}), root(t)
	if err := fileio.WriteFile(t.Context(), fs, dir+"/f", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(strings.TrimPrefix(dir, "/C:")+"/f", 4); err != nil {
		t.Skip("cannot cut an open file here: ", err)
	}
	if n, err := f.ReadAt(t.Context(), make([]byte, 10), 0); n != 4 || err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Errorf("ReadAt = %d, %v", n, err)
	}
}

func TestNameTooLong(t *testing.T) {
	fs, dir := local.New(local.Options{}), root(t)
	_, err := fs.Create(t.Context(), dir+"/"+strings.Repeat("n", 300))
	if tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("got %v", err)
	}
}
