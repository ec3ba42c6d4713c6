package fileio

import (
	"context"
	"io"
	"iter"

	"github.com/tarnlake/tarn/tarnerr"
)

// ReadFile reads a whole small file.
func ReadFile(ctx context.Context, fio FileIO, path string) ([]byte, error) {
	f, err := fio.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, f.Size())
	if _, err := f.ReadAt(ctx, buf, 0); err != nil && err != io.EOF {
		return nil, tarnerr.Trace("reading file", err, "path", path)
	}
	return buf, nil
}

// WriteFile writes a whole new file.
func WriteFile(ctx context.Context, fio FileIO, path string, data []byte) error {
	w, err := fio.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// Exists reports whether path is a file.
func Exists(ctx context.Context, fio FileIO, path string) (bool, error) {
	_, err := fio.Stat(ctx, path)
	if err == nil {
		return true, nil
	}
	if tarnerr.KindOf(err) == tarnerr.NotFound {
		return false, nil
	}
	return false, err
}

// All iterates over every entry of a listing, page by page.
func All(ctx context.Context, fio FileIO, dir string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for {
			page, err := fio.List(ctx, dir, opts)
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			opts.Token = page.Next
		}
	}
}

// ReaderAt binds f to ctx as an io.ReaderAt, for libraries that know no context.
func ReaderAt(ctx context.Context, f File) io.ReaderAt { return readerAt{ctx, f} }

// A context in a struct is the point here: the adapter lives no longer than the call it serves.
type readerAt struct {
	ctx context.Context
	f   File
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) { return r.f.ReadAt(r.ctx, p, off) }
