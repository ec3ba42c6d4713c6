package mem

import (
	"context"
	"io"
	"slices"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Open implements fileio.FileIO.
func (fs *FS) Open(ctx context.Context, path string) (fileio.File, error) {
	o, err := fs.lookup(ctx, "opening file", path)
	if err != nil {
		return nil, err
	}
	return &file{path: path, data: o.data}, nil
}

// file is a view of the bytes a file had when it was opened.
type file struct {
	path string
	data []byte
}

func (f *file) Size() int64  { return int64(len(f.data)) }
func (f *file) Close() error { return nil }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "reading file"
	if err := ctx.Err(); err != nil {
		return 0, tarnerr.Wrap(tarnerr.Unavailable, op, err, "path", f.path, "offset", off)
	}
	if off < 0 {
		return 0, tarnerr.New(tarnerr.Invalid, op, "negative offset", "path", f.path, "offset", off)
	}
	if off >= int64(len(f.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Create implements fileio.FileIO. On Posix a taken name is AlreadyExists; an
// object store learns nothing before Close and then replaces.
func (fs *FS) Create(ctx context.Context, path string) (fileio.Writer, error) {
	const op = "creating file"
	if err := fileio.CheckCall(ctx, op, path); err != nil {
		return nil, err
	}
	if fs.profile == Posix {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if err := fs.checkFree(op, path); err != nil {
			return nil, err
		}
		fs.store(path, nil)
	}
	return &writer{fs: fs, path: path}, nil
}

type writer struct {
	fs   *FS
	path string
	buf  []byte
	done bool
}

func (w *writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, tarnerr.New(tarnerr.Closed, "writing file", "file is closed", "path", w.path)
	}
	w.buf = append(w.buf, p...)
	if w.fs.profile == Posix {
		w.publish()
	}
	return len(p), nil
}

func (w *writer) Close() error {
	if w.done {
		return tarnerr.New(tarnerr.Closed, "closing file", "file is closed", "path", w.path)
	}
	w.done = true
	w.publish()
	return nil
}

func (w *writer) Abort() error {
	if !w.done && w.fs.profile == Posix {
		w.fs.Remove(w.path)
	}
	w.done = true
	return nil
}

// publish shows what was written so far. A Posix file that someone removed in
// the meantime stays removed: the writer holds only its handle.
func (w *writer) publish() {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if _, ok := w.fs.files[w.path]; !ok && w.fs.profile == Posix {
		return
	}
	w.fs.store(w.path, slices.Clip(w.buf))
}
