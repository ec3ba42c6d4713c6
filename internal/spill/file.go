package spill

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// maxBlock is how many bytes back the compression looks.
const maxBlock = 1 << 20

// Writer writes one file, block by block. Not safe for concurrent use.
type Writer struct {
	f     *File
	out   fileio.Writer
	plain bytes.Buffer
	small []byte
}

// Create starts a file.
func (s *Store) Create(ctx context.Context, codec *Codec) (*Writer, error) {
	name, err := s.next()
	if err != nil {
		return nil, err
	}
	out, err := s.fio.Create(ctx, name)
	if err != nil {
		return nil, lost("creating temporary file", err, name)
	}
	return &Writer{f: &File{store: s, codec: codec, path: name}, out: out}, nil
}

// Write appends a batch as one block. The batch is borrowed for the call.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	const op = "writing temporary file"
	w.plain.Reset()
	iw := ipc.NewWriter(&w.plain, ipc.WithSchema(rec.Schema()))
	err := iw.Write(rec)
	if e := iw.Close(); err == nil {
		err = e
	}
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, op, err)
	}
	if w.small, err = w.f.codec.Compress(w.small[:0], w.plain.Bytes()); err != nil {
		return err
	}
	if _, err := w.out.Write(w.small); err != nil {
		return lost(op, err, w.f.path)
	}
	w.f.blocks = append(w.f.blocks, block{w.f.size, len(w.small), w.plain.Len(), w.f.rows})
	w.f.rows += rec.NumRows()
	w.f.size += int64(len(w.small))
	w.f.store.bytes.Add(int64(len(w.small)))
	return nil
}

// Close finishes the file. It is removed when that fails.
func (w *Writer) Close() (*File, error) {
	if err := w.out.Close(); err != nil {
		w.f.store.bytes.Add(-w.f.size)
		err = lost("finishing temporary file", err, w.f.path)
		w.out.Abort()
		w.f.store.fio.Delete(context.Background(), w.f.path) // it may be there; Store.Close tries again
		return nil, err
	}
	return w.f, nil
}

// Abort gives the file up.
func (w *Writer) Abort() {
	w.f.store.bytes.Add(-w.f.size)
	w.f.size = 0
	w.out.Abort() // what is left goes with the directory
}

// lost says that a temporary file failed: whatever the storage did, nobody sees it.
func lost(op string, err error, name string) error {
	if tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err, "file", name)
	}
	return tarnerr.Trace(op, err, "file", name)
}

// File is a finished file. Safe for concurrent use until Remove.
type File struct {
	store  *Store
	codec  *Codec
	path   string
	blocks []block
	rows   int64
	size   int64

	mu   sync.Mutex
	open fileio.File
}

type block struct {
	at          int64
	small, size int   // bytes on disk and in memory
	first       int64 // number of its first row in the file
}

// Size is what the file takes on disk, in bytes.
func (f *File) Size() int64 { return f.size }

// Rows is how many rows the file has.
func (f *File) Rows() int64 { return f.rows }

// MaxBlock is how many bytes its largest block takes in memory.
func (f *File) MaxBlock() int64 {
	n := 0
	for _, b := range f.blocks {
		n = max(n, b.size)
	}
	return int64(n)
}

// Broken adds a place to an error of reading a temporary file and, where the file
// is not what was written to it, the way out.
func Broken(op string, err error, kv ...any) error {
	e := tarnerr.Wrap(tarnerr.KindOf(err), op, err, kv...)
	if e.Kind == tarnerr.Corrupt {
		e.Hint = "Begin again, the file is temporary; when it happens once more, check the disk of the temporary directory."
	}
	return e
}

// decode reads the one batch of an IPC stream.
func decode(plain []byte, mem memory.Allocator) (arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bytes.NewReader(plain), ipc.WithAllocator(mem))
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, "reading Arrow stream", err)
	}
	defer r.Release()
	rec, err := r.Read()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, tarnerr.Wrap(tarnerr.Corrupt, "reading Arrow stream", err)
	}
	rec.Retain()
	return rec, nil
}

// handle opens the file with its first read.
func (f *File) handle(ctx context.Context) (fileio.File, error) {
	f.mu.Lock()
	in := f.open
	f.mu.Unlock()
	if in != nil {
		return in, nil
	}
	in, err := f.store.fio.Open(ctx, f.path)
	if err != nil {
		return nil, tarnerr.Trace("opening temporary file", err, "file", f.path)
	}
	f.mu.Lock()
	other := f.open
	if other == nil {
		f.open = in
	}
	f.mu.Unlock()
	if other != nil {
		return other, in.Close()
	}
	return in, nil
}

// Remove deletes the file. Nothing may read it any more. Calling it again does
// nothing.
func (f *File) Remove() error {
	f.mu.Lock()
	in := f.open
	f.open = nil
	f.mu.Unlock()
	var err error
	if in != nil {
		err = in.Close()
	}
	if e := f.store.fio.Delete(context.Background(), f.path); err == nil {
		err = e
	}
	f.store.bytes.Add(-f.size)
	f.size = 0
	return tarnerr.Trace("removing temporary file", err, "file", f.path)
}
