package faultio

import (
	"context"
	"io"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

type file struct {
	fileio.File
	fs   *FS
	path string
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	err = f.fs.run("read", f.path, func() (err error) {
		n, err = f.File.ReadAt(ctx, p, off)
		return err
	})
	if err != nil && err != io.EOF {
		n = 0
	}
	return n, err
}

// writer remembers a failed write: a file with a hole must not be closed well.
type writer struct {
	inner  fileio.Writer
	fs     *FS
	path   string
	failed error
	done   bool
}

func (w *writer) Write(p []byte) (int, error) {
	f, c := w.fs.decide("write", w.path)
	n := len(p)
	switch f.When {
	case Before:
		n = 0
	case Halfway:
		n /= 2
	}
	if n > 0 {
		if n, err := w.inner.Write(p[:n]); err != nil {
			w.failed = err
			return n, err
		}
	}
	if f.When != Never {
		w.failed = f.err(c)
		return n, w.failed
	}
	return n, nil
}

// Close fails before its effect by removing the file, after it by leaving it whole.
func (w *writer) Close() error {
	if w.done {
		return tarnerr.New(tarnerr.Closed, "closing file", "file is closed", "path", w.path)
	}
	w.done = true
	f, c := w.fs.decide("close", w.path)
	if w.failed != nil || f.When == Before {
		if err := w.inner.Abort(); err != nil {
			return err
		}
		if w.failed != nil {
			return tarnerr.Trace("closing file", w.failed, "path", w.path)
		}
		return f.err(c)
	}
	if err := w.inner.Close(); err != nil {
		return err
	}
	if f.When != Never {
		return f.err(c)
	}
	return nil
}

// Abort that fails before its effect leaves the unfinished file behind.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.fs.run("abort", w.path, w.inner.Abort)
}
