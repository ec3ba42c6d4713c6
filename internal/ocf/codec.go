package ocf

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/tarnerr"
)

// Names of codecs in files.
const (
	CodecNull    = "null"
	CodecDeflate = "deflate"
	CodecSnappy  = "snappy"
	CodecZstd    = "zstandard"
	CodecBzip2   = "bzip2"
	CodecXZ      = "xz" // neither read nor written
)

// maxBlock bounds a decompressed block. Writers end blocks near 64 kB; some
// write all of a file as one.
const maxBlock = 256 << 20

// Slack is how much longer than its content a buffer should be that zstd decodes
// to. Java's writers stream, so that their frames do not say how long they are,
// and the decoder has its fast way only while a largest block (128 KiB) and some
// bytes would still fit: without the slack the end of each block or page, or all of
// a small one, is decoded at a fraction of the speed.
const Slack = 128<<10 + 64

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

// CheckCodec refuses the codecs that Unpack does not know.
func CheckCodec(name string) error {
	switch name {
	case CodecNull, CodecDeflate, CodecSnappy, CodecZstd, CodecBzip2:
		return nil
	}
	return tarnerr.New(tarnerr.Unsupported, "reading Avro container", "compression cannot be read", "codec", name)
}

var (
	errPacked   = errors.New("block cannot be decompressed")
	errChecksum = errors.New("checksum of the block does not match")
	errTooLarge = errors.New("block is too large")
)

// Unpack gives what a block stands for, in buf when it fits. An uncompressed
// block comes back as it is. The codec has passed CheckCodec.
func Unpack(codec string, buf, src []byte) ([]byte, error) {
	switch codec {
	case CodecNull:
		return src, nil
	case CodecSnappy:
		if len(src) < 4 {
			return nil, errPacked
		}
		sum := binary.BigEndian.Uint32(src[len(src)-4:])
		src = src[:len(src)-4]
		n, err := snappy.DecodedLen(src)
		if err != nil || n > maxBlock || n > 64*len(src)+64 { // snappy cannot expand further
			return nil, errPacked
		}
		out, err := snappy.Decode(sized(buf, n), src)
		if err != nil {
			return nil, errPacked
		}
		if crc32.ChecksumIEEE(out) != sum {
			return nil, errChecksum
		}
		return out, nil
	case CodecZstd:
		out, err := zstdDecoder.DecodeAll(src, buf[:0])
		if err != nil {
			return nil, errPacked
		}
		return out, nil
	case CodecDeflate:
		r := flate.NewReader(bytes.NewReader(src))
		defer r.Close()
		return readAll(buf, r)
	default: // bzip2
		return readAll(buf, bzip2.NewReader(bytes.NewReader(src)))
	}
}

// Room gives a buffer for Unpack in which a block of this length mostly fits,
// buf when it is large enough.
func Room(buf []byte, packed int) []byte { return sized(buf, min(maxBlock, 8*packed)+Slack) }

func readAll(buf []byte, r io.Reader) ([]byte, error) {
	b := bytes.NewBuffer(buf[:0])
	n, err := b.ReadFrom(io.LimitReader(r, maxBlock+1))
	if err != nil {
		return nil, errPacked
	}
	if n > maxBlock {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// sized gives n bytes, those of buf when it has as many.
func sized(buf []byte, n int) []byte {
	if n <= cap(buf) {
		return buf[:n]
	}
	return make([]byte, n)
}

// Pack compresses a block, appending to dst. Zstandard, which has levels, is done
// by the function given.
func Pack(codec string, dst, block []byte, zstandard func(dst, block []byte) []byte) ([]byte, error) {
	switch codec {
	case CodecZstd:
		return zstandard(dst, block), nil
	case CodecSnappy:
		// The checksum is of the records, behind what is compressed.
		dst = append(dst, snappy.Encode(nil, block)...)
		return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(block)), nil
	case CodecDeflate:
		b := bytes.NewBuffer(dst)
		w, err := flate.NewWriter(b, flate.DefaultCompression)
		if err == nil {
			_, err = w.Write(block)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "compressing block", err)
		}
		return b.Bytes(), nil
	}
	return append(dst, block...), nil
}
