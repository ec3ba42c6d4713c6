package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// fileMagic begins an Arrow IPC file, and without its padding ends it; a stream has
// none.
var fileMagic = []byte("ARROW1\x00\x00")

// continuation begins each message since Arrow 0.15, and the end marker, which is a
// message of length 0.
const continuation = 0xFFFFFFFF

const arrowBuffer = 1 << 20 // bytes

// arrowMessages reads the messages of an Arrow IPC stream or file. Unlike the reader
// of arrow-go it tells an input that ends from one that was cut between two messages,
// and takes memory for what is there, not for what a damaged length says.
type arrowMessages struct {
	in   *bufio.Reader
	file bool // an IPC file: a footer comes behind the end marker
	msg  *ipc.Message
	// views are those of the schema, from when it is known on.
	views viewColumns
	err   error // why the input cannot be read on; nil after the end marker
}

func newArrowMessages(in io.Reader) (*arrowMessages, error) {
	m := &arrowMessages{in: bufio.NewReaderSize(in, arrowBuffer)}
	head, err := m.in.Peek(len(fileMagic))
	if err != nil && err != io.EOF {
		return nil, fileErr("reading Arrow stream", err)
	}
	if m.file = bytes.Equal(head, fileMagic); m.file {
		_, err = m.in.Discard(len(fileMagic))
		return m, err
	}
	if len(head) < 4 || binary.LittleEndian.Uint32(head) != continuation {
		// A stream of before 0.15 begins with the length of the schema, which is never
		// that long; text does not look like it.
		if len(head) < 4 || binary.LittleEndian.Uint32(head) > 1<<24 {
			return nil, tarnerr.New(tarnerr.Invalid, "reading Arrow stream", "it begins neither as a stream nor as a file").
				WithHint("Is it an Arrow IPC stream or file?")
		}
	}
	return m, nil
}

// Message is the next message, valid until the one after; io.EOF at the end marker.
func (m *arrowMessages) Message() (*ipc.Message, error) {
	msg, err := m.next()
	if err != nil && err != io.EOF && m.err == nil {
		m.err = err
	}
	return msg, err
}

func (m *arrowMessages) next() (_ *ipc.Message, err error) {
	defer func() {
		if p := recover(); p != nil { // of arrow-go, which looks into the header
			err = corruptArrow(fmt.Errorf("a message that cannot be read: %v", p))
		}
	}()
	n, err := m.word()
	if err == io.EOF {
		return nil, m.noEnd()
	}
	if n == continuation && err == nil {
		n, err = m.word()
	}
	switch {
	case err != nil:
		return nil, m.inputErr(err)
	case n == 0:
		return nil, io.EOF
	case n > math.MaxInt32:
		return nil, corruptArrow(fmt.Errorf("a message of impossible length %d", n))
	}
	meta, err := m.read(int64(n))
	if err != nil {
		return nil, err
	}
	defer meta.Release()
	if err := checkMetadata(meta.Bytes(), m.views); err != nil {
		return nil, corruptArrow(err)
	}
	head := ipc.NewMessage(meta, memory.NewBufferBytes(nil))
	size := head.BodyLen()
	head.Release()
	if size < 0 || size > math.MaxInt-1<<20 {
		return nil, corruptArrow(fmt.Errorf("a message with a body of impossible length %d", size))
	}
	body, err := m.read(size)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	m.Release()
	m.msg = ipc.NewMessage(meta, body)
	return m.msg, nil
}

// word reads 4 bytes; io.EOF when there is none.
func (m *arrowMessages) word() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(m.in, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// read reads n bytes into memory that grows as they come.
func (m *arrowMessages) read(n int64) (*memory.Buffer, error) {
	const first = 1 << 20
	buf := memory.NewResizableBuffer(memory.DefaultAllocator)
	for have := int64(0); have < n; {
		size := min(n, max(4*have, first))
		buf.Resize(int(size))
		if _, err := io.ReadFull(m.in, buf.Bytes()[have:]); err != nil {
			buf.Release()
			return nil, m.inputErr(err)
		}
		have = size
	}
	return buf, nil
}

// finish reads what is behind the end marker: nothing in a stream, in a file the
// footer. It returns io.EOF when the input is whole.
func (m *arrowMessages) finish(ctx context.Context) error {
	var total, zeros int64 // bytes, and those before the first that is not 0
	tail := make([]byte, 0, 2*(4+len(fileMagic)))
	chunk := make([]byte, 4096)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := m.in.Read(chunk)
		if zeros == total {
			zeros += int64(n - len(bytes.TrimLeft(chunk[:n], "\x00")))
		}
		total += int64(n)
		if n > 0 && !m.file {
			return tarnerr.New(tarnerr.Corrupt, "reading Arrow stream", "bytes behind its end marker").
				WithHint("Import streams one by one: only the first of several in one file would be read.")
		}
		const most = 4 + 6
		tail = append(tail, chunk[max(0, n-most):n]...)
		tail = tail[max(0, len(tail)-most):]
		if err == io.EOF {
			break
		}
		if err != nil {
			return fileErr("reading Arrow stream", err)
		}
	}
	if !m.file {
		return io.EOF
	}
	// The footer, its length, and the magic without its padding; zeros may pad the
	// way to the footer.
	length, whole := bytes.CutSuffix(tail, fileMagic[:6])
	if !whole || len(length) != 4 {
		return corruptArrow(errors.New("the footer is cut"))
	}
	footer := int64(int32(binary.LittleEndian.Uint32(length)))
	if pad := total - int64(len(tail)) - footer; footer <= 0 || pad < 0 || pad > zeros {
		return corruptArrow(errors.New("the end marker does not stand before the footer"))
	}
	return io.EOF
}

// noEnd is the error of an input that ends between two messages.
func (m *arrowMessages) noEnd() error {
	err := fmt.Errorf("it ends without an end marker: it was cut, or its writer stopped: %w", io.ErrUnexpectedEOF)
	if m.file {
		return corruptArrow(err)
	}
	return tarnerr.Wrap(tarnerr.Corrupt, "reading Arrow stream", err).
		WithHint(`Write it again; a stream that is whole can be ended with: printf '\377\377\377\377\0\0\0\0' >>FILE.`)
}

// inputErr is the error of an input that cannot be read or ends within a message.
func (m *arrowMessages) inputErr(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return corruptArrow(fmt.Errorf("it was cut within a message: %w", io.ErrUnexpectedEOF))
	}
	return fileErr("reading Arrow stream", err)
}

func corruptArrow(err error, kv ...any) error {
	return tarnerr.Wrap(tarnerr.Corrupt, "reading Arrow stream", err, kv...).WithHint("Write or copy it again.")
}

// Retain does nothing: one reader has the messages.
func (m *arrowMessages) Retain() {}

// Release gives back the last message.
func (m *arrowMessages) Release() {
	if m.msg != nil {
		m.msg.Release()
		m.msg = nil
	}
}

// boundedMemory refuses, with a panic that arrow-go makes an error, buffers of a length
// that only a damaged file names: arrow-go takes memory for a compressed buffer as its
// first bytes say.
type boundedMemory struct{ memory.Allocator }

func (b boundedMemory) Allocate(size int) []byte {
	checkBuffer(size)
	return b.Allocator.Allocate(size)
}

func (b boundedMemory) Reallocate(size int, old []byte) []byte {
	checkBuffer(size)
	return b.Allocator.Reallocate(size, old)
}

func checkBuffer(size int) {
	if size > math.MaxInt32 {
		panic(fmt.Errorf("a buffer of %d bytes; the most is %d", size, math.MaxInt32))
	}
}
