package parquet

import (
	"bufio"

	"github.com/tarnlake/tarn/fileio"
)

// sink counts what goes to the file and gathers small writes. The first error of
// the storage is kept, and everything after it is swallowed.
type sink struct {
	w   fileio.Writer
	buf *bufio.Writer
	n   int64
	err error
}

func newSink(w fileio.Writer, buf *bufio.Writer) *sink {
	buf.Reset(w)
	return &sink{w: w, buf: buf}
}

func (s *sink) write(p []byte) {
	if s.err == nil {
		_, s.err = s.buf.Write(p)
	}
	s.n += int64(len(p))
}

func (s *sink) flush() error {
	if s.err == nil {
		s.err = s.buf.Flush()
	}
	return s.err
}
