package parquet

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

// hadoopChunk is the most bytes that Java puts into one block of Hadoop's frame, whose
// readers have room for 256 KiB before and after decompression.
const hadoopChunk = 256<<10 - (256<<10/255 + 16)

// lz4HadoopCodec compresses for Java's Lz4Codec: raw blocks, each after its two
// lengths, as arrow-cpp reads them too.
type lz4HadoopCodec struct{ raw compress.Codec }

func (c lz4HadoopCodec) EncodeLevel(dst, src []byte, level int) []byte {
	dst = slices.Grow(dst[:0], int(c.CompressBound(int64(len(src)))))
	for chunk := range slices.Chunk(src, hadoopChunk) {
		from := len(dst) + 8
		block := c.raw.EncodeLevel(dst[from:cap(dst)], chunk, level)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(chunk)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...) // which lies there already
	}
	return dst
}

func (c lz4HadoopCodec) CompressBound(n int64) int64 {
	chunks := (n + hadoopChunk - 1) / hadoopChunk
	return c.raw.CompressBound(n) + chunks*(8+c.raw.CompressBound(0))
}

// lz4Block decodes one raw block; LZ4 expands at most 255 times.
func lz4Block(buf, src []byte, size int) ([]byte, error) {
	if size == 0 {
		if len(src) > 1 { // an empty block is one token
			return nil, errPageSize
		}
		return grow(buf, 0), nil
	}
	if size/256 > len(src) {
		return nil, errPageSize
	}
	out := grow(buf, size)
	n, err := lz4.UncompressBlock(src, out)
	if err == nil && n != size {
		err = errPageSize
	}
	return out, err
}

// lz4Hadoop decodes Hadoop's frame: the length of some bytes, and then, each after its
// own length, the raw blocks that they were compressed to. Java makes one length of all
// that it is given at once.
func lz4Hadoop(buf, src []byte, size int) ([]byte, bool) {
	if size/256 > len(src) {
		return nil, false
	}
	out := grow(buf, size)
	at := 0
	for len(src) >= 4 {
		plain := int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if plain > size-at {
			return nil, false
		}
		for end := at + plain; at < end; {
			if len(src) < 4 {
				return nil, false
			}
			packed := int(binary.BigEndian.Uint32(src))
			src = src[4:]
			if packed > len(src) {
				return nil, false
			}
			n, err := lz4.UncompressBlock(src[:packed], out[at:end])
			if err != nil || n == 0 {
				return nil, false
			}
			at, src = at+n, src[packed:]
		}
	}
	return out, at == size && len(src) == 0
}
