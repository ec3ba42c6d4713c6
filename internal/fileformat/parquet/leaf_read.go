package parquet

import (
	"context"
	"encoding/binary"
	"sort"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// leafReader reads one leaf column of a file, row group after row group.
type leafReader struct {
	file   *File
	node   *fileNode
	dec    decoder
	out    leafOut
	levels bool  // the caller needs levels: nested columns
	anc    uint8 // definition level of the nearest repeated ancestor

	group  int // of the file
	chunk  *chunkMeta
	stream *stream
	pages  []pageLocation // from the offset index, nil without
	pos    int64          // of the next page header
	end    int64          // of the chunk
	rows   int64          // of the row group
	row    int64          // the next row to come out

	left       int // entries of the current page not consumed yet
	defs, reps hybrid
	inflated   []byte
	dictBuf    []byte

	// For nested columns: the levels of the current page, and those of the batch.
	pageDefs, pageReps   []uint8
	batchDefs, batchReps []uint8
}

// piece is a run of rows of a row group.
type piece struct {
	row int64
	n   int
}

func newLeafReader(f *File, n *fileNode, dec decoder, width int, levels bool, mem memory.Allocator) *leafReader {
	return &leafReader{file: f, node: n, dec: dec, levels: levels, anc: n.ancestor, out: leafOut{mem: mem, width: width}}
}

// start begins a row group.
func (l *leafReader) start(group int, s *stream, pages []pageLocation) {
	l.group, l.chunk, l.stream, l.pages = group, &l.file.meta.groups[group].columns[l.node.leaf], s, pages
	sp := l.chunk.span()
	l.pos, l.end = sp.off, sp.off+sp.n
	l.rows, l.row, l.left = l.file.meta.groups[group].rows, 0, 0
}

// read appends the rows of the pieces to the batch.
func (l *leafReader) read(ctx context.Context, pieces []piece) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = tarnerr.New(tarnerr.Corrupt, "decoding Parquet page", "decoder failed", "panic", r)
		}
		if err != nil {
			err = l.place(err)
		}
	}()
	l.batchDefs, l.batchReps = l.batchDefs[:0], l.batchReps[:0]
	total := 0
	for _, p := range pieces {
		total += p.n
	}
	if !l.levels {
		l.out.reserve(total)
	}
	for _, p := range pieces {
		if err := l.seek(ctx, p.row); err != nil {
			return err
		}
		if l.levels {
			err = l.takeNested(ctx, p.n, true)
		} else {
			err = l.takeFlat(ctx, p.n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place says where in the file an error happened. Errors that have no kind yet
// are about the bytes.
func (l *leafReader) place(err error) error {
	kind := tarnerr.Corrupt
	if k := tarnerr.KindOf(err); k != tarnerr.Internal {
		kind = k
	} else if ctxErr(err) {
		kind = tarnerr.Closed
	} else if err == errTooLarge {
		kind = tarnerr.Unsupported
	}
	return tarnerr.Wrap(kind, "reading Parquet column", err, "path", l.file.path, "column", l.node.path, "rowGroup", l.group)
}

// seek moves to a row at or after the current one.
func (l *leafReader) seek(ctx context.Context, row int64) error {
	if row == l.row {
		return nil
	}
	if i := l.pageOf(row); i >= 0 && l.pages[i].row > l.row {
		if err := l.loadDictionary(ctx); err != nil {
			return err
		}
		l.pos, l.row, l.left = l.pages[i].off, l.pages[i].row, 0
	}
	for l.row < row {
		n := int(min(row-l.row, 1<<20))
		if l.levels {
			if err := l.takeNested(ctx, n, false); err != nil {
				return err
			}
			continue
		}
		if err := l.skipFlat(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// pageOf is the page that holds a row, −1 without an offset index.
func (l *leafReader) pageOf(row int64) int {
	return sort.Search(len(l.pages), func(i int) bool { return l.pages[i].row > row }) - 1
}

// loadDictionary reads the dictionary page at the start of the chunk before
// pages in between are passed over.
func (l *leafReader) loadDictionary(ctx context.Context) error {
	sp := l.chunk.span()
	if l.pos != sp.off || l.pages[0].off <= sp.off {
		return nil
	}
	h, body, err := l.header(ctx)
	if err != nil {
		return err
	}
	if h.typ != pageDictionary {
		return nil
	}
	return l.dictionaryPage(ctx, h, body)
}

func (l *leafReader) takeFlat(ctx context.Context, n int) error {
	for n > 0 {
		if err := l.page(ctx); err != nil {
			return err
		}
		k := min(n, l.left)
		if l.node.def == 0 {
			if err := l.dec.read(&l.out, k); err != nil {
				return err
			}
			l.out.n += k
		} else if err := l.takeOptional(k); err != nil {
			return err
		}
		l.left, l.row, n = l.left-k, l.row+int64(k), n-k
	}
	return nil
}

// takeOptional reads k rows of a page of a column of which rows may be null.
func (l *leafReader) takeOptional(k int) error {
	if l.defs.left >= k && !l.defs.packed && l.out.validity == nil {
		// Inside a run of present values, which is how a page without nulls looks.
		if l.defs.value == 1 {
			l.defs.left -= k
			if err := l.dec.read(&l.out, k); err != nil {
				return err
			}
			l.out.n += k
			return nil
		}
	}
	bits := l.out.nullable(l.out.n + k)
	valid, ok := l.defs.bits(bits, l.out.n, k)
	if !ok {
		return errShort
	}
	l.out.reserve(l.out.n + k)
	if err := l.dec.read(&l.out, valid); err != nil {
		return err
	}
	l.out.spread(k, valid)
	return nil
}

func (l *leafReader) skipFlat(ctx context.Context, n int) error {
	for n > 0 {
		passed, err := l.pass(ctx, n)
		if err != nil {
			return err
		}
		if n -= passed; n == 0 {
			return nil
		}
		if err := l.page(ctx); err != nil {
			return err
		}
		k := min(n, l.left)
		valid := k
		if l.node.def > 0 {
			var ok bool
			if valid, ok = l.defs.bits(make([]byte, k/8+1), 0, k); !ok {
				return errShort
			}
		}
		if err := l.dec.skip(valid); err != nil {
			return err
		}
		l.left, l.row, n = l.left-k, l.row+int64(k), n-k
	}
	return nil
}

// pass passes over whole pages of at most n rows without decompressing them.
func (l *leafReader) pass(ctx context.Context, n int) (passed int, err error) {
	for l.left == 0 {
		h, body, err := l.header(ctx)
		if err != nil {
			return passed, err
		}
		switch {
		case h.typ == pageDictionary:
			if err := l.dictionaryPage(ctx, h, body); err != nil {
				return passed, err
			}
		case h.typ != pageData && h.typ != pageDataV2, int(h.values) <= n-passed:
			l.pos = body + int64(h.compressed)
			if h.typ == pageData || h.typ == pageDataV2 {
				passed, l.row = passed+int(h.values), l.row+int64(h.values)
			}
			if passed == n {
				return passed, nil
			}
		default:
			return passed, nil
		}
	}
	return passed, nil
}

// takeNested consumes n rows entry by entry; with keep their levels and values
// go to the batch.
func (l *leafReader) takeNested(ctx context.Context, n int, keep bool) error {
	started := 0 // rows begun
	for {
		if l.left == 0 {
			if l.pos >= l.end {
				break
			}
			if err := l.page(ctx); err != nil {
				return err
			}
		}
		defs := l.pageDefs[len(l.pageDefs)-l.left:]
		k := 0
		if l.node.rep == 0 {
			k = min(len(defs), n-started)
			started += k
		} else {
			reps := l.pageReps[len(l.pageReps)-l.left:]
			for ; k < len(reps); k++ {
				if reps[k] == 0 {
					if started == n {
						break
					}
					started++
				} else if started == 0 {
					return pageError("row begins with a continuation")
				}
			}
			if keep {
				l.batchReps = append(l.batchReps, reps[:k]...)
			}
		}
		if err := l.takeEntries(defs[:k], keep); err != nil {
			return err
		}
		l.left -= k
		if l.left > 0 || l.node.rep == 0 && started == n {
			break
		}
	}
	if started < n {
		return errShort
	}
	l.row += int64(n)
	return nil
}

func (l *leafReader) takeEntries(defs []uint8, keep bool) error {
	valid, slots := 0, 0
	for _, d := range defs {
		if d == l.node.def {
			valid++
		}
		if d >= l.anc {
			slots++
		}
	}
	if !keep {
		return l.dec.skip(valid)
	}
	l.batchDefs = append(l.batchDefs, defs...)
	l.out.reserve(l.out.n + slots)
	if valid < slots || l.out.validity != nil {
		bits := l.out.nullable(l.out.n + slots)
		i := l.out.n
		for _, d := range defs {
			if d >= l.anc {
				if d == l.node.def {
					bitutil.SetBit(bits, i)
				}
				i++
			}
		}
	}
	if err := l.dec.read(&l.out, valid); err != nil {
		return err
	}
	l.out.spread(slots, valid)
	return nil
}

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
	l.file.pages.Add(1)
	l.pos = body + int64(h.compressed)
	var reps, defs []byte
	data := b
	if h.typ == pageDataV2 {
		levels := int64(h.repLen) + int64(h.defLen)
		if levels > int64(len(b)) || levels > int64(h.uncompressed) {
			return pageError("levels reach beyond their page")
		}
		reps, defs, data = b[:h.repLen], b[h.repLen:levels], b[levels:]
		if !h.stored && len(data) > 0 {
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
	if l.levels {
		if err := l.pageLevels(n); err != nil {
			return err
		}
	}
	l.left = n
	return l.dec.page(h.enc, data, n)
}

// inflate decompresses a data page. The buffer is free again with the next page.
func (l *leafReader) inflate(b []byte, size int) ([]byte, error) {
	data, err := decompress(l.chunk.codec, l.inflated, b, size)
	if err == nil && l.chunk.codec != codecNone {
		l.inflated = data
	}
	return data, err
}

// pageLevels decodes all levels of a page, growing with what there is: a run of
// a few bytes may claim two thousand million entries.
func (l *leafReader) pageLevels(n int) error {
	l.pageDefs, l.pageReps = l.pageDefs[:0], l.pageReps[:0]
	var ok bool
	if l.pageDefs, ok = allLevels(l.pageDefs, &l.defs, l.node.def, n); !ok {
		return errShort
	}
	if l.node.rep > 0 {
		if l.pageReps, ok = allLevels(l.pageReps, &l.reps, l.node.rep, n); !ok {
			return errShort
		}
	}
	return nil
}

// maxLevels bounds the entries of one page of a nested column.
const maxLevels = 1 << 28

func allLevels(dst []uint8, h *hybrid, top uint8, n int) ([]uint8, bool) {
	if n > maxLevels {
		return dst, false
	}
	dst = grow(dst, n)
	if top == 0 {
		clear(dst)
		return dst, true
	}
	if !h.bytes(dst) {
		return dst, false
	}
	for _, d := range dst {
		if d > top {
			return dst, false
		}
	}
	return dst, true
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
