package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// tailSize is read in one request when a file is opened: the footer, and of
// small files often everything.
const tailSize = 64 << 10

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
)

// File is an open Parquet file. Safe for concurrent reads.
type File struct {
	path    string
	size    int64
	mem     memory.Allocator
	in      fileio.File
	tail    []byte // the end of the file
	tailOff int64
	meta    fileMeta
	root    *fileNode
	leaves  []*fileNode
	fields  []types.Field
	plan    readPlan
	indexes atomic.Pointer[segment] // page indexes, once asked for

	pages    atomic.Int64
	requests atomic.Int64
}

// Open reads the footer of a file of size bytes: one request when it fits the
// last 64 KiB, two else.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fio.Open(ctx, path)
	if err != nil {
		return nil, tarnerr.Trace("opening Parquet file", err, "path", path)
	}
	f := &File{path: path, size: size, mem: mem, in: in, plan: defaultPlan}
	if err := f.readFooter(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "opening Parquet file", cause, append([]any{"path", f.path}, kv...)...)
}

func (f *File) readFooter(ctx context.Context) error {
	if f.size < 12 {
		return f.corrupt("file is too short to be Parquet", "size", f.size)
	}
	if s := f.in.Size(); s < f.size {
		return f.corrupt("file is shorter than expected", "size", s, "expected", f.size)
	}
	n := min(f.size, tailSize)
	if err := f.loadTail(ctx, n); err != nil {
		return err
	}
	end := f.tail[len(f.tail)-8:]
	switch string(end[4:]) {
	case magic:
	case magicEncrypted:
		return tarnerr.New(tarnerr.Unsupported, "opening Parquet file", "encrypted Parquet files cannot be read", "path", f.path)
	default:
		return f.corrupt("no Parquet magic at the end", "offset", f.size-4)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > f.size-12 {
		return f.corrupt("footer is longer than the file", "length", length)
	}
	if length+8 > int64(len(f.tail)) {
		if err := f.loadTail(ctx, length+8); err != nil {
			return err
		}
	}
	meta, ok := decodeFooter(f.tail[int64(len(f.tail))-8-length : len(f.tail)-8])
	if !ok {
		return f.corrupt("footer cannot be decoded", "offset", f.size-8-length)
	}
	f.meta = meta
	return f.checkFooter()
}

func (f *File) loadTail(ctx context.Context, n int64) error {
	f.tail, f.tailOff = make([]byte, n), f.size-n
	return f.readAt(ctx, f.tail, f.tailOff)
}

// readAt reads all of p, one request.
func (f *File) readAt(ctx context.Context, p []byte, off int64) error {
	f.requests.Add(1)
	n, err := f.in.ReadAt(ctx, p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tarnerr.Wrap(tarnerr.Corrupt, "reading Parquet file", io.ErrUnexpectedEOF, "path", f.path, "offset", off, "length", len(p))
	}
	return tarnerr.Trace("reading Parquet file", err, "path", f.path, "offset", off)
}

func (f *File) checkFooter() error {
	if f.meta.encrypted {
		return tarnerr.New(tarnerr.Unsupported, "opening Parquet file", "encrypted Parquet files cannot be read", "path", f.path)
	}
	root, leaves, cause := fileTree(f.meta.schema)
	if cause != "" {
		return f.corrupt("schema is broken: " + cause)
	}
	f.root, f.leaves = root, leaves
	var rows int64
	for g := range f.meta.groups {
		group := &f.meta.groups[g]
		if group.rows < 0 || rows+group.rows < rows {
			return f.corrupt("number of rows out of range", "rowGroup", g)
		}
		rows += group.rows
		if len(group.columns) != len(leaves) {
			return f.corrupt("row group does not have the schema's columns", "rowGroup", g)
		}
		for i := range group.columns {
			if err := f.checkChunk(g, &group.columns[i], leaves[i]); err != nil {
				return err
			}
		}
	}
	if rows != f.meta.rows {
		return f.corrupt("row groups do not add up to the file's rows", "rows", f.meta.rows, "sum", rows)
	}
	for _, n := range root.children {
		f.fields = append(f.fields, n.field())
	}
	return nil
}

func (f *File) checkChunk(g int, c *chunkMeta, n *fileNode) error {
	if c.encrypted || c.otherFile {
		return tarnerr.New(tarnerr.Unsupported, "opening Parquet file", "encrypted columns and columns in other files cannot be read",
			"path", f.path, "column", n.path, "rowGroup", g)
	}
	sp := c.span()
	switch {
	case !c.hasMeta || c.typ != n.element.typ:
		return f.corrupt("column chunk does not match the schema", "column", n.path, "rowGroup", g)
	case sp.off < 0 || sp.n < 0 || sp.off > f.size || sp.n > f.size-sp.off:
		return f.corrupt("column chunk lies outside the file", "column", n.path, "rowGroup", g)
	case n.rep == 0 && c.values != f.meta.groups[g].rows:
		return f.corrupt("column chunk does not have the row group's rows", "column", n.path, "rowGroup", g)
	}
	return nil
}

// span is where the pages of a chunk lie. Old writers set a dictionary offset
// of 0 for "none".
func (c *chunkMeta) span() span {
	off := c.dataOffset
	if c.dictOffset > 0 && c.dictOffset < off {
		off = c.dictOffset
	}
	return span{off, c.compressed}
}

// Fields implements [fileformat.File].
func (f *File) Fields() []types.Field { return f.fields }

// RowCount implements [fileformat.File].
func (f *File) RowCount() int64 { return f.meta.rows }

// PagesDecoded is the number of data pages decompressed so far.
func (f *File) PagesDecoded() int64 { return f.pages.Load() }

// Requests is the number of reads sent to the storage so far.
func (f *File) Requests() int64 { return f.requests.Load() }

// Close implements [fileformat.File].
func (f *File) Close() error { return f.in.Close() }

func ctxErr(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
