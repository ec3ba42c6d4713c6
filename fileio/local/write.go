package local

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"path"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Create implements fileio.FileIO. AlreadyExists when the name is taken.
func (fs *FS) Create(ctx context.Context, p string) (fileio.Writer, error) {
	const op = "creating file"
	if err := fileio.CheckCall(ctx, op, p); err != nil {
		return nil, err
	}
	f, err := fs.create(p)
	if err != nil {
		return nil, classify(op, err, p)
	}
	return &writer{fs: fs, f: f, path: p}, nil
}

type writer struct {
	fs   *FS
	f    *os.File // nil after Close or Abort
	path string
	err  error // first failed write: Close must not pass over it
	size int64
	sent int64 // bytes from the start that are on their way to the disk
}

// early is how many bytes a large file gathers before they are sent to the disk
// while it is still being written, so that little is left when it is synced.
const early = 1 << 20

func (w *writer) Write(p []byte) (int, error) {
	const op = "writing file"
	if w.f == nil {
		return 0, tarnerr.New(tarnerr.Closed, op, "file is closed", "path", w.path)
	}
	n, err := w.f.Write(p)
	if err != nil {
		err = classify(op, err, w.path)
		if w.err == nil {
			w.err = err
		}
	}
	if w.size += int64(n); w.fs.durable && w.size-w.sent >= early {
		sendEarly(w.f, w.sent, w.size-w.sent)
		w.sent = w.size
	}
	return n, err
}

func (w *writer) Close() error {
	const op = "closing file"
	if w.f == nil {
		return tarnerr.New(tarnerr.Closed, op, "file is closed", "path", w.path)
	}
	f := w.f
	w.f = nil
	err := w.err
	if err == nil {
		err = w.fs.finish(f)
	} else {
		f.Close()
	}
	if err == nil {
		err = w.fs.syncDir(path.Dir(w.path))
	}
	if err == nil {
		return nil
	}
	// The name is ours alone: once it is gone the failure had no effect.
	if rmErr := unlink(native(w.path)); rmErr != nil && !errors.Is(rmErr, iofs.ErrNotExist) {
		return tarnerr.Wrap(tarnerr.Ambiguous, op, err, "path", w.path)
	}
	return classify(op, err, w.path)
}

func (w *writer) Abort() error {
	if w.f == nil {
		return nil
	}
	w.f.Close()
	w.f = nil
	if err := unlink(native(w.path)); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return classify("removing unfinished file", err, w.path)
	}
	return nil
}

// CreateIfAbsent implements fileio.FileIO.
func (fs *FS) CreateIfAbsent(ctx context.Context, p string, data []byte) error {
	const op = "creating file if absent"
	tmp, err := fs.writeTemp(ctx, op, p, data)
	if err != nil {
		return err
	}
	if err := moveNoReplace(native(tmp), native(p)); err != nil {
		// A failed move leaves the temporary file where it was; when it is gone
		// or cannot be asked for, the move may have happened.
		_, stErr := os.Lstat(native(tmp))
		unlink(native(tmp))
		if stErr != nil {
			return tarnerr.Wrap(tarnerr.Ambiguous, op, err, "path", p)
		}
		return classify(op, err, p)
	}
	return fs.syncMoved(op, p)
}

// Replace implements fileio.FileIO.
func (fs *FS) Replace(ctx context.Context, p string, data []byte) error {
	const op = "replacing file"
	tmp, err := fs.writeTemp(ctx, op, p, data)
	if err != nil {
		return err
	}
	if err := replace(native(tmp), native(p)); err != nil {
		_, stErr := os.Lstat(native(tmp))
		unlink(native(tmp))
		if stErr != nil {
			return tarnerr.Wrap(tarnerr.Ambiguous, op, err, "path", p)
		}
		return classify(op, err, p)
	}
	return fs.syncMoved(op, p)
}

// writeTemp writes data to a temporary file beside p. Whatever fails here had no effect on p.
func (fs *FS) writeTemp(ctx context.Context, op, p string, data []byte) (string, error) {
	if err := fileio.CheckCall(ctx, op, p); err != nil {
		return "", err
	}
	dir, name := path.Split(p)
	tmp := dir + "." + name + "." + fs.env.UUID() + ".tmp"
	f, err := fs.create(tmp)
	if err != nil {
		return "", classify(op, err, p)
	}
	_, err = f.Write(data)
	if err != nil {
		f.Close()
	} else {
		err = fs.finish(f)
	}
	if err != nil {
		unlink(native(tmp))
		return "", classify(op, err, p)
	}
	return tmp, nil
}

func (fs *FS) syncMoved(op, p string) error {
	if err := fs.syncDir(path.Dir(p)); err != nil {
		return tarnerr.Wrap(tarnerr.Ambiguous, op, err, "path", p)
	}
	return nil
}

// create opens a new file, making the directories above it when they are missing.
func (fs *FS) create(p string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(native(p), flags, 0o666)
	if gone(err) {
		if err := fs.makeDirs(path.Dir(p)); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(native(p), flags, 0o666)
	}
	return f, err
}

func (fs *FS) finish(f *os.File) error {
	var err error
	if fs.durable {
		err = fs.fsync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// makeDirs makes dir and what is missing above it, and syncs each directory
// that gained a name: a synced file below a lost directory would be lost too.
func (fs *FS) makeDirs(dir string) error {
	if st, err := os.Stat(native(dir)); err == nil {
		if st.IsDir() {
			return nil
		}
		return tarnerr.New(tarnerr.AlreadyExists, "making directory", "a file is in the way", "path", dir)
	}
	if parent := path.Dir(dir); parent != dir {
		if err := fs.makeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(native(dir), 0o777); err != nil {
		if st, stErr := os.Stat(native(dir)); stErr == nil && st.IsDir() {
			return nil // made by someone else at the same moment
		}
		return err
	}
	return fs.syncDir(path.Dir(dir))
}

func (fs *FS) syncDir(dir string) error {
	if !fs.durable {
		return nil
	}
	return fs.fsyncDir(native(dir))
}
