package avro

import (
	"bytes"
	"context"

	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// windowSize is how much of a file is read at a time.
const windowSize = 1 << 20

// window goes through the blocks of a file from front to end.
type window struct {
	file *File
	off  int64  // of buf in the file
	buf  []byte // what was read
	pos  int    // in buf
	own  bool   // buf may be used again: it is not the file's, nor do rows share it
}

func newWindow(f *File) window { return window{file: f, buf: f.head, pos: int(f.blocks)} }

// at is the place in the file.
func (w *window) at() int64 { return w.off + int64(w.pos) }

// need makes sure that n bytes, or the rest of the file if that is less, lie in
// buf from pos on.
func (w *window) need(ctx context.Context, n int64) error {
	have := int64(len(w.buf) - w.pos)
	left := w.file.Size - w.at()
	if have >= min(n, left) {
		return nil
	}
	size := min(max(n, windowSize), left)
	next := w.buf[:cap(w.buf)]
	if !w.own || int64(len(next)) < size {
		next = make([]byte, size)
	}
	next = next[:size]
	copy(next, w.buf[w.pos:])
	w.off, w.buf, w.pos, w.own = w.at(), next, 0, w.file.codec != ocf.CodecNull
	return w.file.ReadAt(ctx, next[have:], w.off+have)
}

// block is one block of records as it lies in the file.
type block struct {
	off    int64
	rows   int64
	packed []byte // nil when it was passed over
}

// next gives the next block, false after the last. One of fewer than skip rows
// is passed over. What it holds is valid until the next call.
func (w *window) next(ctx context.Context, skip int64) (b block, more bool, err error) {
	b.off = w.at()
	if b.off >= w.file.Size {
		return b, false, nil
	}
	if err := w.need(ctx, 20); err != nil { // two numbers of up to ten bytes
		return b, false, err
	}
	c := ocf.Cursor{Buf: w.buf, Pos: w.pos}
	b.rows = c.Long()
	size := c.Long()
	if c.Err != nil {
		return b, false, w.file.broken(b.off, c.Err.Cause)
	}
	w.pos = c.Pos
	left := w.file.Size - w.at() - ocf.MarkerSize
	if size < 0 || size > left {
		return b, false, w.file.broken(b.off, "block ends behind the file")
	}
	if b.rows < 0 {
		return b, false, w.file.broken(b.off, "block of a negative number of rows")
	}
	if b.rows > skip {
		if err := w.need(ctx, size+ocf.MarkerSize); err != nil {
			return b, false, err
		}
		b.packed = w.buf[w.pos : w.pos+int(size)]
		w.pos += int(size)
	} else {
		w.jump(size)
	}
	if err := w.need(ctx, ocf.MarkerSize); err != nil {
		return b, false, err
	}
	if !bytes.Equal(w.buf[w.pos:w.pos+ocf.MarkerSize], w.file.marker) {
		return b, false, w.file.broken(b.off, "no marker behind the block")
	}
	w.pos += ocf.MarkerSize
	return b, true, nil
}

// jump passes over n bytes.
func (w *window) jump(n int64) {
	if n <= int64(len(w.buf)-w.pos) {
		w.pos += int(n)
		return
	}
	w.off, w.buf, w.pos = w.at()+n, w.buf[:0], 0
}

// broken says where a file cannot be read.
func (f *File) broken(off int64, cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading Avro file", cause, append([]any{"path", f.Path, "offset", off}, kv...)...)
}
