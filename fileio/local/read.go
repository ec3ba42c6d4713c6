package local

import (
	"context"
	"io"
	"os"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Open implements fileio.FileIO.
func (fs *FS) Open(ctx context.Context, p string) (fileio.File, error) {
	const op = "opening file"
	if err := fileio.CheckCall(ctx, op, p); err != nil {
		return nil, err
	}
	f, err := os.Open(native(p))
	if err != nil {
		return nil, classify(op, err, p)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = isDirectory(op, p)
	}
	if err != nil {
		f.Close()
		return nil, classify(op, err, p)
	}
	return &file{f: f, path: p, size: st.Size()}, nil
}

type file struct {
	f    *os.File
	path string
	size int64
}

func (f *file) Size() int64 { return f.size }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "reading file"
	if err := ctx.Err(); err != nil {
		return 0, tarnerr.Wrap(tarnerr.Unavailable, op, err, "path", f.path, "offset", off)
	}
	if off < 0 {
		return 0, tarnerr.New(tarnerr.Invalid, op, "negative offset", "path", f.path, "offset", off)
	}
	n, err := f.f.ReadAt(p, off)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && off+int64(n) >= f.size:
		return n, io.EOF
	case err == io.EOF:
		return n, tarnerr.Wrap(tarnerr.Corrupt, op, io.ErrUnexpectedEOF, "path", f.path, "offset", off, "size", f.size).
			WithHint("The file was cut while it was open.")
	}
	return n, tarnerr.Trace(op, classify("reading", err, f.path), "offset", off)
}

func (f *file) Close() error {
	if err := f.f.Close(); err != nil {
		return classify("closing file", err, f.path)
	}
	return nil
}
