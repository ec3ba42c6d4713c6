package avro

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	magic      = "Obj\x01"
	markerSize = 16
	schemaKey  = "avro.schema"
	codecKey   = "avro.codec"

	// headSize is read in one request when a file is opened: the header, and of
	// small files often everything.
	headSize = 64 << 10
	// maxHeader is the longest header that is read.
	maxHeader = 16 << 20
)

// File is an open Avro file. Safe for concurrent reads.
type File struct {
	path   string
	size   int64
	mem    memory.Allocator
	in     fileio.File
	head   []byte // the beginning of the file
	blocks int64  // where the first block begins

	codec  string
	marker [markerSize]byte
	root   *node // the record of a row
	null   int64 // the branches of a union around it; −1 without one
	branch int64
	fields []types.Field

	requests atomic.Int64
	unpacked atomic.Int64
}

// Open reads the header of a file of size bytes: one request unless it is longer
// than 64 KiB.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fio.Open(ctx, path)
	if err != nil {
		return nil, tarnerr.Trace("opening Avro file", err, "path", path)
	}
	f := &File{path: path, size: size, mem: mem, in: in}
	if err := f.readHeader(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "opening Avro file", cause, append([]any{"path", f.path}, kv...)...)
}

func (f *File) readHeader(ctx context.Context) error {
	if s := f.in.Size(); s < f.size {
		return f.corrupt("file is shorter than expected", "size", s, "expected", f.size)
	}
	for n := min(f.size, headSize); ; n = min(f.size, 4*n) {
		f.head = make([]byte, n)
		if err := f.readAt(ctx, f.head, 0); err != nil {
			return err
		}
		if !bytes.HasPrefix(f.head, []byte(magic)) {
			return f.corrupt("not an Avro object container", "offset", 0)
		}
		c := cursor{buf: f.head, pos: len(magic)}
		meta := header(&c)
		if c.err == nil {
			f.blocks = int64(c.pos)
			return f.useHeader(meta)
		}
		if n == f.size || n >= maxHeader {
			return f.corrupt("header cannot be read: "+c.err.cause, "offset", c.err.at)
		}
	}
}

// header reads metadata and marker.
func header(c *cursor) map[string][]byte {
	meta := map[string][]byte{}
	for k := c.items(); k > 0 && c.err == nil; k = c.items() {
		for ; k > 0 && c.err == nil; k-- {
			key := string(c.text())
			meta[key] = c.text()
		}
	}
	meta[""] = c.take(markerSize)
	return meta
}

func (f *File) useHeader(meta map[string][]byte) error {
	copy(f.marker[:], meta[""])
	if f.codec = string(meta[codecKey]); f.codec == "" {
		f.codec = codecNull
	}
	if err := checkCodec(f.codec, f.path); err != nil {
		return err
	}
	root, cause := parseSchema(meta[schemaKey])
	if cause != "" {
		return f.corrupt("schema is broken: " + cause)
	}
	// Paimon before 1.0 wrote rows as a union of null and the record.
	f.root, f.null, f.branch = root.value()
	if f.root == nil || f.root.kind != kindRecord {
		return tarnerr.New(tarnerr.Unsupported, "opening Avro file", "rows are not records", "path", f.path, "type", root.text)
	}
	f.fields = f.root.fields()
	return nil
}

// readAt reads all of p, one request.
func (f *File) readAt(ctx context.Context, p []byte, off int64) error {
	f.requests.Add(1)
	n, err := f.in.ReadAt(ctx, p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tarnerr.Wrap(tarnerr.Corrupt, "reading Avro file", io.ErrUnexpectedEOF, "path", f.path, "offset", off, "length", len(p))
	}
	return tarnerr.Trace("reading Avro file", err, "path", f.path, "offset", off)
}

// Fields implements [fileformat.File].
func (f *File) Fields() []types.Field { return f.fields }

// RowCount implements [fileformat.File]: blocks tell their rows, the header does not.
func (f *File) RowCount() int64 { return -1 }

// Requests is the number of reads sent to the storage so far.
func (f *File) Requests() int64 { return f.requests.Load() }

// BlocksUnpacked is the number of blocks that were decompressed so far.
func (f *File) BlocksUnpacked() int64 { return f.unpacked.Load() }

// Close implements [fileformat.File].
func (f *File) Close() error { return f.in.Close() }
