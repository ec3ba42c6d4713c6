package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
)

// Names of codecs in files.
const (
	codecNull    = "null"
	codecDeflate = "deflate"
	codecSnappy  = "snappy"
	codecZstd    = "zstandard"
	codecBzip2   = "bzip2"
	codecXZ      = "xz"
)

// maxBlock bounds a decompressed block. Writers end blocks near 64 kB; some
// write all of a file as one.
const maxBlock = 256 << 20

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

// checkCodec tells the codecs that files are read in.
func checkCodec(name, path string) error {
	switch name {
	case codecNull, codecDeflate, codecSnappy, codecZstd, codecBzip2:
		return nil
	}
	return tarnerr.New(tarnerr.Unsupported, "opening Avro file", "compression cannot be read", "path", path, "codec", name)
}

var (
	errPacked   = errors.New("block cannot be decompressed")
	errChecksum = errors.New("checksum of the block does not match")
	errTooLarge = errors.New("block is too large")
)

// unpack gives what a block stands for, in buf when it fits. An uncompressed
// block comes back as it is.
func unpack(codec string, buf, src []byte) ([]byte, error) {
	switch codec {
	case codecNull:
		return src, nil
	case codecSnappy:
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
	case codecZstd:
		room := min(maxBlock, 8*len(src)) + fileformat.ZstdSlack
		out, err := zstdDecoder.DecodeAll(src, sized(buf, room)[:0])
		if err != nil {
			return nil, errPacked
		}
		return out, nil
	case codecDeflate:
		r := flate.NewReader(bytes.NewReader(src))
		defer r.Close()
		return readAll(buf, r)
	default: // bzip2, see checkCodec
		return readAll(buf, bzip2.NewReader(bytes.NewReader(src)))
	}
}

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

// packer compresses the blocks of a file.
type packer struct {
	codec string
	level int
	zstd  compress.Codec
	out   []byte
}

// defaultLevel is what Avro's library takes for zstandard when only the codec is named.
const defaultLevel = 3

// newPacker reads the options: avro.codec names one of Avro's codecs and comes
// first, else file.compression does, which knows zstd by its own name too.
func newPacker(opts fileformat.WriteOptions) (*packer, error) {
	p := &packer{level: opts.ZstdLevel}
	key, name := "file.compression", opts.Compression
	if v, ok := opts.Options["avro.codec"]; ok {
		key, name = "avro.codec", v
	} else if name == "" || strings.EqualFold(name, "zstd") {
		if name = codecZstd; p.level == 0 {
			p.level = 1
		}
		p.codec = name
	}
	switch name {
	case codecNull, codecDeflate, codecSnappy:
	case codecZstd:
		if p.codec == "" {
			p.level = defaultLevel
		}
		var err error
		if p.zstd, err = compress.GetCodec(compress.Codecs.Zstd); err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "starting zstd", err)
		}
	default:
		kind, cause := tarnerr.Invalid, "Avro has no such compression"
		if name == codecBzip2 || name == codecXZ {
			kind, cause = tarnerr.Unsupported, "Avro files cannot be written with this compression"
		}
		return nil, tarnerr.New(kind, "reading table options", cause, "key", key, "value", name).
			WithHint("Use zstd, snappy, deflate or null.")
	}
	p.codec = name
	return p, nil
}

// pack compresses a block. The result is valid until the next call.
func (p *packer) pack(block []byte) ([]byte, error) {
	switch p.codec {
	case codecZstd:
		p.out = sized(p.out, int(p.zstd.CompressBound(int64(len(block)))))
		return p.zstd.EncodeLevel(p.out, block, p.level), nil
	case codecSnappy:
		// The checksum is of the records, behind what is compressed.
		p.out = sized(p.out, snappy.MaxEncodedLen(len(block))+4)
		return binary.BigEndian.AppendUint32(snappy.Encode(p.out, block), crc32.ChecksumIEEE(block)), nil
	case codecDeflate:
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.DefaultCompression)
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
	return block, nil
}
