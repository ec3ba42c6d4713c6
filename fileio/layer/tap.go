package layer

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/fileio"
)

// Method is a call of a FileIO, or of the files and writers it hands out.
type Method uint8

const (
	Open Method = iota
	Create
	CreateIfAbsent
	Replace
	Delete
	List
	Stat
	Rename
	DeleteAll
	MakeDir
	// Read, Write and Close are calls on an open file or writer.
	Read
	Write
	Close

	methods // number of methods
)

var methodNames = [methods]string{
	Open: "open", Create: "create", CreateIfAbsent: "create-if-absent", Replace: "replace", Delete: "delete",
	List: "list", Stat: "stat", Rename: "rename", DeleteAll: "delete-all", MakeDir: "make-dir",
	Read: "read", Write: "write", Close: "close",
}

// String is the method's name as events and counters show it.
func (m Method) String() string { return methodNames[m] }

// sink hears of every call.
type sink interface {
	begin() time.Time
	end(m Method, path string, n int64, start time.Time, err error)
}

// tap passes every call on and tells the sink.
type tap struct {
	inner fileio.FileIO
	to    sink
}

var _ fileio.FileIO = (*tap)(nil)

func (t *tap) Capabilities() fileio.Capabilities { return t.inner.Capabilities() }
func (t *tap) URI(path string) string            { return t.inner.URI(path) }

func (t *tap) Open(ctx context.Context, path string) (fileio.File, error) {
	start := t.to.begin()
	f, err := t.inner.Open(ctx, path)
	t.to.end(Open, path, 0, start, err)
	if err != nil {
		return nil, err
	}
	return &tapFile{f, t.to, path}, nil
}

func (t *tap) Create(ctx context.Context, path string) (fileio.Writer, error) {
	start := t.to.begin()
	w, err := t.inner.Create(ctx, path)
	t.to.end(Create, path, 0, start, err)
	if err != nil {
		return nil, err
	}
	return &tapWriter{w, t.to, path}, nil
}

func (t *tap) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	start := t.to.begin()
	err := t.inner.CreateIfAbsent(ctx, path, data)
	t.to.end(CreateIfAbsent, path, int64(len(data)), start, err)
	return err
}

func (t *tap) Replace(ctx context.Context, path string, data []byte) error {
	start := t.to.begin()
	err := t.inner.Replace(ctx, path, data)
	t.to.end(Replace, path, int64(len(data)), start, err)
	return err
}

func (t *tap) Delete(ctx context.Context, paths ...string) error {
	start := t.to.begin()
	err := t.inner.Delete(ctx, paths...)
	var first string
	if len(paths) > 0 {
		first = paths[0]
	}
	t.to.end(Delete, first, 0, start, err)
	return err
}

func (t *tap) List(ctx context.Context, dir string, opts fileio.ListOptions) (fileio.Page, error) {
	start := t.to.begin()
	page, err := t.inner.List(ctx, dir, opts)
	t.to.end(List, dir, 0, start, err)
	return page, err
}

func (t *tap) Stat(ctx context.Context, path string) (fileio.Info, error) {
	start := t.to.begin()
	info, err := t.inner.Stat(ctx, path)
	t.to.end(Stat, path, 0, start, err)
	return info, err
}

func (t *tap) Rename(ctx context.Context, src, dst string) error {
	start := t.to.begin()
	err := t.inner.Rename(ctx, src, dst)
	t.to.end(Rename, dst, 0, start, err)
	return err
}

func (t *tap) DeleteAll(ctx context.Context, dir string) error {
	start := t.to.begin()
	err := t.inner.DeleteAll(ctx, dir)
	t.to.end(DeleteAll, dir, 0, start, err)
	return err
}

func (t *tap) MakeDir(ctx context.Context, dir string) error {
	start := t.to.begin()
	err := t.inner.MakeDir(ctx, dir)
	t.to.end(MakeDir, dir, 0, start, err)
	return err
}

type tapFile struct {
	fileio.File
	to   sink
	path string
}

func (f *tapFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	start := f.to.begin()
	n, err := f.File.ReadAt(ctx, p, off)
	f.to.end(Read, f.path, int64(n), start, err)
	return n, err
}

type tapWriter struct {
	fileio.Writer
	to   sink
	path string
}

func (w *tapWriter) Write(p []byte) (int, error) {
	start := w.to.begin()
	n, err := w.Writer.Write(p)
	w.to.end(Write, w.path, int64(n), start, err)
	return n, err
}

func (w *tapWriter) Close() error {
	start := w.to.begin()
	err := w.Writer.Close()
	w.to.end(Close, w.path, 0, start, err)
	return err
}

// Unwrap is the FileIO below, see fileio.RemoveEmptyDir.
func (t *tap) Unwrap() fileio.FileIO { return t.inner }
