package fileio_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	_ "github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestOpenURI(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	wd = "/" + strings.TrimPrefix(filepath.ToSlash(wd), "/")
	for _, tt := range []struct {
		uri, path string
		kind      tarnerr.Kind
	}{
		{uri: "/w", path: "/w"},
		{uri: "/w/x/../y/", path: "/w/y"},
		{uri: "rel/dir", path: wd + "/rel/dir"},
		{uri: ".", path: wd},
		{uri: "rel:with/colon.db", kind: tarnerr.Unsupported}, // reads as a scheme
		{uri: "./rel:with", path: wd + "/rel:with"},
		{uri: "file:/w/a", path: "/w/a"},
		{uri: "FILE:///w/a%20b/", path: "/w/a%20b"},
		{uri: "file://localhost/w", path: "/w"},
		{uri: "file://host/w", kind: tarnerr.Invalid},
		{uri: "file:w", kind: tarnerr.Invalid},
		{uri: "", kind: tarnerr.Invalid},
		{uri: "/w\x00", kind: tarnerr.Invalid},
		{uri: "s3://bucket/w", kind: tarnerr.Unsupported},
		{uri: "rest+https://host", kind: tarnerr.Unsupported},
	} {
		fio, p, err := fileio.OpenURI(t.Context(), tt.uri, fileio.Settings{})
		switch {
		case tt.kind != 0 && (err == nil || tarnerr.KindOf(err) != tt.kind):
			t.Errorf("%q: got %v, want %v", tt.uri, err, tt.kind)
		case tt.kind == 0 && (err != nil || p != tt.path || fio == nil):
			t.Errorf("%q: %q, %v", tt.uri, p, err)
		}
	}
	_, _, err = fileio.OpenURI(t.Context(), "s3://b/w", fileio.Settings{})
	if !strings.Contains(err.Error(), "scheme s3") || !strings.Contains(err.Error(), "file") {
		t.Errorf("the error must name the scheme and those there are: %v", err)
	}
}

func TestDurability(t *testing.T) {
	for _, d := range []fileio.Durability{fileio.Fsync, fileio.OS} {
		if got, err := fileio.ParseDurability(d.String()); got != d || err != nil {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if d, err := fileio.ParseDurability(""); d != fileio.Fsync || err != nil {
		t.Errorf("the default is fsync: %v, %v", d, err)
	}
	if _, err := fileio.ParseDurability("maybe"); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Error(err)
	}
}
