package fileiotest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Factory makes a FileIO and names an empty directory in it.
type Factory func(t *testing.T) (fio fileio.FileIO, root string)

// Run runs the whole suite.
func Run(t *testing.T, open Factory) {
	tests := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"WriteAndRead", writeAndRead},
		{"RangedReads", rangedReads},
		{"EmptyFile", emptyFile},
		{"Missing", missing},
		{"Abort", abort},
		{"WriterAfterClose", writerAfterClose},
		{"CreateIfAbsent", createIfAbsent},
		{"CreateIfAbsentHasOneWinner", oneWinner},
		{"Replace", replace},
		{"ReplaceIsAtomic", replaceIsAtomic},
		{"Delete", deleteFiles},
		{"DeleteAll", deleteAll},
		{"ListIsSortedAndPaged", listPages},
		{"ListDirs", listDirs},
		{"MakeDir", makeDir},
		{"RemoveEmptyDir", removeEmptyDir},
		{"RenameFile", renameFile},
		{"RenameDirectory", renameDirectory},
		{"Names", names},
		{"BadPaths", badPaths},
		{"CancelledContext", cancelled},
		{"URI", uri},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fio, root := open(t)
			tt.run(t, &fixture{T: t, fio: fio, root: root, ctx: t.Context()})
		})
	}
}

type fixture struct {
	*testing.T
	fio  fileio.FileIO
	root string
	ctx  context.Context
}

func (f *fixture) path(name string) string { return f.root + "/" + name }

func (f *fixture) put(name, data string) {
	f.Helper()
	if err := fileio.WriteFile(f.ctx, f.fio, f.path(name), []byte(data)); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) want(name, data string) {
	f.Helper()
	got, err := fileio.ReadFile(f.ctx, f.fio, f.path(name))
	if err != nil {
		f.Fatal(err)
	}
	if string(got) != data {
		f.Fatalf("%s holds %q, want %q", name, got, data)
	}
}

func (f *fixture) wantKind(err error, kind tarnerr.Kind) {
	f.Helper()
	if err == nil {
		f.Fatalf("no error, want %v", kind)
	}
	if tarnerr.KindOf(err) != kind {
		f.Fatalf("got %v error %v, want %v", tarnerr.KindOf(err), err, kind)
	}
}

// files lists all files below dir, with names from the root on.
func (f *fixture) files(dir string, opts fileio.ListOptions) []string {
	f.Helper()
	var out []string
	for e, err := range fileio.All(f.ctx, f.fio, dir, opts) {
		if err != nil {
			f.Fatal(err)
		}
		name := strings.TrimPrefix(e.Path, f.root+"/")
		if e.IsDir {
			name += "/"
		}
		out = append(out, name)
	}
	return out
}

func (f *fixture) wantFiles(want ...string) {
	f.Helper()
	if d := cmp.Diff(want, f.files(f.root, fileio.ListOptions{})); d != "" {
		f.Fatalf("files (-want +got):\n%s", d)
	}
}

func writeAndRead(t *testing.T, f *fixture) {
	w, err := f.fio.Create(f.ctx, f.path("a/b/c"))
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("0123456789"), 1000)
	for range 20 {
		if n, err := w.Write(part); n != len(part) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	copy(part, "xxxxx") // the writer must not hold on to what it was given
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.want("a/b/c", strings.Repeat("0123456789", 20_000))
	info, err := f.fio.Stat(f.ctx, f.path("a/b/c"))
	if err != nil || info.Size != 200_000 || info.Path != f.path("a/b/c") || info.IsDir {
		t.Fatalf("Stat = %+v, %v", info, err)
	}
}

