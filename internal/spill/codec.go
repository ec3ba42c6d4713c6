package spill

import (
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/tarnlake/tarn/tarnerr"
)

// Codec compresses blocks. Safe for concurrent use; make one per table.
type Codec struct {
	name  string
	level zstd.EncoderLevel
	// zstd's encoder and decoder are made when they are needed.
	once sync.Once
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	err  error
}

// NewCodec makes the codec of the option spill-compression: zstd (at level), lz4 or
// none. Nobody else reads the files, so that other names get zstd.
func NewCodec(name string, level int) *Codec {
	c := &Codec{name: strings.ToLower(name), level: zstd.EncoderLevelFromZstd(level)}
	if c.name != "lz4" && c.name != "none" {
		c.name = "zstd"
	}
	return c
}

func (c *Codec) zstd() error {
	c.once.Do(func() {
		c.enc, c.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(c.level), zstd.WithWindowSize(maxBlock), zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true))
		if c.err == nil {
			c.dec, c.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
		}
	})
	return c.err
}

// Compress appends the compressed bytes of src to dst.
func (c *Codec) Compress(dst, src []byte) ([]byte, error) {
	switch c.name {
	case "none":
		return append(dst, src...), nil
	case "lz4":
		n := len(dst)
		dst = append(dst, make([]byte, lz4.CompressBlockBound(len(src)))...)
		k, err := lz4.CompressBlock(src, dst[n:], nil)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "compressing block", err)
		}
		return dst[:n+k], nil
	}
	if err := c.zstd(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "compressing block", err)
	}
	return c.enc.EncodeAll(src, dst), nil
}

// Decompress gives the size bytes that src stands for, in dst when they fit. Corrupt
// when src stands for anything else.
func (c *Codec) Decompress(dst, src []byte, size int) ([]byte, error) {
	if cap(dst) < size {
		dst = make([]byte, size)
	}
	var err error
	n := 0
	switch c.name {
	case "none":
		n = copy(dst[:size], src)
	case "lz4":
		n, err = lz4.UncompressBlock(src, dst[:size])
	default:
		if err = c.zstd(); err == nil {
			dst, err = c.dec.DecodeAll(src, dst[:0])
			n = len(dst)
		}
	}
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, "decompressing block", err)
	}
	if n != size {
		return nil, tarnerr.New(tarnerr.Corrupt, "decompressing block", "a block is not as long as it was", "bytes", n, "want", size)
	}
	return dst[:size], nil
}
