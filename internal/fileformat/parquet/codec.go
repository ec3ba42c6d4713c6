package parquet

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/tarnerr"
)

// Values of parquet.thrift's CompressionCodec.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecLZO    = 3
	codecBrotli = 4
	codecLZ4    = 5
	codecZstd   = 6
	codecLZ4Raw = 7
)

var codecNames = [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}

// trustedSize is the largest page that is allocated on the header's word alone.
// Beyond it memory grows with what really comes out.
const trustedSize = 16 << 20

// A page of more than bombSize bytes is none when they are more than bombTimes
// as many as before they were decompressed.
const (
	bombSize  = 64 << 20
	bombTimes = 1024
)

// zstdDecoder is shared: its DecodeAll is safe for concurrent use and keeps no
// state between calls.
var zstdDecoder = newZstdDecoder()

func newZstdDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(trustedSize+1))
	if err != nil {
		return nil
	}
	return d
}

// decompress gives the size bytes that src stands for, in buf when they fit.
func decompress(codec int32, buf, src []byte, size int) ([]byte, error) {
	if size > bombSize && size/bombTimes > len(src) {
		return nil, errBomb
	}
	switch codec {
	case codecNone:
		if len(src) != size {
			return nil, errPageSize
		}
		return src, nil
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != size {
			return nil, errPageSize
		}
		if size > trustedSize && size/64 > len(src) { // snappy cannot expand that far
			return nil, errPageSize
		}
		return snappy.Decode(grow(buf, size), src)
	case codecLZ4Raw:
		return lz4Block(buf, src, size)
	case codecLZ4:
		if out, ok := lz4Hadoop(buf, src, size); ok {
			return out, nil
		}
		return lz4Block(buf, src, size)
	case codecZstd:
		if size <= trustedSize {
			out, err := zstdDecoder.DecodeAll(src, grow(buf, size)[:0])
			if err == nil && len(out) != size {
				err = errPageSize
			}
			return out, err
		}
		r, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readSized(buf, r, size)
	case codecGzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		return readSized(buf, r, size)
	case codecBrotli:
		c, err := compress.GetCodec(compress.Codecs.Brotli)
		if err != nil {
			return nil, err
		}
		s, ok := c.(compress.StreamingCodec)
		if !ok {
			return nil, tarnerr.New(tarnerr.Unsupported, "decompressing Parquet page", "no BROTLI decoder")
		}
		r := s.NewReader(bytes.NewReader(src))
		defer r.Close()
		return readSized(buf, r, size)
	}
	return nil, tarnerr.New(tarnerr.Unsupported, "decompressing Parquet page", "compression cannot be read yet", "codec", codecName(codec))
}

func codecName(codec int32) string {
	if codec >= 0 && int(codec) < len(codecNames) {
		return codecNames[codec]
	}
	return "of an unknown number"
}

const errPageSize = pageError("page does not have the size its header says")

type pageError string

func (e pageError) Error() string { return string(e) }

// readSized reads exactly size bytes, growing beyond trustedSize only as bytes come.
func readSized(buf []byte, r io.Reader, size int) ([]byte, error) {
	out := grow(buf, min(size, trustedSize))
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, errPageSize
	}
	for len(out) < size {
		n := len(out)
		step := min(size-n, n)
		out = append(out, make([]byte, step)...)
		if _, err := io.ReadFull(r, out[n:]); err != nil {
			return nil, errPageSize
		}
	}
	var one [1]byte
	if n, _ := r.Read(one[:]); n != 0 {
		return nil, errPageSize
	}
	return out, nil
}
