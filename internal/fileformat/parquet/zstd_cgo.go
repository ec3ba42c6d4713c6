//go:build cgo

package parquet

import (
	"sync"

	"github.com/DataDog/zstd"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// With cgo, arrow-go compresses pages with the C library, 1.5 times as fast as
// the pure Go one; without, its own codec already codes literals as we want.
func init() {
	pure, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return
	}
	compress.RegisterCodec(compress.Codecs.Zstd, &cZstd{Codec: pure})
}

// cZstd compresses with the C library; everything else is the Go codec's.
type cZstd struct {
	compress.Codec
	contexts sync.Pool // of zstd.Ctx
}

func (c *cZstd) EncodeLevel(dst, src []byte, level int) []byte {
	if level == compress.DefaultCompressionLevel {
		level = zstd.DefaultCompression
	}
	ctx, _ := c.contexts.Get().(zstd.Ctx)
	if ctx == nil {
		ctx = zstd.NewCtx()
	}
	out, err := ctx.CompressLevel(dst[:cap(dst)], src, level)
	c.contexts.Put(ctx)
	if err != nil {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	return out
}

func (c *cZstd) CompressBound(n int64) int64 { return int64(zstd.CompressBound(int(n))) }

// DecodeWithError keeps the Go codec's checked decoding.
func (c *cZstd) DecodeWithError(dst, src []byte) ([]byte, error) {
	return compress.Decode(c.Codec, dst, src)
}