func rangedReads(t *testing.T, f *fixture) {
	f.put("f", "0123456789")
	file, err := f.fio.Open(f.ctx, f.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Size() != 10 {
		t.Fatalf("Size = %d", file.Size())
	}
	for _, tt := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 10, "0123456789", nil}, {3, 4, "3456", nil}, {9, 1, "9", nil}, {0, 0, "", nil},
		{8, 5, "89", io.EOF}, {10, 1, "", io.EOF}, {99, 1, "", io.EOF},
	} {
		buf := make([]byte, tt.n)
		n, err := file.ReadAt(f.ctx, buf, tt.off)
		// A read that ends at the end of the file may say so.
		if err == io.EOF && n == tt.n {
			err = nil
		}
		if string(buf[:n]) != tt.want || err != tt.err {
			t.Errorf("ReadAt(%d bytes, %d) = %q, %v, want %q, %v", tt.n, tt.off, buf[:n], err, tt.want, tt.err)
		}
	}
	if _, err := file.ReadAt(f.ctx, make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("a negative offset gave %v", err)
	}
	got, err := io.ReadAll(io.NewSectionReader(fileio.ReaderAt(f.ctx, file), 2, 6))
	if err != nil || string(got) != "234567" {
		t.Errorf("section = %q, %v", got, err)
	}
	each(8, func(i int) {
		buf := make([]byte, 2)
		if n, err := file.ReadAt(f.ctx, buf, int64(i)); n != 2 || err != nil && err != io.EOF || buf[0] != byte('0'+i) {
			t.Errorf("reading side by side: %q, %d, %v", buf, n, err)
		}
	})
}

func emptyFile(t *testing.T, f *fixture) {
	f.put("empty", "")
	f.want("empty", "")
	if info, err := f.fio.Stat(f.ctx, f.path("empty")); err != nil || info.Size != 0 {
		t.Fatalf("Stat = %+v, %v", info, err)
	}
}

func missing(t *testing.T, f *fixture) {
	f.put("dir/file", "x")
	for _, name := range []string{"none", "none/below", "dir"} {
		_, err := f.fio.Open(f.ctx, f.path(name))
		f.wantKind(err, tarnerr.NotFound)
		_, err = f.fio.Stat(f.ctx, f.path(name))
		f.wantKind(err, tarnerr.NotFound)
		if ok, err := fileio.Exists(f.ctx, f.fio, f.path(name)); ok || err != nil {
			t.Errorf("Exists(%s) = %v, %v", name, ok, err)
		}
	}
	if got := f.files(f.path("none"), fileio.ListOptions{}); len(got) != 0 {
		t.Errorf("a missing directory lists %v", got)
	}
	if got := f.files(f.path("none"), fileio.ListOptions{Dirs: true}); len(got) != 0 {
		t.Errorf("a missing directory lists %v", got)
	}
}

