package orc

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// tailSize is read in one request when a file is opened: the footer, and of
// small files often everything.
const tailSize = 64 << 10

const magic = "ORC"

// A footer is at most so many bytes once decompressed, and beyond the lesser
// bound at most so many times as long as before.
const (
	maxMetadata    = 256 << 20
	alwaysMetadata = 16 << 20
	timesMetadata  = 256
)

// File is an open ORC file. Safe for concurrent reads.
type File struct {
	*fileformat.Input
	mem   memory.Allocator
	tail  segment
	post  postScript
	meta  footer
	root  *fileNode
	nodes []*fileNode // by column
	field []types.Field
	stats atomic.Pointer[[]stripeStats]

	stripes atomic.Int64
}

// Open reads the footer of a file of size bytes: one request when it fits the
// last 64 KiB, two else.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fileformat.OpenInput(ctx, fio, path, size, "ORC")
	if err != nil {
		return nil, err
	}
	f := &File{Input: in, mem: mem}
	if err := f.readFooter(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) readFooter(ctx context.Context) error {
	if f.Size < int64(len(magic))+2 {
		return f.Corrupt("file is too short to be ORC", "size", f.Size)
	}
	if err := f.loadTail(ctx, min(f.Size, tailSize)); err != nil {
		return err
	}
	b := f.tail.data
	n := int64(b[len(b)-1])
	if n > f.Size-1 {
		return f.Corrupt("no ORC postscript at the end", "length", n)
	}
	post, ok := decodePostScript(b[int64(len(b))-1-n : len(b)-1])
	if !ok || post.magic != magic {
		return f.Corrupt("no ORC postscript at the end", "length", n)
	}
	f.post = post
	if len(post.version) == 2 && (post.version[0] > 1 || post.version[0] == 1 && post.version[1] > 99 || post.version[0] == 0 && post.version[1] > 12) {
		return f.Unsupported("ORC files of this version cannot be read", "major", post.version[0], "minor", post.version[1])
	}
	if err := checkCodec(post.compression, f.Path); err != nil {
		return err
	}
	if post.compression != codecNone && (post.blockSize < 1 || post.blockSize > maxBlock) {
		return f.Corrupt("size of compressed blocks out of range", "size", post.blockSize)
	}
	end := f.Size - 1 - n
	if post.footerLength > end || post.metadataLength > end-post.footerLength {
		return f.Corrupt("footer is longer than the file", "length", post.footerLength, "metadata", post.metadataLength)
	}
	if need := n + 1 + post.footerLength; need > int64(len(b)) {
		if err := f.loadTail(ctx, need); err != nil {
			return err
		}
	}
	raw, _ := f.tail.view(end-post.footerLength, post.footerLength)
	plain, err := f.plain(raw)
	if err != nil {
		return f.Corrupt("footer cannot be decompressed", "offset", end-post.footerLength)
	}
	if f.meta, ok = decodeFooter(plain); !ok {
		return f.Corrupt("footer cannot be decoded", "offset", end-post.footerLength)
	}
	return f.checkFooter()
}

// plain is what compressed metadata stands for.
func (f *File) plain(raw []byte) ([]byte, error) {
	return newStream(raw, f.post.compression, f.post.blockSize).all(min(maxMetadata, max(alwaysMetadata, timesMetadata*len(raw))))
}

func (f *File) loadTail(ctx context.Context, n int64) error {
	f.tail = segment{f.Size - n, make([]byte, n)}
	return f.ReadAt(ctx, f.tail.data, f.tail.off)
}

func (f *File) checkFooter() error {
	if f.meta.encrypted {
		return f.Unsupported("encrypted ORC files cannot be read")
	}
	nodes, cause := fileTree(f.meta.types)
	if cause != "" {
		return f.Corrupt("schema is broken: " + cause)
	}
	f.nodes, f.root = nodes, nodes[0]
	if f.root.kind != kindStruct {
		return f.Unsupported("rows are not structs", "type", f.root.kind)
	}
	var rows int64
	for i, s := range f.meta.stripes {
		if s.rows < 0 || rows+s.rows < rows {
			return f.Corrupt("number of rows out of range", "stripe", i)
		}
		rows += s.rows
		left := f.Size - s.offset
		for _, n := range []int64{s.index, s.data, s.footer} {
			if left -= n; left < 0 {
				return f.Corrupt("stripe lies outside the file", "stripe", i)
			}
		}
	}
	if rows != f.meta.rows {
		return f.Corrupt("stripes do not add up to the file's rows", "rows", f.meta.rows, "sum", rows)
	}
	for _, n := range f.root.children {
		f.field = append(f.field, n.field())
	}
	return nil
}

// Fields implements [fileformat.File].
func (f *File) Fields() []types.Field { return f.field }

// RowCount implements [fileformat.File].
func (f *File) RowCount() int64 { return f.meta.rows }

// StripesRead is the number of stripes of which columns were read so far.
func (f *File) StripesRead() int64 { return f.stripes.Load() }
