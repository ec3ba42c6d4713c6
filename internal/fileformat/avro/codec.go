package avro

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

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
		if name = ocf.CodecZstd; p.level == 0 {
			p.level = 1
		}
		p.codec = name
	}
	switch name {
	case ocf.CodecNull, ocf.CodecDeflate, ocf.CodecSnappy:
	case ocf.CodecZstd:
		if p.codec == "" {
			p.level = defaultLevel
		}
		var err error
		if p.zstd, err = compress.GetCodec(compress.Codecs.Zstd); err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "starting zstd", err)
		}
	default:
		kind, cause := tarnerr.Invalid, "Avro has no such compression"
		if name == ocf.CodecBzip2 || name == ocf.CodecXZ {
			kind, cause = tarnerr.Unsupported, "Avro files cannot be written with this compression"
		}
		return nil, tarnerr.New(kind, "reading table options", cause, "key", key, "value", name).
			WithHint("Use zstd, snappy, deflate or null.")
	}
	p.codec = name
	return p, nil
}

// pack compresses a block. The result is valid until the next call.
func (p *packer) pack(block []byte) (_ []byte, err error) {
	if p.codec == ocf.CodecNull {
		return block, nil
	}
	p.out, err = ocf.Pack(p.codec, p.out[:0], block, func(dst, block []byte) []byte {
		room := int(p.zstd.CompressBound(int64(len(block))))
		return p.zstd.EncodeLevel(slices.Grow(dst, room)[:room], block, p.level)
	})
	return p.out, err
}
