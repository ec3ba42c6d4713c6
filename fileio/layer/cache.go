package layer

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Cache keeps whole files in store. immutable says which: those that are never
// written again under their name. Files are kept when they are read and when
// they are written. A file larger than an eighth of the store is passed through.
//
// A kept file is read even when someone else has deleted it since.
func Cache(fio fileio.FileIO, store *Store, immutable func(path string) bool) fileio.FileIO {
	return &cache{FileIO: fio, store: store, immutable: immutable}
}

type cache struct {
	fileio.FileIO
	store     *Store
	immutable func(string) bool
}

func (c *cache) keep(path string, data []byte) { c.store.put(key{c, path}, data) }

// forget drops the files that match, of this cache alone.
func (c *cache) forget(match func(path string) bool) {
	c.store.drop(func(k key) bool { return k.owner == c && match(k.path) })
}

func (c *cache) Open(ctx context.Context, path string) (fileio.File, error) {
	if !c.immutable(path) {
		return c.FileIO.Open(ctx, path)
	}
	if err := fileio.CheckCall(ctx, "opening file", path); err != nil {
		return nil, err
	}
	if data, ok := c.store.get(key{c, path}); ok {
		return keptFile{path, data}, nil
	}
	f, err := c.FileIO.Open(ctx, path)
	if err != nil || f.Size() > c.store.largest() {
		return f, err
	}
	defer f.Close()
	data := make([]byte, f.Size())
	if n, err := f.ReadAt(ctx, data, 0); err != nil && (err != io.EOF || n < len(data)) {
		return nil, tarnerr.Trace("reading file", err, "path", path)
	}
	c.keep(path, data)
	return keptFile{path, data}, nil
}

func (c *cache) Create(ctx context.Context, path string) (fileio.Writer, error) {
	w, err := c.FileIO.Create(ctx, path)
	if err != nil || !c.immutable(path) {
		return w, err
	}
	return &keepingWriter{Writer: w, cache: c, path: path}, nil
}

func (c *cache) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	err := c.FileIO.CreateIfAbsent(ctx, path, data)
	if err == nil && c.immutable(path) && int64(len(data)) <= c.store.largest() {
		c.keep(path, slices.Clone(data))
	}
	return err
}

func (c *cache) Replace(ctx context.Context, path string, data []byte) error {
	c.forget(func(p string) bool { return p == path })
	return c.FileIO.Replace(ctx, path, data)
}

func (c *cache) Delete(ctx context.Context, paths ...string) error {
	c.forget(func(p string) bool { return slices.Contains(paths, p) })
	return c.FileIO.Delete(ctx, paths...)
}

// DeleteAll and Rename forget everything: they are rare.
func (c *cache) DeleteAll(ctx context.Context, dir string) error {
	c.forget(func(string) bool { return true })
	return c.FileIO.DeleteAll(ctx, dir)
}

func (c *cache) Rename(ctx context.Context, src, dst string) error {
	c.forget(func(string) bool { return true })
	return c.FileIO.Rename(ctx, src, dst)
}

type keptFile struct {
	path string
	data []byte
}

func (f keptFile) Size() int64  { return int64(len(f.data)) }
func (f keptFile) Close() error { return nil }

func (f keptFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "reading file"
	if err := ctx.Err(); err != nil {
		return 0, tarnerr.Wrap(tarnerr.Unavailable, op, err, "path", f.path, "offset", off)
	}
	if off < 0 {
		return 0, tarnerr.New(tarnerr.Invalid, op, "negative offset", "path", f.path, "offset", off)
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// keepingWriter keeps what it writes, once it is closed well.
type keepingWriter struct {
	fileio.Writer
	cache   *cache
	path    string
	data    []byte
	tooLong bool
}

func (w *keepingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if !w.tooLong {
		w.data = append(w.data, p[:n]...)
		if w.tooLong = int64(len(w.data)) > w.cache.store.largest(); w.tooLong {
			w.data = nil
		}
	}
	return n, err
}

func (w *keepingWriter) Close() error {
	err := w.Writer.Close()
	if err == nil && !w.tooLong {
		w.cache.keep(w.path, w.data)
		w.data, w.tooLong = nil, true
	}
	return err
}

func (w *keepingWriter) Abort() error {
	w.data, w.tooLong = nil, true
	return w.Writer.Abort()
}

// Unwrap is the FileIO below, see fileio.RemoveEmptyDir.
func (c *cache) Unwrap() fileio.FileIO { return c.FileIO }
