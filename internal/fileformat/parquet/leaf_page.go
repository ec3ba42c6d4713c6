package parquet

import (
	"context"
	"encoding/binary"
	"sort"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
)

// page makes sure entries of a page are left to read.
func (l *leafReader) page(ctx context.Context) error {
	for l.left == 0 {
		h, body, err := l.header(ctx)
		if err != nil {
			return err
		}
		switch h.typ {
		case pageDictionary:
			err = l.dictionaryPage(ctx, h, body)
		case pageData, pageDataV2:
			err = l.dataPage(ctx, h, body)
		default: // index pages, and what may come
			l.pos = body + int64(h.compressed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	firstHeader = 512
	maxHeader   = 16 << 20
)

// header reads the header at pos and says where its page begins.
func (l *leafReader) header(ctx context.Context) (h pageHeader, body int64, err error) {
	if l.pos >= l.end {
		return h, 0, pageError("column chunk ends before its rows")
	}
	end := l.headerEnd()
	for n := int64(firstHeader); ; n *= 8 {
		n = min(n, end-l.pos)
		b, err := l.stream.at(ctx, l.pos, n)
		if err != nil {
			return h, 0, err
		}
		h, used, ok := decodePageHeader(b)
		if ok {
			if body = l.pos + int64(used); !h.hasBody && (h.typ == pageData || h.typ == pageDataV2 || h.typ == pageDictionary) {
				return h, 0, pageError("page header without its description")
			} else if body+int64(h.compressed) > l.end {
				return h, 0, pageError("page reaches beyond its column chunk")
			}
			return h, body, nil
		}
		if n == end-l.pos || n >= maxHeader {
			return h, 0, pageError("page header cannot be read")
		}
	}
}

// headerEnd is how far a page at pos can reach: where pages are known, bytes
// behind it may not have been read.
func (l *leafReader) headerEnd() int64 {
	i := sort.Search(len(l.pages), func(i int) bool { return l.pages[i].off > l.pos })
	switch {
	case i > 0:
		if p := l.pages[i-1]; l.pos < p.off+p.n {
			return p.off + p.n
		}
		return l.end
	case i < len(l.pages):
		return l.pages[i].off
	}
	return l.end
}

func (l *leafReader) dictionaryPage(ctx context.Context, h pageHeader, body int64) error {
	b, err := l.stream.at(ctx, body, int64(h.compressed))
	if err != nil {
		return err
	}
	if h.enc != encPlain && h.enc != encPlainDict {
		return errEncoding
	}
	l.dictBuf = l.buffer(l.dictBuf, b, int(h.uncompressed))
	data, err := decompress(l.chunk.codec, l.dictBuf, b, int(h.uncompressed))
	if err != nil {
		return err
	}
	if l.chunk.codec != codecNone {
		l.dictBuf = data
	}
	l.pos = body + int64(h.compressed)
	return l.dec.dictionary(data, int(h.values))
}

func (l *leafReader) dataPage(ctx context.Context, h pageHeader, body int64) error {
	b, err := l.stream.at(ctx, body, int64(h.compressed))
	if err != nil {
		return err
	}
	l.pos = body + int64(h.compressed)
	var reps, defs []byte
	data := b
	if h.typ == pageDataV2 {
		levels := int64(h.repLen) + int64(h.defLen)
		if levels > int64(len(b)) || levels > int64(h.uncompressed) {
			return pageError("levels reach beyond their page")
		}
		reps, defs, data = b[:h.repLen], b[h.repLen:levels], b[levels:]
		if h.stored || len(data) == 0 {
			l.file.pages.Add(1)
		} else {
			if data, err = l.inflate(data, int(int64(h.uncompressed)-levels)); err != nil {
				return err
			}
		}
	} else {
		if data, err = l.inflate(b, int(h.uncompressed)); err != nil {
			return err
		}
		if reps, data, err = levelsV1(data, l.node.rep, h.repEnc); err != nil {
			return err
		}
		if defs, data, err = levelsV1(data, l.node.def, h.defEnc); err != nil {
			return err
		}
	}
	n := int(h.values)
	if l.node.rep == 0 && int64(n) > l.rows-l.row {
		return pageError("page has more rows than its row group")
	}
	l.defs, l.reps = newHybrid(defs, widthOf(l.node.def)), newHybrid(reps, widthOf(l.node.rep))
	l.pageDefs, l.pageReps = nil, nil
	l.left = n
	return l.dec.page(h.enc, data, n)
}

// inflate decompresses the data page that ends at pos. The buffer is free again
// with the next page.
func (l *leafReader) inflate(b []byte, size int) ([]byte, error) {
	if data, ok := l.kept.page(l.pos); ok {
		return data, nil
	}
	l.file.pages.Add(1)
	l.inflated = l.buffer(l.inflated, b, size)
	data, err := decompress(l.chunk.codec, l.inflated, b, size)
	if err != nil || l.chunk.codec == codecNone {
		return data, err
	}
	l.inflated = data
	if l.keep && l.kept.room(size) {
		kept := batch.TakeBuffer(size)
		copy(kept, data)
		l.kept.put(l.pos, kept)
	}
	return data, nil
}

// buffer gives buf, or one for it that has room for the size bytes that src stands
// for. What is not to be trusted grows as it comes.
func (l *leafReader) buffer(buf, src []byte, size int) []byte {
	if l.chunk.codec == codecNone || size > trustedSize {
		return buf
	}
	if l.chunk.codec == codecZstd {
		size = fileformat.ZstdRoom(src, size)
	}
	if cap(buf) >= size {
		return buf
	}
	batch.GiveBuffer(buf)
	return batch.TakeBuffer(size)
}

// recycle gives the buffers back. What the decoder has left is lost.
func (l *leafReader) recycle() {
	batch.GiveBuffer(l.inflated)
	batch.GiveBuffer(l.dictBuf)
	l.inflated, l.dictBuf, l.left = nil, nil, 0
}

// levelsV1 splits levels of a version 1 page off its data.
func levelsV1(data []byte, top uint8, enc encoding) (levels, rest []byte, err error) {
	if top == 0 {
		return nil, data, nil
	}
	if enc != encRLE {
		return nil, nil, tarnerr.New(tarnerr.Unsupported, "decoding Parquet page", "levels in the old encoding BIT_PACKED cannot be read yet")
	}
	if len(data) < 4 {
		return nil, nil, errShort
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-4) {
		return nil, nil, pageError("levels reach beyond their page")
	}
	return data[4 : 4+n], data[4+n:], nil
}
