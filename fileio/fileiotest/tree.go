package fileiotest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

func listPages(t *testing.T, f *fixture) {
	// "a.txt" sorts before what lies in "a", which sorts before "a0".
	want := []string{"a.txt", "a/1", "a/2", "a/b/c", "a0", "z"}
	for i := range 30 {
		want = append(want, fmt.Sprintf("many/%02d", i))
	}
	slices.Sort(want)
	for i, n := range want {
		f.put(n, fmt.Sprint(i))
	}
	for _, limit := range []int{0, 1, 2, 7, len(want), 1000} {
		if d := cmp.Diff(want, f.files(f.root, fileio.ListOptions{Limit: limit})); d != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, d)
		}
	}
	page, err := f.fio.List(f.ctx, f.root, fileio.ListOptions{Limit: 3})
	if err != nil || len(page.Entries) != 3 || page.Next == "" {
		t.Fatalf("a page of 3 has %d entries, next %q, %v", len(page.Entries), page.Next, err)
	}
	if e := page.Entries[0]; e.Size != 1 || e.IsDir {
		t.Errorf("entry %+v", e)
	}
	last, err := f.fio.List(f.ctx, f.path("a"), fileio.ListOptions{Limit: 3})
	if err != nil || len(last.Entries) != 3 || last.Next != "" {
		t.Errorf("a last page that is just full has no next: %d entries, next %q, %v", len(last.Entries), last.Next, err)
	}
	if d := cmp.Diff([]string{"a/1", "a/2", "a/b/c"}, f.files(f.path("a"), fileio.ListOptions{})); d != "" {
		t.Errorf("below a (-want +got):\n%s", d)
	}
	// A page goes on after its token although files came and went.
	if err := f.fio.Delete(f.ctx, f.path("a/1"), f.path("a/2")); err != nil {
		t.Fatal(err)
	}
	next, err := f.fio.List(f.ctx, f.root, fileio.ListOptions{Limit: 1, Token: page.Next})
	if err != nil || len(next.Entries) != 1 || next.Entries[0].Path != f.path("a/b/c") {
		t.Errorf("after the token: %+v, %v", next, err)
	}
}

func listDirs(t *testing.T, f *fixture) {
	for _, n := range []string{"x/1", "x/2/3", "y/1", "file", "x.txt"} {
		f.put(n, n)
	}
	want := []string{"file", "x/", "x.txt", "y/"}
	for _, limit := range []int{0, 1, 3} {
		if d := cmp.Diff(want, f.files(f.root, fileio.ListOptions{Dirs: true, Limit: limit})); d != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, d)
		}
	}
	if d := cmp.Diff([]string{"x/1", "x/2/"}, f.files(f.path("x"), fileio.ListOptions{Dirs: true})); d != "" {
		t.Errorf("below x (-want +got):\n%s", d)
	}
}

func makeDir(t *testing.T, f *fixture) {
	for range 2 { // making it again is no error
		if err := f.fio.MakeDir(f.ctx, f.path("db.db/sub")); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"db.db/"}, f.files(f.root, fileio.ListOptions{Dirs: true})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"db.db/sub/"}, f.files(f.path("db.db"), fileio.ListOptions{Dirs: true})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	f.wantFiles()
	if _, err := f.fio.Stat(f.ctx, f.path("db.db")); tarnerr.KindOf(err) != tarnerr.NotFound {
		t.Errorf("a directory is no file: %v", err)
	}
	f.put("db.db/sub/file", "x")
	f.wantFiles("db.db/sub/file")
}

func removeEmptyDir(t *testing.T, f *fixture) {
	remove := func(dir string) bool {
		t.Helper()
		gone, err := fileio.RemoveEmptyDir(f.ctx, f.fio, f.path(dir))
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	f.put("p/b/file", "x")
	for _, dir := range []string{"p", "p/b", "p/b/file", "p/none", "none/at/all"} {
		if remove(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	f.wantFiles("p/b/file")
	if err := f.fio.Delete(f.ctx, f.path("p/b/file")); err != nil {
		t.Fatal(err)
	}
	if remove("p/b") { // elsewhere directories are parts of names
		if remove("p/b") || !remove("p") {
			t.Error("the inner one goes once, and then the outer one")
		}
		if got := f.files(f.root, fileio.ListOptions{Dirs: true}); len(got) != 0 {
			t.Errorf("left are %v", got)
		}
	}
}

func renameFile(t *testing.T, f *fixture) {
	f.put("a", "A")
	f.put("b", "B")
	if !f.fio.Capabilities().Rename {
		f.wantKind(f.fio.Rename(f.ctx, f.path("a"), f.path("c")), tarnerr.Unsupported)
		f.wantFiles("a", "b")
		return
	}
	f.wantKind(f.fio.Rename(f.ctx, f.path("a"), f.path("b")), tarnerr.AlreadyExists)
	f.want("b", "B")
	f.wantKind(f.fio.Rename(f.ctx, f.path("none"), f.path("c")), tarnerr.NotFound)
	if err := f.fio.Rename(f.ctx, f.path("a"), f.path("new/place")); err != nil {
		t.Fatal(err)
	}
	f.want("new/place", "A")
	f.wantFiles("b", "new/place")
}

func renameDirectory(t *testing.T, f *fixture) {
	if !f.fio.Capabilities().Rename {
		t.Skip("no rename")
	}
	for _, n := range []string{"t1/schema/schema-0", "t1/x/y", "t2/z"} {
		f.put(n, n)
	}
	f.wantKind(f.fio.Rename(f.ctx, f.path("t1"), f.path("t2")), tarnerr.AlreadyExists)
	if err := f.fio.MakeDir(f.ctx, f.path("hollow")); err != nil {
		t.Fatal(err)
	}
	f.wantKind(f.fio.Rename(f.ctx, f.path("t1"), f.path("hollow")), tarnerr.AlreadyExists)
	if err := f.fio.Rename(f.ctx, f.path("t1"), f.path("other.db/t3")); err != nil {
		t.Fatal(err)
	}
	f.wantFiles("other.db/t3/schema/schema-0", "other.db/t3/x/y", "t2/z")
	if got := f.files(f.root, fileio.ListOptions{Dirs: true}); slices.Contains(got, "t1/") {
		t.Errorf("the old directory is still listed: %v", got)
	}
}

// names are those that partition values and people bring along.
func names(t *testing.T, f *fixture) {
	want := []string{
		"dt=2024-01-01 00%3A00/bucket-0/data-1.parquet", "name with space", "plus+percent%25", "pt=__DEFAULT_PARTITION__/x",
		"ünïcode/数据", "~tilde'quote\"", ".hidden.tmp",
	}
	slices.Sort(want)
	for _, n := range want {
		f.put(n, n)
	}
	for _, n := range want {
		f.want(n, n)
	}
	f.wantFiles(want...)
}
