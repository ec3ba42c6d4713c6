package orc

import (
	"context"
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

const magic = "ORC"

// maxMetadata is the most that a footer may be once decompressed.
const maxMetadata = 256 << 20

// File is an open ORC file. Safe for concurrent reads.
type File struct {
	path  string
	size  int64
	mem   memory.Allocator
	in    fileio.File
	tail  segment
	post  postScript
	meta  footer
	root  *fileNode
	nodes []*fileNode // by column
	field []types.Field
	stats atomic.Pointer[[]stripeStats]

	requests atomic.Int64
	stripes  atomic.Int64
}

// Open reads the footer of a file of size bytes: one request when it fits the
// last 64 KiB, two else.
func Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (*File, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	in, err := fio.Open(ctx, path)
	if err != nil {
		return nil, tarnerr.Trace("opening ORC file", err, "path", path)
	}
	f := &File{path: path, size: size, mem: mem, in: in}
	if err := f.readFooter(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "opening ORC file", cause, append([]any{"path", f.path}, kv...)...)
}

func (f *File) unsupported(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Unsupported, "opening ORC file", cause, append([]any{"path", f.path}, kv...)...)
}

func (f *File) readFooter(ctx context.Context) error {
	if f.size < int64(len(magic))+2 {
		return f.corrupt("file is too short to be ORC", "size", f.size)
	}
	if s := f.in.Size(); s < f.size {
		return f.corrupt("file is shorter than expected", "size", s, "expected", f.size)
	}
	if err := f.loadTail(ctx, min(f.size, tailSize)); err != nil {
		return err
	}
	b := f.tail.data
	n := int64(b[len(b)-1])
	if n > f.size-1 {
		return f.corrupt("no ORC postscript at the end", "length", n)
	}
	post, ok := decodePostScript(b[int64(len(b))-1-n : len(b)-1])
	if !ok || post.magic != magic {
		return f.corrupt("no ORC postscript at the end", "length", n)
	}
	f.post = post
	if len(post.version) == 2 && (post.version[0] > 1 || post.version[0] == 1 && post.version[1] > 99 || post.version[0] == 0 && post.version[1] > 12) {
		return f.unsupported("ORC files of this version cannot be read", "major", post.version[0], "minor", post.version[1])
	}
	if err := checkCodec(post.compression, f.path); err != nil {
		return err
	}
	if post.compression != codecNone && (post.blockSize < 1 || post.blockSize > maxBlock) {
		return f.corrupt("size of compressed blocks out of range", "size", post.blockSize)
	}
	end := f.size - 1 - n
	if post.footerLength > end || post.metadataLength > end-post.footerLength {
		return f.corrupt("footer is longer than the file", "length", post.footerLength, "metadata", post.metadataLength)
	}
	if need := n + 1 + post.footerLength; need > int64(len(b)) {
		if err := f.loadTail(ctx, need); err != nil {
			return err
		}
	}
	raw, _ := f.tail.view(end-post.footerLength, post.footerLength)
	plain, err := f.plain(raw)
	if err != nil {
		return f.corrupt("footer cannot be decompressed", "offset", end-post.footerLength)
	}
	if f.meta, ok = decodeFooter(plain); !ok {
		return f.corrupt("footer cannot be decoded", "offset", end-post.footerLength)
	}
	return f.checkFooter()
}

// plain is what compressed metadata stands for.
func (f *File) plain(raw []byte) ([]byte, error) {
	return newStream(raw, f.post.compression, f.post.blockSize).all(maxMetadata)
}

func (f *File) loadTail(ctx context.Context, n int64) error {
	f.tail = segment{f.size - n, make([]byte, n)}
	return f.readAt(ctx, f.tail.data, f.tail.off)
}

// readAt reads all of p, one request.
func (f *File) readAt(ctx context.Context, p []byte, off int64) error {
	f.requests.Add(1)
	n, err := f.in.ReadAt(ctx, p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tarnerr.Wrap(tarnerr.Corrupt, "reading ORC file", io.ErrUnexpectedEOF, "path", f.path, "offset", off, "length", len(p))
	}
	return tarnerr.Trace("reading ORC file", err, "path", f.path, "offset", off)
}

func (f *File) checkFooter() error {
	if f.meta.encrypted {
		return f.unsupported("encrypted ORC files cannot be read")
	}
	nodes, cause := fileTree(f.meta.types)
	if cause != "" {
		return f.corrupt("schema is broken: " + cause)
	}
	f.nodes, f.root = nodes, nodes[0]
	if f.root.kind != kindStruct {
		return f.unsupported("rows are not structs", "type", f.root.kind)
	}
	var rows int64
	for i, s := range f.meta.stripes {
		if s.rows < 0 || rows+s.rows < rows {
			return f.corrupt("number of rows out of range", "stripe", i)
		}
		rows += s.rows
		left := f.size - s.offset
		for _, n := range []int64{s.index, s.data, s.footer} {
			if left -= n; left < 0 {
				return f.corrupt("stripe lies outside the file", "stripe", i)
			}
		}
	}
	if rows != f.meta.rows {
		return f.corrupt("stripes do not add up to the file's rows", "rows", f.meta.rows, "sum", rows)
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

// Requests is the number of reads sent to the storage so far.
func (f *File) Requests() int64 { return f.requests.Load() }

// StripesRead is the number of stripes of which columns were read so far.
func (f *File) StripesRead() int64 { return f.stripes.Load() }

// Close implements [fileformat.File].
func (f *File) Close() error { return f.in.Close() }
