package parquet

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// chunkWriter encodes one leaf column, page by page. Finished pages of the open
// row group wait in memory, because a file has its columns one after the other.
// Not safe for concurrent use; the chunks of a file are independent.
type chunkWriter struct {
	*column
	set     *settings
	scratch scratch
	thrift  thriftOut

	forbidden bool // a dictionary is

	// of the file
	plainOnly bool // no dictionary is allowed, or the first page showed that none pays
	bounds    bounds
	nulls     int64

	// of the row group
	rows       int64            // with those of the open page
	dict       dictionary       // nil where there is none (any more)
	small      *numbers[uint32] // dict is one of the three, which are used again
	large      *numbers[uint64]
	texts      *texts
	level      int  // of the compression
	judged     bool // the sample was in favour of the dictionary
	pages      []page
	dictionary page
	facts      chunkFacts

	page openPage
}

// page is a finished page with its header.
type page struct {
	body  []byte
	facts pageFacts
}

func newChunkWriter(c *column, s *settings) *chunkWriter {
	return &chunkWriter{column: c, set: s, forbidden: c.phys == physBoolean || !s.dictionary(c.dotted())}
}

// begin begins a file.
func (w *chunkWriter) begin() {
	w.plainOnly, w.bounds, w.nulls = w.forbidden, bounds{}, 0
}

// start begins a row group.
func (w *chunkWriter) start() {
	w.rows, w.facts = 0, chunkFacts{column: w.column}
	w.judged, w.dict, w.level = false, nil, w.set.level
	if w.plainOnly {
		return
	}
	switch w.phys {
	case physInt32, physFloat:
		w.small = emptied(w.small)
		w.dict = w.small
	case physInt64, physDouble:
		w.large = emptied(w.large)
		w.dict = w.large
	default:
		w.texts = w.texts.emptied(w.phys == physByteArray)
		w.dict = w.texts
	}
}

