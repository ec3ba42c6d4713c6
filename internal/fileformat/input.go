package fileformat

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Input is a data file that is being read. Safe for concurrent use.
type Input struct {
	Path string
	Size int64 // as its manifest entry says

	what     string
	in       fileio.File
	requests atomic.Int64
}

// OpenInput opens a file. What is the name of its format, for errors.
func OpenInput(ctx context.Context, fio fileio.FileIO, path string, size int64, what string) (*Input, error) {
	f := &Input{Path: path, Size: size, what: what}
	in, err := fio.Open(ctx, path)
	if err != nil {
		return nil, tarnerr.Trace("opening "+what+" file", err, "path", path)
	}
	f.in = in
	if s := in.Size(); s < size {
		in.Close()
		return nil, f.Corrupt("file is shorter than expected", "size", s, "expected", size)
	}
	return f, nil
}

// ReadAt reads all of p, one request.
func (f *Input) ReadAt(ctx context.Context, p []byte, off int64) error {
	f.requests.Add(1)
	n, err := f.in.ReadAt(ctx, p, off)
	if n == len(p) {
		return nil
	}
	op := "reading " + f.what + " file"
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tarnerr.Wrap(tarnerr.Corrupt, op, io.ErrUnexpectedEOF, "path", f.Path, "offset", off, "length", len(p))
	}
	return tarnerr.Trace(op, err, "path", f.Path, "offset", off)
}

// Requests is the number of reads sent to the storage so far.
func (f *Input) Requests() int64 { return f.requests.Load() }

// Close implements [File].
func (f *Input) Close() error { return f.in.Close() }

// Corrupt is the error of a file that cannot be opened as what it is said to be.
func (f *Input) Corrupt(cause string, kv ...any) error { return f.refuse(tarnerr.Corrupt, cause, kv) }

// Unsupported is the error of a file that nobody opens yet.
func (f *Input) Unsupported(cause string, kv ...any) error {
	return f.refuse(tarnerr.Unsupported, cause, kv)
}

func (f *Input) refuse(kind tarnerr.Kind, cause string, kv []any) error {
	return tarnerr.New(kind, "opening "+f.what+" file", cause, append([]any{"path", f.Path}, kv...)...)
}
