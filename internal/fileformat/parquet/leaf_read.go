package parquet

import (
	"context"
	"sort"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// leafReader reads one leaf column of a file, row group after row group.
type leafReader struct {
	file   *File
	node   *fileNode
	dec    decoder
	out    batch.Column
	levels bool  // the caller needs levels: nested columns
	anc    uint8 // definition level of the nearest repeated ancestor

	window int64 // of the chunk that is read at a time
	group  int   // of the file
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
	kept       *keptPages // that need not be decompressed again
	keep       bool       // add to kept

	// For nested columns: the levels of the current page that come next, the
	// buffers they are in, and the levels of the batch.
	pageDefs, pageReps   []uint8
	defBuf, repBuf       []uint8
	batchDefs, batchReps []uint8
}

// piece is a run of rows of a row group.
type piece struct {
	row int64
	n   int
}

func newLeafReader(f *File, n *fileNode, dec decoder, out batch.Column, levels bool) *leafReader {
	return &leafReader{file: f, node: n, dec: dec, levels: levels, anc: n.ancestor, out: out}
}

// start begins a row group, of which parts may be loaded and pages inflated.
func (l *leafReader) start(group int, loaded []segment, pages []pageLocation, kept *keptPages) {
	l.stop()
	l.kept = kept
	l.group, l.chunk, l.pages = group, &l.file.meta.groups[group].columns[l.node.leaf], pages
	l.dec.forget()
	sp := l.chunk.span()
	l.stream = &stream{file: l.file, window: l.window, end: sp.off + sp.n, loaded: loaded, recycle: l.chunk.codec != codecNone}
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
		l.out.Reserve(total)
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
	return tarnerr.Wrap(kind, "reading Parquet column", err, "path", l.file.Path, "column", l.node.path, "rowGroup", l.group)
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
			l.out.N += k
		} else if err := l.takeOptional(k); err != nil {
			return err
		}
		l.left, l.row, n = l.left-k, l.row+int64(k), n-k
	}
	return nil
}

// takeOptional reads k rows of a page of a column of which rows may be null.
func (l *leafReader) takeOptional(k int) error {
	if l.out.Validity == nil && l.defs.run() && !l.defs.packed && l.defs.left >= k && l.defs.value == 1 {
		// Inside a run of present values, which is how a page without nulls looks.
		l.defs.left -= k
		if err := l.dec.read(&l.out, k); err != nil {
			return err
		}
		l.out.N += k
		return nil
	}
	bits := l.out.Nullable(l.out.N + k)
	valid, ok := l.defs.bits(bits, l.out.N, k)
	if !ok {
		return errShort
	}
	l.out.Reserve(l.out.N + k)
	if err := l.dec.read(&l.out, valid); err != nil {
		return err
	}
	l.out.Spread(k, valid)
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
