package parquet

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	defaultBatchRows = 16 << 10
	// batchBytes is about how large a batch may get before it has fewer rows.
	batchBytes = 64 << 20
)

// reader reads columns of a file, batch by batch.
type reader struct {
	file      *File
	columns   columnSet
	filter    *filter
	narrowing *narrowing // nil: pages are the finest that is skipped
	batchRows int

	loaded []segment                // of the current row group
	kept   map[*fileNode]*keptPages // likewise
	rest   rowRange                 // rows asked for of the row groups from the next on
	group  int                      // the next row group to look at
	ranges []rowRange               // rows left of the current one
	rows   int                      // rows of a batch in the current one
	last   arrow.RecordBatch
	failed error
	closed bool
}

// columnSet decodes columns of a file side by side.
type columnSet struct {
	schema  *arrow.Schema
	columns []*readColumn
	n       int // leaves of the columns
	workers int
}

// readColumn is one column of the batches.
type readColumn struct {
	node   *readNode
	leaves []*leafReader
	out    arrow.ArrayData
}

// Read implements [fileformat.File].
func (f *File) Read(ctx context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading Parquet file", err, "path", f.path)
	}
	r := &reader{file: f, filter: newFilter(f, req.Where, req.Columns), batchRows: req.BatchRows, rest: rowRange{req.From, req.To}}
	if req.To == 0 {
		r.rest.to = f.meta.rows
	}
	if req.From < 0 || r.rest.from > r.rest.to || r.rest.to > f.meta.rows {
		return nil, tarnerr.New(tarnerr.Invalid, "reading Parquet file", "rows that the file does not have", "path", f.path, "from", req.From, "to", req.To, "rows", f.meta.rows)
	}
	if r.batchRows <= 0 {
		r.batchRows = defaultBatchRows
	}
	var err error
	if r.columns, err = f.columnSet(req.Columns, req.Workers); err != nil {
		return nil, tarnerr.Trace("reading Parquet file", err, "path", f.path)
	}
	if r.narrowing, err = newNarrowing(r.filter, req); err != nil {
		return nil, tarnerr.Trace("reading Parquet file", err, "path", f.path)
	}
	return r, nil
}

func (f *File) columnSet(fields []types.Field, workers int) (columnSet, error) {
	s := columnSet{workers: max(workers, 1)}
	var err error
	if s.schema, err = types.ArrowSchema(fields); err != nil {
		return s, err
	}
	for i, c := range fields {
		n := f.root.child(c)
		if n != nil && n.element.repetition == repeated {
			return s, mismatch(n, c.Type)
		}
		if err := s.add(f, n, c.Type, s.schema.Field(i).Type); err != nil {
			return s, err
		}
	}
	return s, nil
}

// add adds the column of node n, all null when n is nil.
func (s *columnSet) add(f *File, n *fileNode, want types.Type, dt arrow.DataType) error {
	b := readBuilder{file: f, mem: f.mem, nested: n != nil && n.leaf < 0}
	node, err := b.node(n, want, dt)
	if err != nil {
		return err
	}
	s.columns = append(s.columns, &readColumn{node: node, leaves: b.leaves})
	s.n += len(b.leaves)
	for l := range s.leaves {
		l.window = f.plan.window(s.n)
	}
	return nil
}

// Schema implements [batch.Reader].
func (r *reader) Schema() *arrow.Schema { return r.columns.schema }

// Next implements [batch.Reader].
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.closed {
		return nil, tarnerr.New(tarnerr.Closed, "reading Parquet file", "reader is closed", "path", r.file.path)
	}
	if r.failed != nil {
		return nil, r.failed
	}
	r.drop()
	rec, err := r.next(ctx)
	if err != nil {
		r.failed = err
		return nil, err
	}
	r.last = rec
	return rec, nil
}

func (r *reader) drop() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

func (r *reader) next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading Parquet file", err, "path", r.file.path)
	}
	for len(r.ranges) == 0 {
		if r.group == len(r.file.meta.groups) {
			return nil, io.EOF
		}
		rows := r.file.meta.groups[r.group].rows
		part := rowRange{max(r.rest.from, 0), min(r.rest.to, rows)}
		if err := r.openGroup(ctx, r.group, part); err != nil {
			return nil, err
		}
		r.rest = rowRange{r.rest.from - rows, r.rest.to - rows}
		r.group++
	}
	var pieces []piece
	left := r.rows
	for left > 0 && len(r.ranges) > 0 {
		first := &r.ranges[0]
		n := int(min(first.to-first.from, int64(left)))
		pieces = append(pieces, piece{first.from, n})
		left -= n
		if first.from += int64(n); first.from == first.to {
			r.ranges = r.ranges[1:]
		}
	}
	return r.columns.decode(ctx, pieces, r.rows-left)
}

// openGroup decides what to read of a part of a row group and starts reading it.
func (r *reader) openGroup(ctx context.Context, g int, part rowRange) error {
	r.recycle()
	group := &r.file.meta.groups[g]
	if part.from >= part.to || !r.filter.group(g) {
		return nil
	}
	ranges, err := r.filter.rows(ctx, g)
	if err != nil {
		return err
	}
	if ranges == nil {
		ranges = []rowRange{part}
	} else if ranges = within(ranges, part); len(ranges) == 0 {
		return nil
	}
	spans, pages, err := r.wanted(ctx, g, &r.columns, ranges)
	if err != nil {
		return err
	}
	if r.narrowing != nil {
		before := rowsIn(ranges)
		if ranges, err = r.narrow(ctx, g, ranges, spans); err != nil || len(ranges) == 0 {
			return err
		}
		if rowsIn(ranges) > before/2 {
			r.narrowing = nil // not worth it for the next row group
		}
		if spans, pages, err = r.wanted(ctx, g, &r.columns, ranges); err != nil {
			return err
		}
	}
	if _, err := r.load(ctx, spans); err != nil {
		return err
	}
	var size int64
	for l := range r.columns.leaves {
		size += group.columns[l.node.leaf].uncompressed
		l.start(g, r.loaded, pages[l], r.kept[l.node])
	}
	r.ranges, r.rows = ranges, r.batchRows
	if per := size / group.rows; per > 0 {
		r.rows = int(min(int64(r.rows), max(1, batchBytes/per)))
	}
	return nil
}

