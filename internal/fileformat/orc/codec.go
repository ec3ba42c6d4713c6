package orc

import (
	"bytes"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
)

// Values of the enum CompressionKind.
const (
	codecNone   = 0
	codecZlib   = 1
	codecSnappy = 2
	codecLZO    = 3
	codecLZ4    = 4
	codecZstd   = 5
	codecBrotli = 6
)

var codecNames = [...]string{"none", "zlib", "snappy", "lzo", "lz4", "zstd", "brotli"}

// maxBlock is the largest block: headers have 23 bits for its length.
const maxBlock = 1 << 23

// dataError says what is wrong with bytes; where they are is added on the way up.
type dataError string

func (e dataError) Error() string { return string(e) }

const (
	errEnd   = dataError("stream ends too early")
	errBlock = dataError("compressed block cannot be decoded")
	errRun   = dataError("run cannot be decoded")
	// errTooLarge and errTexts are answered with fewer rows in a batch while there are any.
	errTooLarge = dataError("row takes too much memory")
	errTexts    = dataError("strings of one row exceed 2 GiB")
)

// zstdDecoder is shared: its DecodeAll is safe for concurrent use and keeps no
// state between calls.
var zstdDecoder = newZstdDecoder()

func newZstdDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil
	}
	return d
}

func checkCodec(codec int32, path string) error {
	switch codec {
	case codecNone, codecZlib, codecSnappy, codecLZ4, codecZstd:
		return nil
	}
	name := "of an unknown number"
	if codec >= 0 && int(codec) < len(codecNames) {
		name = codecNames[codec]
	}
	return tarnerr.New(tarnerr.Unsupported, "opening ORC file", "compression cannot be read yet", "path", path, "codec", name)
}

// inflater decodes the blocks of one stream. Not safe for concurrent use.
type inflater struct {
	codec int32
	block int // the most bytes a block stands for
	zlib  io.ReadCloser
	src   bytes.Reader
}

// decode gives what a compressed block stands for, in buf when it fits.
func (f *inflater) decode(buf, src []byte) ([]byte, error) {
	switch f.codec {
	case codecZlib:
		return f.inflate(buf, src)
	case codecSnappy:
		n, err := snappy.DecodedLen(src)
		if err != nil || n > f.block {
			return nil, errBlock
		}
		out, err := snappy.Decode(sized(buf, n), src)
		if err != nil {
			return nil, errBlock
		}
		return out, nil
	case codecLZ4:
		// LZ4 expands at most 255 times.
		out := sized(buf, min(f.block, 255*len(src)+16))
		n, err := lz4.UncompressBlock(src, out)
		if err != nil {
			return nil, errBlock
		}
		return out[:n], nil
	case codecZstd:
		room := min(f.block, 8*len(src)) + fileformat.ZstdSlack
		out, err := zstdDecoder.DecodeAll(src, sized(buf, room)[:0])
		if err != nil || len(out) > f.block {
			return nil, errBlock
		}
		return out, nil
	}
	return nil, errBlock
}

func (f *inflater) inflate(buf, src []byte) ([]byte, error) {
	f.src.Reset(src)
	if f.zlib == nil {
		f.zlib = flate.NewReader(&f.src)
	} else if err := f.zlib.(flate.Resetter).Reset(&f.src, nil); err != nil {
		return nil, errBlock
	}
	out := sized(buf, min(f.block, max(4*len(src), 4<<10)))[:0]
	for {
		n, err := f.zlib.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, errBlock
		case len(out) > f.block:
			return nil, errBlock
		case len(out) == cap(out):
			out = append(out, 0)[:len(out)]
		}
	}
}

// sized gives n bytes, those of buf when it has as many.
func sized(buf []byte, n int) []byte {
	if n <= cap(buf) {
		return buf[:n]
	}
	return make([]byte, n)
}
