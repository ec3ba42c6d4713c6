//go:build unix

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestLinkNoReplace(t *testing.T) {
	dir := t.TempDir()
	p := func(n string) string { return filepath.Join(dir, n) }
	for _, n := range []string{"a", "b"} {
		if err := os.WriteFile(p(n), []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkNoReplace(p("a"), p("b")); !errors.Is(err, os.ErrExist) {
		t.Errorf("taken name: %v", err)
	}
	if err := linkNoReplace(p("a"), p("c")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(p("c")); string(got) != "a" || err != nil {
		t.Errorf("moved file holds %q, %v", got, err)
	}
	if _, err := os.Lstat(p("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old name is still there: %v", err)
	}
	// The call was done and is repeated: the name is ours, so it succeeded.
	if err := os.Link(p("c"), p("again")); err != nil {
		t.Fatal(err)
	}
	if err := linkNoReplace(p("again"), p("c")); err != nil {
		t.Errorf("a repeated call must be seen as done: %v", err)
	}
	if err := os.MkdirAll(p("d1/sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p("d2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := linkNoReplace(p("d1"), p("d2")); !errors.Is(err, os.ErrExist) {
		t.Errorf("taken directory, empty: %v", err)
	}
	if err := linkNoReplace(p("d1"), p("d3")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p("d3/sub")); err != nil {
		t.Error(err)
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want tarnerr.Kind
		hint string
	}{
		{unix.ENOENT, tarnerr.NotFound, ""},
		{unix.ENOTDIR, tarnerr.NotFound, ""},
		{unix.EEXIST, tarnerr.AlreadyExists, ""},
		{unix.EACCES, tarnerr.Denied, "right"},
		{unix.EROFS, tarnerr.Denied, "right"},
		{unix.ENOSPC, tarnerr.Unavailable, "Free space"},
		{unix.EDQUOT, tarnerr.Unavailable, "Free space"},
		{unix.EIO, tarnerr.Unavailable, ""},
		{unix.EMFILE, tarnerr.Unavailable, ""},
		{unix.ENAMETOOLONG, tarnerr.Invalid, "name"},
		{os.ErrClosed, tarnerr.Closed, ""},
	} {
		err := classify("writing file", &os.PathError{Op: "write", Path: "/x", Err: tt.err}, "/x")
		if tarnerr.KindOf(err) != tt.want || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%v became %v: %v", tt.err, tarnerr.KindOf(err), err)
		}
		if strings.Count(err.Error(), "/x") != 1 {
			t.Errorf("the path belongs in the message once: %v", err)
		}
	}
}

// A directory that cannot be written is the nearest thing to a full disk that
// needs no mount; root writes everywhere.
func TestDeniedDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root is denied nothing")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	fs := New(Options{})
	for what, err := range map[string]error{
		"CreateIfAbsent": fs.CreateIfAbsent(context.Background(), dir+"/f", nil),
		"Replace":        fs.Replace(context.Background(), dir+"/f", nil),
		"MakeDir":        fs.MakeDir(context.Background(), dir+"/d/e"),
	} {
		if err == nil || tarnerr.KindOf(err) != tarnerr.Denied {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// /dev/full fails each write as a full disk does.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	w := &writer{fs: New(Options{}), f: f, path: dir + "/data"}
	_, err = w.Write([]byte("x"))
	if err == nil || tarnerr.KindOf(err) != tarnerr.Unavailable || !strings.Contains(err.Error(), "Free space") {
		t.Errorf("Write: %v", err)
	}
	if err := w.Close(); err == nil || tarnerr.KindOf(err) != tarnerr.Unavailable {
		t.Errorf("a file with a failed write must not close well: %v", err)
	}
}

func TestLinksAreNotFollowedIntoDirectories(t *testing.T) {
	dir := t.TempDir()
	fs := New(Options{})
	if err := fileio.WriteFile(t.Context(), fs, dir+"/w/f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"/w/loop": dir + "/w", "/w/dangling": dir + "/none", "/w/g": dir + "/w/f"} {
		if err := os.Symlink(to, dir+link); err != nil {
			t.Fatal(err)
		}
	}
	page, err := fs.List(t.Context(), dir+"/w", fileio.ListOptions{})
	if err != nil || len(page.Entries) != 2 {
		t.Errorf("List = %+v, %v", page, err)
	}
}
