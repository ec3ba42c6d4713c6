package orc

import "encoding/binary"

// segment is a piece of the file in memory.
type segment struct {
	off  int64
	data []byte
}

func (s segment) view(off, n int64) ([]byte, bool) {
	if off < s.off || n > s.off+int64(len(s.data))-off {
		return nil, false
	}
	return s.data[off-s.off : off-s.off+n], true
}

// stream gives the bytes of one stream, block after block. A nil stream has
// none. Not safe for concurrent use.
type stream struct {
	inflater
	raw []byte // blocks not yet decoded
	cur []byte // bytes not yet taken
	buf []byte // where blocks are decoded to
}

func newStream(raw []byte, codec int32, block int64) *stream {
	s := &stream{inflater: inflater{codec: codec, block: int(block)}, raw: raw}
	if codec == codecNone {
		s.raw, s.cur = nil, raw
	}
	return s
}

// fill makes sure that there is a byte to take.
func (s *stream) fill() error {
	if s == nil {
		return errEnd
	}
	for len(s.cur) == 0 {
		if len(s.raw) == 0 {
			return errEnd
		}
		if len(s.raw) < 3 {
			return errBlock
		}
		head := int(s.raw[0]) | int(s.raw[1])<<8 | int(s.raw[2])<<16
		n, original := head>>1, head&1 != 0
		if n > len(s.raw)-3 {
			return errBlock
		}
		packed := s.raw[3 : 3+n]
		s.raw = s.raw[3+n:]
		if original {
			s.cur = packed
			continue
		}
		out, err := s.decode(s.buf, packed)
		if err != nil {
			return err
		}
		s.buf, s.cur = out, out
	}
	return nil
}

func (s *stream) byte() (byte, error) {
	if s == nil || len(s.cur) == 0 {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	b := s.cur[0]
	s.cur = s.cur[1:]
	return b, nil
}

// take gives the next n bytes: a view that is valid until the next call, or
// scratch filled with them, which has room for n.
func (s *stream) take(n int, scratch []byte) ([]byte, error) {
	if s != nil && n <= len(s.cur) {
		b := s.cur[:n]
		s.cur = s.cur[n:]
		return b, nil
	}
	out := scratch[:n]
	return out, s.read(out)
}

// read fills dst.
func (s *stream) read(dst []byte) error {
	for len(dst) > 0 {
		if err := s.fill(); err != nil {
			return err
		}
		n := copy(dst, s.cur)
		dst, s.cur = dst[n:], s.cur[n:]
	}
	return nil
}

// skip passes over n bytes.
func (s *stream) skip(n int64) error {
	for n > 0 {
		if err := s.fill(); err != nil {
			return err
		}
		k := min(n, int64(len(s.cur)))
		n, s.cur = n-k, s.cur[k:]
	}
	return nil
}

// uvarint reads a base-128 number of up to 64 bits.
func (s *stream) uvarint() (uint64, error) {
	if s != nil && len(s.cur) > 0 {
		if x, n := binary.Uvarint(s.cur); n > 0 {
			s.cur = s.cur[n:]
			return x, nil
		} else if n < 0 {
			return 0, errRun
		}
	}
	var x uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return 0, err
		}
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, nil
		}
	}
	return 0, errRun
}

// all gives everything that is left, no more than limit bytes.
func (s *stream) all(limit int) ([]byte, error) {
	var out []byte
	for {
		err := s.fill()
		if err == errEnd {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(s.cur) > limit-len(out) {
			return nil, dataError("metadata is too large")
		}
		out, s.cur = append(out, s.cur...), nil
	}
}

func zigzag(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }
