package manifest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/tarnerr"
)

// codec compresses the blocks of a container.
type codec uint8

const (
	codecNull codec = iota
	codecDeflate
	codecSnappy
	codecZstd
)

// maxBlock bounds a decompressed block. Writers end blocks near 64 kB; some
// write whole files of manifest size as one.
const maxBlock = 256 << 20

func (c codec) avroName() string {
	return [...]string{codecNull: "null", codecDeflate: "deflate", codecSnappy: "snappy", codecZstd: "zstandard"}[c]
}

func codecByAvroName(name string) (codec, error) {
	switch name {
	case "", "null":
		return codecNull, nil
	case "deflate":
		return codecDeflate, nil
	case "snappy":
		return codecSnappy, nil
	case "zstandard":
		return codecZstd, nil
	}
	return 0, tarnerr.New(tarnerr.Unsupported, "reading Avro container", "compression", "codec", name).
		WithHint("Supported are null, deflate, snappy and zstandard.")
}

// parseCompression reads manifest.compression ("" = zstd).
func parseCompression(option string) (codec, error) {
	switch option {
	case "", "zstd", "zstandard":
		return codecZstd, nil
	case "null", "none":
		return codecNull, nil
	case "deflate":
		return codecDeflate, nil
	case "snappy":
		return codecSnappy, nil
	}
	return 0, tarnerr.New(tarnerr.Unsupported, "writing manifest", "compression", "manifest.compression", option).
		WithHint("Use zstd, snappy, deflate or null.")
}

// codecs holds the compressors of one store. Safe for concurrent use.
type codecs struct {
	zstdWriter *zstd.Encoder
	zstdReader *zstd.Decoder
}

// newCodecs makes compressors; level is file.compression.zstd-level.
func newCodecs(level int) (*codecs, error) {
	w, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderCRC(false),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "starting zstd", err)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "starting zstd", err)
	}
	return &codecs{w, r}, nil
}

// pack compresses a block, appending to dst.
func (cs *codecs) pack(c codec, block, dst []byte) ([]byte, error) {
	switch c {
	case codecDeflate:
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.DefaultCompression)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "starting deflate", err)
		}
		if _, err := w.Write(block); err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "compressing block", err)
		}
		if err := w.Close(); err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "compressing block", err)
		}
		return append(dst, b.Bytes()...), nil
	case codecSnappy:
		// The checksum is of the records, behind what is compressed.
		dst = append(dst, snappy.Encode(nil, block)...)
		return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(block)), nil
	case codecZstd:
		return cs.zstdWriter.EncodeAll(block, dst), nil
	}
	return append(dst, block...), nil
}

// unpack decompresses a block, into dst where it has the room. Uncompressed
// blocks come back as they are.
func (cs *codecs) unpack(c codec, packed, dst []byte) ([]byte, error) {
	const op = "decompressing block"
	switch c {
	case codecDeflate:
		r := flate.NewReader(bytes.NewReader(packed))
		b := bytes.NewBuffer(dst[:0])
		n, err := b.ReadFrom(io.LimitReader(r, maxBlock+1))
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
		}
		if n > maxBlock {
			return nil, tooLarge(op)
		}
		return b.Bytes(), nil
	case codecSnappy:
		if len(packed) < 4 {
			return nil, tarnerr.New(tarnerr.Corrupt, op, "no checksum")
		}
		sum := binary.BigEndian.Uint32(packed[len(packed)-4:])
		packed = packed[:len(packed)-4]
		n, err := snappy.DecodedLen(packed)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
		}
		if n > maxBlock || n > 64*len(packed)+64 {
			return nil, tooLarge(op)
		}
		if n <= cap(dst) {
			dst = dst[:n]
		}
		block, err := snappy.Decode(dst, packed)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
		}
		if crc32.ChecksumIEEE(block) != sum {
			return nil, tarnerr.New(tarnerr.Corrupt, op, "checksum does not match")
		}
		return block, nil
	case codecZstd:
		block, err := cs.zstdReader.DecodeAll(packed, dst[:0])
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
		}
		return block, nil
	}
	return packed, nil
}

func tooLarge(op string) error {
	return tarnerr.New(tarnerr.Corrupt, op, "block is too large", "limit", maxBlock)
}