// flat encodes rows from … to of a column that is not nested.
func (w *chunkWriter) flat(arr arrow.Array, from, to int) error {
	for from < to {
		n := w.fit(arr, from, to)
		v := leafValues{arr: arr, from: from, to: from + n}
		if arr.NullN() > 0 {
			if err := w.withoutNulls(&v); err != nil {
				return err
			}
		}
		p := &w.page
		if w.optional {
			p.mark(arr, from, n, v.idx != nil)
		}
		p.nulls += n - v.count()
		if err := w.add(&v, n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// withoutNulls lists the positions of values where there are nulls among them.
func (w *chunkWriter) withoutNulls(v *leafValues) error {
	idx := w.scratch.idx[:0]
	for i := v.from; i < v.to; i++ {
		if v.arr.IsValid(i) {
			idx = append(idx, int32(i))
		}
	}
	w.scratch.idx = idx
	if len(idx) == v.to-v.from {
		return nil
	}
	if !w.optional {
		return nullInRequired(w.dotted())
	}
	if v.idx = idx; idx == nil {
		v.idx = []int32{}
	}
	return nil
}

// fit is how many of the rows go into the open page at once: up to its limits,
// and to where a decision about the dictionary is due.
func (w *chunkWriter) fit(arr arrow.Array, from, to int) int {
	n := min(to-from, w.rowsLeft())
	if w.dict != nil && !w.judged {
		n = min(n, sampleRows)
	}
	room := int(w.set.pageSize) - w.page.raw
	if w.phys != physByteArray {
		width := max(w.width, 1)
		return min(n, (room+width-1)/width)
	}
	if offsets, _, ok := textView(arr); ok {
		for size := math.MaxInt; n > 1; {
			if size = int(offsets[from+n]-offsets[from]) + 4*n; size <= room {
				break
			}
			n = max(1, n/2)
		}
	}
	return n
}

// rowsLeft is how many rows the open page takes: pages end at multiples of the
// row limit, in all columns alike.
func (w *chunkWriter) rowsLeft() int {
	return w.set.pageRows - int(w.rows%int64(w.set.pageRows))
}

// nested adds the values of a leaf below a nested column, for so many rows.
func (w *chunkWriter) nested(v *leafValues, rows int) error {
	p := &w.page
	levels := v.count()
	if v.defs != nil {
		levels = len(v.defs)
	}
	p.defs = append(p.defs, v.defs...)
	p.reps = append(p.reps, v.rep...)
	p.nulls += levels - v.count()
	return w.addLevels(v, rows, levels)
}

func (w *chunkWriter) add(v *leafValues, rows int) error { return w.addLevels(v, rows, rows) }

func (w *chunkWriter) addLevels(v *leafValues, rows, levels int) error {
	p := &w.page
	if p.levels == 0 {
		p.firstRow = w.rows
	}
	if v.count() > 0 {
		if err := w.addValues(v); err != nil {
			return err
		}
	}
	p.levels += levels
	w.rows += int64(rows)
	if w.dict != nil && !w.judged && w.facts.dictPages == 0 && len(p.indices) >= sampleRows {
		w.judge()
	}
	if p.raw >= int(w.set.pageSize) || w.rows%int64(w.set.pageRows) == 0 {
		return w.endPage()
	}
	return nil
}

// judge gives the dictionary up when the values seen so far are not smaller with
// it. Only the first page asks: what is there then can be written without.
func (w *chunkWriter) judge() {
	p := &w.page
	w.judged = true
	if worthIt(len(p.indices), w.dict.entries(), p.raw, len(w.dict.plain())) {
		return
	}
	p.reserve(p.raw)
	p.buf = w.dict.appendPlain(p.buf, p.indices)
	p.indices = p.indices[:0]
	w.plainOnly, w.dict = true, nil
}

// endPage finishes the open page, if there is anything in it.
func (w *chunkWriter) endPage() error {
	p := &w.page
	if p.levels == 0 {
		return nil
	}
	if w.dict != nil && w.facts.dictPages == 0 && len(p.indices) > 0 {
		w.judge()
	}
	enc := encPlain
	p.reserve(0)
	if len(p.indices) > 0 {
		enc = encPlainDict
		width := bits.Len(uint(w.dict.entries() - 1))
		p.reserve(len(p.indices)*4 + 64)
		p.buf = appendHybrid(append(p.buf, byte(width)), p.indices, width)
	}
	body, err := w.finishPage(pageData, p.withLevels(w.column), p.levels, enc)
	if err != nil {
		return err
	}
	f := pageFacts{row: p.firstRow, values: int64(p.levels), nulls: int64(p.nulls), bounds: p.bounds}
	f.min, f.max = p.bounds.raw(w.column)
	w.pages = append(w.pages, page{body, f})
	w.facts.values += f.values
	w.facts.nulls += f.nulls
	w.facts.bounds.widen(w.phys, &p.bounds)
	if enc == encPlainDict {
		w.facts.dictPages++
	}
	if w.dict != nil && int64(len(w.dict.plain())) > w.set.dictLimit {
		if err := w.endDictionary(); err != nil {
			return err
		}
		w.dict, w.small, w.large, w.texts = nil, nil, nil, nil
	}
	p.empty()
	return nil
}

// finishPage compresses a page and puts its header before it.
func (w *chunkWriter) finishPage(typ int32, raw []byte, values int, enc encoding) ([]byte, error) {
	if len(raw) > math.MaxInt32 || values > math.MaxInt32 {
		return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet file", "a page of more than 2 GiB",
			"column", w.dotted(), "bytes", len(raw)).WithHint("Write fewer or smaller values at a time.")
	}
	stored := raw
	var room []byte
	if w.set.compressor != nil {
		room = w.room(raw)
		stored = w.set.compressor.EncodeLevel(room, raw, w.level)
		if typ == pageData && enc == encPlain && w.worthTrying(raw) {
			room, stored = w.tryHarder(room, stored, raw)
		}
	}
	w.thrift.reset()
	appendPageHeader(&w.thrift, typ, len(raw), len(stored), values, enc)
	head := w.thrift.b
	body := batch.TakeBuffer(len(head) + len(stored))
	copy(body[copy(body, head):], stored)
	if room != nil {
		batch.GiveBuffer(room)
	}
	w.facts.raw += int64(len(head) + len(raw))
	w.facts.stored += int64(len(body))
	return body, nil
}

// room has room for what becomes of raw.
func (w *chunkWriter) room(raw []byte) []byte {
	return batch.TakeBuffer(int(w.set.compressor.CompressBound(int64(len(raw)))))
}

// hardestFrom is from which size on a page tells how others are compressed best.
const hardestFrom = 64 << 10

// worthTrying reports the first page of a chunk of long numbers of which half the
// bytes are the same. Of pages of 128 to 256 KiB zstd's level 1 looks for matches too
// short to save anything in them, which its level 2 passes by: it is faster then, and
// saves a twelfth.
func (w *chunkWriter) worthTrying(raw []byte) bool {
	b := &w.page.bounds
	return w.set.codec == codecZstd && w.level == 1 && w.phys == physInt64 && w.facts.values == 0 && len(raw) >= hardestFrom &&
		b.known && uint64(b.lo)>>32 == uint64(b.hi)>>32
}

// tryHarder compresses the page at level 2 too and stays there, for the chunk, if
// that saves some percent.
func (w *chunkWriter) tryHarder(room, stored, raw []byte) ([]byte, []byte) {
	other := w.room(raw)
	smaller := w.set.compressor.EncodeLevel(other, raw, 2)
	if len(smaller)*100 >= len(stored)*97 {
		batch.GiveBuffer(other)
		return room, stored
	}
	batch.GiveBuffer(room)
	w.level = 2
	return other, smaller
}

// endDictionary makes the dictionary page of what pages refer to.
func (w *chunkWriter) endDictionary() error {
	if w.dict == nil || w.facts.dictPages == 0 {
		return nil
	}
	body, err := w.finishPage(pageDictionary, w.dict.plain(), w.dict.entries(), encPlainDict)
	w.dictionary.body = body
	return err
}

// finish ends the last page and the dictionary of the row group.
func (w *chunkWriter) finish() error {
	if err := w.endPage(); err != nil {
		return err
	}
	return w.endDictionary()
}

// writeTo writes the chunk, which is finished, and gives its memory back.
func (w *chunkWriter) writeTo(s *sink) chunkFacts {
	f := w.facts
	f.offset = s.n
	if d := w.dictionary.body; d != nil {
		f.dictOffset = s.n
		s.write(d)
	}
	f.dataOffset = s.n
	f.pages = make([]pageFacts, len(w.pages))
	for i, p := range w.pages {
		f.pages[i] = p.facts
		f.pages[i].off, f.pages[i].n = s.n, int64(len(p.body))
		s.write(p.body)
	}
	w.bounds.widen(w.phys, &f.bounds)
	w.nulls += f.nulls
	w.drop()
	return f
}

// drop gives the memory of the row group back.
func (w *chunkWriter) drop() {
	batch.GiveBuffer(w.dictionary.body)
	for _, p := range w.pages {
		batch.GiveBuffer(p.body)
	}
	clear(w.pages)
	w.pages, w.dictionary, w.dict = w.pages[:0], page{}, nil
	w.page.empty()
	w.facts.stored, w.rows = 0, 0
}

// size estimates the bytes of the row group so far.
func (w *chunkWriter) size() int64 {
	p := &w.page
	open := int64(len(p.buf))
	if len(p.buf) >= front {
		open -= front
	}
	if w.dict != nil {
		open += int64(len(w.dict.plain())) + int64(len(p.indices)*bits.Len(uint(w.dict.entries())))/8
	}
	return w.facts.stored + open
}
