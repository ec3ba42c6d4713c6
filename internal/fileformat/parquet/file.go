package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
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
	*fileformat.Input
	mem     memory.Allocator
	tail    []byte // the end of the file
	tailOff int64
	meta    fileMeta
	root    *fileNode
	leaves  []*fileNode
	fields  []types.Field
	plan    readPlan
	indexes atomic.Pointer[segment] // page indexes, once asked for

	pages atomic.Int64
}

// Open reads the footer of a file of size bytes: one request when it fits the
// last 64 KiB, two else.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fileformat.OpenInput(ctx, fio, path, size, "Parquet")
	if err != nil {
		return nil, err
	}
	f := &File{Input: in, mem: mem, plan: defaultPlan}
	if err := f.readFooter(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) readFooter(ctx context.Context) error {
	if f.Size < 12 {
		return f.Corrupt("file is too short to be Parquet", "size", f.Size)
	}
	n := min(f.Size, tailSize)
	if err := f.loadTail(ctx, n); err != nil {
		return err
	}
	end := f.tail[len(f.tail)-8:]
	switch string(end[4:]) {
	case magic:
	case magicEncrypted:
		return f.Unsupported("encrypted Parquet files cannot be read")
	default:
		return f.Corrupt("no Parquet magic at the end", "offset", f.Size-4)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > f.Size-12 {
		return f.Corrupt("footer is longer than the file", "length", length)
	}
	if length+8 > int64(len(f.tail)) {
		if err := f.loadTail(ctx, length+8); err != nil {
			return err
		}
	}
	meta, ok := decodeFooter(f.tail[int64(len(f.tail))-8-length : len(f.tail)-8])
	if !ok {
		return f.Corrupt("footer cannot be decoded", "offset", f.Size-8-length)
	}
	f.meta = meta
	return f.checkFooter()
}

func (f *File) loadTail(ctx context.Context, n int64) error {
	f.tail, f.tailOff = make([]byte, n), f.Size-n
	return f.ReadAt(ctx, f.tail, f.tailOff)
}

func (f *File) checkFooter() error {
	if f.meta.encrypted {
		return f.Unsupported("encrypted Parquet files cannot be read")
	}
	root, leaves, cause := fileTree(f.meta.schema)
	if cause != "" {
		return f.Corrupt("schema is broken: " + cause)
	}
	f.root, f.leaves = root, leaves
	var rows int64
	for g := range f.meta.groups {
		group := &f.meta.groups[g]
		if group.rows < 0 || rows+group.rows < rows {
			return f.Corrupt("number of rows out of range", "rowGroup", g)
		}
		rows += group.rows
		if len(group.columns) != len(leaves) {
			return f.Corrupt("row group does not have the schema's columns", "rowGroup", g)
		}
		for i := range group.columns {
			if err := f.checkChunk(g, &group.columns[i], leaves[i]); err != nil {
				return err
			}
		}
	}
	if rows != f.meta.rows {
		return f.Corrupt("row groups do not add up to the file's rows", "rows", f.meta.rows, "sum", rows)
	}
	for _, n := range root.children {
		f.fields = append(f.fields, n.field())
	}
	return nil
}

func (f *File) checkChunk(g int, c *chunkMeta, n *fileNode) error {
	if c.encrypted || c.otherFile {
		return f.Unsupported("encrypted columns and columns in other files cannot be read", "column", n.path, "rowGroup", g)
	}
	sp := c.span()
	switch {
	case !c.hasMeta || c.typ != n.element.typ:
		return f.Corrupt("column chunk does not match the schema", "column", n.path, "rowGroup", g)
	case sp.off < 0 || sp.n < 0 || sp.off > f.Size || sp.n > f.Size-sp.off:
		return f.Corrupt("column chunk lies outside the file", "column", n.path, "rowGroup", g)
	case n.rep == 0 && c.values != f.meta.groups[g].rows:
		return f.Corrupt("column chunk does not have the row group's rows", "column", n.path, "rowGroup", g)
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

func ctxErr(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