func abort(t *testing.T, f *fixture) {
	w, err := f.fio.Create(f.ctx, f.path("gone"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("a second Abort must do nothing: %v", err)
	}
	f.wantFiles()

	w, err = f.fio.Create(f.ctx, f.path("kept"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort after Close must do nothing: %v", err)
	}
	f.wantFiles("kept")
}

func writerAfterClose(t *testing.T, f *fixture) {
	w, err := f.fio.Create(f.ctx, f.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte("late"))
	f.wantKind(err, tarnerr.Closed)
	f.wantKind(w.Close(), tarnerr.Closed)
	f.want("f", "")
}

func replace(t *testing.T, f *fixture) {
	for _, data := range []string{"1", "a longer text", "2", ""} {
		buf := []byte(data)
		if err := f.fio.Replace(f.ctx, f.path("d/hint"), buf); err != nil {
			t.Fatal(err)
		}
		copy(buf, "zzzz")
		f.want("d/hint", data)
	}
	f.wantFiles("d/hint") // no temporary file is left
}

func deleteFiles(t *testing.T, f *fixture) {
	for _, n := range []string{"a", "b", "c", "d/e"} {
		f.put(n, n)
	}
	if err := f.fio.Delete(f.ctx, f.path("a"), f.path("none"), f.path("none/x"), f.path("c")); err != nil {
		t.Fatal(err)
	}
	f.wantFiles("b", "d/e")
	if err := f.fio.Delete(f.ctx, f.path("d")); err != nil {
		t.Errorf("deleting a directory as a file does nothing: %v", err)
	}
	if err := f.fio.MakeDir(f.ctx, f.path("hollow")); err != nil {
		t.Fatal(err)
	}
	if err := f.fio.Delete(f.ctx, f.path("hollow")); err != nil {
		t.Errorf("deleting an empty directory as a file does nothing: %v", err)
	}
	if got := f.files(f.root, fileio.ListOptions{Dirs: true}); !slices.Contains(got, "hollow/") {
		t.Errorf("Delete removed a directory: %v", got)
	}
	if err := f.fio.Delete(f.ctx); err != nil {
		t.Error(err)
	}
	f.wantFiles("b", "d/e")
}

func deleteAll(t *testing.T, f *fixture) {
	for _, n := range []string{"d/1", "d/sub/2", "d2/3", "d.txt"} {
		f.put(n, n)
	}
	if err := f.fio.DeleteAll(f.ctx, f.path("d")); err != nil {
		t.Fatal(err)
	}
	f.wantFiles("d.txt", "d2/3")
	if got := f.files(f.root, fileio.ListOptions{Dirs: true}); slices.Contains(got, "d/") {
		t.Errorf("the directory is still listed: %v", got)
	}
	if err := f.fio.DeleteAll(f.ctx, f.path("none")); err != nil {
		t.Errorf("a missing directory is no error: %v", err)
	}
	f.wantKind(f.fio.DeleteAll(f.ctx, "/"), tarnerr.Invalid)
}

func badPaths(t *testing.T, f *fixture) {
	for _, p := range []string{"", "relative", f.root + "/", f.root + "//x", f.root + "/../x", f.root + "/./x", f.root + "/a\x00b", "file:/x"} {
		_, err := f.fio.Open(f.ctx, p)
		f.wantKind(err, tarnerr.Invalid)
		_, err = f.fio.Create(f.ctx, p)
		f.wantKind(err, tarnerr.Invalid)
		f.wantKind(f.fio.Replace(f.ctx, p, nil), tarnerr.Invalid)
		f.wantKind(f.fio.Delete(f.ctx, p), tarnerr.Invalid)
		_, err = f.fio.List(f.ctx, p, fileio.ListOptions{})
		f.wantKind(err, tarnerr.Invalid)
		f.wantKind(f.fio.DeleteAll(f.ctx, p), tarnerr.Invalid)
		f.wantKind(f.fio.MakeDir(f.ctx, p), tarnerr.Invalid)
	}
	f.wantFiles()
}

func cancelled(t *testing.T, f *fixture) {
	f.put("f", "x")
	file, err := f.fio.Open(f.ctx, f.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) || tarnerr.KindOf(err) != tarnerr.Unavailable {
			t.Errorf("%s on a cancelled context = %v (%v)", what, err, tarnerr.KindOf(err))
		}
	}
	_, err = file.ReadAt(ctx, make([]byte, 1), 0)
	check("ReadAt", err)
	_, err = f.fio.Open(ctx, f.path("f"))
	check("Open", err)
	_, err = f.fio.Create(ctx, f.path("g"))
	check("Create", err)
	check("CreateIfAbsent", f.fio.CreateIfAbsent(ctx, f.path("g"), nil))
	check("Replace", f.fio.Replace(ctx, f.path("g"), nil))
	check("Delete", f.fio.Delete(ctx, f.path("f")))
	_, err = f.fio.List(ctx, f.root, fileio.ListOptions{})
	check("List", err)
	_, err = f.fio.Stat(ctx, f.path("f"))
	check("Stat", err)
	check("DeleteAll", f.fio.DeleteAll(ctx, f.path("f")))
	check("MakeDir", f.fio.MakeDir(ctx, f.path("d")))
	check("Rename", f.fio.Rename(ctx, f.path("f"), f.path("g")))
	f.wantFiles("f")
}

func uri(t *testing.T, f *fixture) {
	p := f.path("x")
	u := f.fio.URI(p)
	scheme, rest, ok := strings.Cut(u, ":")
	if !ok || scheme == "" || !strings.HasSuffix(rest, p) {
		t.Errorf("URI(%s) = %s", p, u)
	}
}