// wanted is where columns of a row group have the rows of ranges, and what the
// offset index says of their pages.
func (r *reader) wanted(ctx context.Context, g int, columns *columnSet, ranges []rowRange) (spans []span, pages map[*leafReader][]pageLocation, err error) {
	group := &r.file.meta.groups[g]
	whole := ranges[0] == rowRange{0, group.rows}
	pages = map[*leafReader][]pageLocation{}
	for l := range columns.leaves {
		chunk := &group.columns[l.node.leaf]
		if whole {
			spans = append(spans, chunk.span())
			continue
		}
		p, err := r.file.offsetIndex(ctx, g, l.node)
		if err != nil {
			return nil, nil, err
		}
		pages[l] = p
		spans = append(spans, wantedSpans(chunk, p, ranges)...)
	}
	return spans, pages, nil
}

// narrowFirst is from how many bytes on the predicate's columns are read and
// judged before the others are asked for. Less comes with one request.
const narrowFirst = 256 << 10

// narrow gives the parts of ranges that hold the rows that match. Spans are
// those of all columns wanted.
func (r *reader) narrow(ctx context.Context, g int, ranges []rowRange, spans []span) ([]rowRange, error) {
	own, pages, err := r.wanted(ctx, g, &r.narrowing.columns, ranges)
	if err != nil {
		return nil, err
	}
	if bytesIn(spans) > narrowFirst {
		spans = own
	}
	if ok, err := r.load(ctx, spans); !ok || err != nil {
		return ranges, err
	}
	ranges, r.kept, err = r.narrowing.rows(ctx, g, ranges, r.loaded, pages, r.batchRows)
	return ranges, err
}

// load reads what of the spans is not loaded yet. It reports false when that is
// too much to be held at once.
func (r *reader) load(ctx context.Context, spans []span) (bool, error) {
	spans = slices.DeleteFunc(spans, func(sp span) bool {
		return slices.ContainsFunc(r.loaded, func(s segment) bool { _, ok := s.view(sp.off, sp.n); return ok })
	})
	more, err := r.file.gather(ctx, spans)
	r.loaded = append(r.loaded, more...)
	slices.SortFunc(r.loaded, func(a, b segment) int { return cmp.Compare(a.off, b.off) })
	return more != nil, err
}

// recycle gives the buffers of a row group back, of which all rows are read.
func (r *reader) recycle() {
	giveAll(r.loaded)
	for _, k := range r.kept {
		k.give()
	}
	r.loaded, r.kept = nil, nil
}

// wantedSpans are the dictionary and the pages that hold the ranges, or the
// whole chunk when its pages are not known.
func wantedSpans(chunk *chunkMeta, pages []pageLocation, ranges []rowRange) []span {
	sp := chunk.span()
	if pages == nil {
		return []span{sp}
	}
	var out []span
	if n := pages[0].off - sp.off; n > 0 {
		out = append(out, span{sp.off, n})
	}
	k := 0
	for i, p := range pages {
		end := int64(1<<63 - 1)
		if i+1 < len(pages) {
			end = pages[i+1].row
		}
		for k < len(ranges) && ranges[k].to <= p.row {
			k++
		}
		if k < len(ranges) && ranges[k].from < end {
			out = append(out, span{p.off, p.n})
		}
	}
	return out
}

// leaves yields the readers of all leaves.
func (s *columnSet) leaves(yield func(*leafReader) bool) {
	for _, c := range s.columns {
		for _, l := range c.leaves {
			if !yield(l) {
				return
			}
		}
	}
}

// decode reads the pieces of every column, side by side.
func (s *columnSet) decode(ctx context.Context, pieces []piece, rows int) (arrow.RecordBatch, error) {
	work := func(i int) error {
		c := s.columns[i]
		for _, l := range c.leaves {
			if err := l.read(ctx, pieces); err != nil {
				return err
			}
		}
		out, err := c.node.build(rows)
		c.out = out
		for _, l := range c.leaves {
			l.out.Release() // read for its levels only
		}
		return err
	}
	if err := batch.SideBySide(s.workers, len(s.columns), work); err != nil {
		for _, c := range s.columns {
			c.release()
		}
		return nil, err
	}
	outs := make([]arrow.ArrayData, len(s.columns))
	for i, c := range s.columns {
		outs[i] = c.out
	}
	rec := batch.FromData(s.schema, outs, rows)
	for _, c := range s.columns {
		c.release()
	}
	return rec, nil
}

func (c *readColumn) release() {
	if c.out != nil {
		c.out.Release()
		c.out = nil
	}
	for _, l := range c.leaves {
		l.out.Release()
	}
}

// close ends what is under way and frees what was decoded.
func (s *columnSet) close() {
	for _, c := range s.columns {
		c.release()
		for _, l := range c.leaves {
			l.stop()
			l.recycle()
		}
	}
}

// Close implements [batch.Reader].
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.drop()
	r.columns.close()
	r.recycle()
	return nil
}

// stop ends what the reader of a leaf has under way.
func (l *leafReader) stop() {
	if l.stream != nil {
		l.stream.close()
		l.stream = nil
	}
}
