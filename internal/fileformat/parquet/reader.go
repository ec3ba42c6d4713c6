package parquet

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fileReader reads columns of a file, batch by batch.
type fileReader struct {
	file      *File
	plan      readPlan
	columns   columnSet
	filter    *filter
	narrowing *narrowing // nil: pages are the finest that is skipped
	batchRows int
	numbers   *arrow.Schema // of batches with row numbers; nil: they were not asked for

	loaded []segment                      // of the current row group
	kept   map[*fileNode]*keptPages       // likewise
	pages  map[*leafReader][]pageLocation // likewise
	rest   rowRange                       // rows asked for of the row groups from the next on
	group  int                            // the next row group to look at
	before int64                          // rows of the row groups before the current one
	ranges []rowRange                     // rows left of the current one
	rows   int                            // rows of a batch in the current one
}

// columnSet decodes columns of a file side by side.
type columnSet struct {
	schema  *arrow.Schema
	columns []*readColumn
	n       int // leaves of the columns
	workers int

	allowance *batch.Allowance // of a batch
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
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading Parquet file", err, "path", f.Path)
	}
	r, err := f.reader(req)
	if err != nil {
		return nil, tarnerr.Trace("reading Parquet file", err, "path", f.Path)
	}
	sc := r.columns.schema
	if r.numbers != nil {
		sc = r.numbers
	}
	return fileformat.NewReader(sc, "Parquet", f.Path, r), nil
}

func (f *File) reader(req fileformat.ReadRequest) (*fileReader, error) {
	r := &fileReader{file: f, filter: newFilter(f, req.Where, req.Columns), rest: rowRange{req.From, req.To}}
	if req.To == 0 {
		r.rest.to = f.meta.rows
	}
	if req.From < 0 || r.rest.from > r.rest.to || r.rest.to > f.meta.rows {
		return nil, tarnerr.New(tarnerr.Invalid, "reading Parquet file", "rows that the file does not have", "from", req.From, "to", req.To, "rows", f.meta.rows)
	}
	var err error
	if r.columns, err = f.columnSet(req.Columns, req.Workers); err != nil {
		return nil, err
	}
	r.plan = f.plan.within(req.Hold)
	for l := range r.columns.leaves {
		l.window = r.plan.window(r.columns.n)
	}
	r.batchRows = fileformat.BatchRows(r.columns.schema, req.BatchRows)
	if req.Numbers {
		r.numbers = fileformat.Numbered(r.columns.schema)
	}
	r.narrowing, err = newNarrowing(r.filter, req)
	return r, err
}

func newColumnSet(workers int) columnSet {
	return columnSet{workers: max(workers, 1), allowance: new(batch.Allowance)}
}

func (f *File) columnSet(fields []types.Field, workers int) (columnSet, error) {
	s := newColumnSet(workers)
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
	b := readBuilder{file: f, mem: f.mem, allowance: s.allowance, nested: n != nil && n.leaf < 0}
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

// Decode implements [fileformat.Decoder].
func (r *fileReader) Decode(ctx context.Context) (arrow.RecordBatch, error) {
	for len(r.ranges) == 0 {
		if r.group == len(r.file.meta.groups) {
			return nil, io.EOF
		}
		rows := r.file.meta.groups[r.group].rows
		if r.group > 0 {
			r.before += r.file.meta.groups[r.group-1].rows
		}
		part := rowRange{max(r.rest.from, 0), min(r.rest.to, rows)}
		if err := r.openGroup(ctx, r.group, part); err != nil {
			return nil, err
		}
		r.rest = rowRange{r.rest.from - rows, r.rest.to - rows}
		r.group++
	}
	pieces, rows := r.take()
	rec, err := r.columns.decode(ctx, pieces, rows)
	for rows > 1 && tooLarge(err) {
		r.again(pieces, fileformat.FewerRows(rows))
		pieces, rows = r.take()
		rec, err = r.columns.decode(ctx, pieces, rows)
	}
	if err != nil || r.numbers == nil {
		return rec, err
	}
	runs := make([]fileformat.Run, len(pieces))
	for i, p := range pieces {
		runs[i] = fileformat.Run{From: r.before + p.row, Rows: p.n}
	}
	return fileformat.WithNumbers(r.file.mem, r.numbers, rec, runs...), nil
}

// take gives the rows of the next batch.
func (r *fileReader) take() (pieces []piece, rows int) {
	for rows < r.rows && len(r.ranges) > 0 {
		first := &r.ranges[0]
		n := int(min(first.to-first.from, int64(r.rows-rows)))
		pieces = append(pieces, piece{first.from, n})
		rows += n
		if first.from += int64(n); first.from == first.to {
			r.ranges = r.ranges[1:]
		}
	}
	return pieces, rows
}

// again begins the row group anew, of which rows were taken that are too many
// for a batch.
func (r *fileReader) again(taken []piece, rows int) {
	r.rows, r.batchRows = rows, rows
	var ranges []rowRange
	for _, p := range taken {
		ranges = append(ranges, rowRange{p.row, p.row + int64(p.n)})
	}
	if n := len(ranges); len(r.ranges) > 0 && r.ranges[0].from == ranges[n-1].to {
		r.ranges[0].from = ranges[n-1].from
		ranges = ranges[:n-1]
	}
	r.ranges = append(ranges, r.ranges...)
	for l := range r.columns.leaves {
		l.out.Forget()
		l.start(r.group-1, r.loaded, r.pages[l], r.kept[l.node])
	}
}

func tooLarge(err error) bool { return errors.Is(err, errTooLarge) || errors.Is(err, errMemory) }

// openGroup decides what to read of a part of a row group and starts reading it.
func (r *fileReader) openGroup(ctx context.Context, g int, part rowRange) error {
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
	r.ranges, r.rows, r.pages = ranges, r.batchRows, pages
	if per := size / group.rows; per > 0 {
		r.rows = int(min(int64(r.rows), max(1, fileformat.BatchBytes/per)))
	}
	return nil
}

// wanted is where columns of a row group have the rows of ranges, and what the
// offset index says of their pages.
func (r *fileReader) wanted(ctx context.Context, g int, columns *columnSet, ranges []rowRange) (spans []span, pages map[*leafReader][]pageLocation, err error) {
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
func (r *fileReader) narrow(ctx context.Context, g int, ranges []rowRange, spans []span) ([]rowRange, error) {
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
func (r *fileReader) load(ctx context.Context, spans []span) (bool, error) {
	spans = slices.DeleteFunc(spans, func(sp span) bool {
		return slices.ContainsFunc(r.loaded, func(s segment) bool { _, ok := s.view(sp.off, sp.n); return ok })
	})
	more, err := r.file.gather(ctx, spans, r.plan)
	r.loaded = append(r.loaded, more...)
	slices.SortFunc(r.loaded, func(a, b segment) int { return cmp.Compare(a.off, b.off) })
	return more != nil, err
}

// recycle gives the buffers of a row group back, of which all rows are read.
func (r *fileReader) recycle() {
	giveAll(r.loaded)
	for _, k := range r.kept {
		k.give()
	}
	r.loaded, r.kept, r.pages = nil, nil, nil
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
	s.allowance.Begin(rows == 1)
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

// Release implements [fileformat.Decoder].
func (r *fileReader) Release() {
	r.columns.close()
	r.recycle()
}

// stop ends what the reader of a leaf has under way.
func (l *leafReader) stop() {
	if l.stream != nil {
		l.stream.close()
		l.stream = nil
	}
}
