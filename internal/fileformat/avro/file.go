package avro

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	// headSize is read in one request when a file is opened: the header, and of
	// small files often everything.
	headSize = 64 << 10
	// maxHeader is the longest header that is read.
	maxHeader = 16 << 20
)

// File is an open Avro file. Safe for concurrent reads.
type File struct {
	*fileformat.Input
	mem    memory.Allocator
	head   []byte // the beginning of the file
	blocks int64  // where the first block begins
	codec  string
	marker []byte
	*shape

	unpacked atomic.Int64
}

// Open reads the header of a file of size bytes: one request unless it is longer
// than 64 KiB.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	return openFile(ctx, fio, path, size, mem, nil)
}

func openFile(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator, schemas *ocf.Cache) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fileformat.OpenInput(ctx, fio, path, size, "Avro")
	if err != nil {
		return nil, err
	}
	f := &File{Input: in, mem: mem}
	if err := f.readHeader(ctx, schemas); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) readHeader(ctx context.Context, schemas *ocf.Cache) error {
	for n := min(f.Size, headSize); ; n = min(f.Size, 4*n) {
		f.head = make([]byte, n)
		if err := f.ReadAt(ctx, f.head, 0); err != nil {
			return err
		}
		c := ocf.Cursor{Buf: f.head}
		h := c.Header()
		if c.Err == nil {
			f.blocks = int64(c.Pos)
			return f.useHeader(h, schemas)
		}
		if c.Err.At == 0 || n == f.Size || n >= maxHeader {
			return f.Corrupt(c.Err.Cause, "offset", c.Err.At)
		}
	}
}

func (f *File) useHeader(h ocf.Header, schemas *ocf.Cache) (err error) {
	f.marker, f.codec = h.Marker, h.Codec
	if err = ocf.CheckCodec(h.Codec); err == nil {
		f.shape, err = ocf.Compiled(schemas, h.Schema, newShape)
	}
	return tarnerr.Trace("opening Avro file", err, "path", f.Path)
}

// Fields implements [fileformat.File].
func (f *File) Fields() []types.Field { return f.fields }

// RowCount implements [fileformat.File]: blocks tell their rows, the header does not.
func (f *File) RowCount() int64 { return -1 }

// Codecs names what the file's blocks are compressed with.
func (f *File) Codecs() []string { return []string{f.codec} }

// BlocksUnpacked is the number of blocks that were decompressed so far.
func (f *File) BlocksUnpacked() int64 { return f.unpacked.Load() }
