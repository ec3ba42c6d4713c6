package orc

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const (
	defaultBatchRows = 16 << 10
	// batchBytes is about how large a batch may get before it has fewer rows;
	// what streams hold is taken to be packedTimes larger as Arrow.
	batchBytes  = 64 << 20
	packedTimes = 4
)

// reader reads columns of a file, batch by batch.
type reader struct {
	file      *File
	schema    *arrow.Schema
	columns   []*readNode
	outs      []arrow.ArrayData
	filter    *filter
	batchRows int
	workers   int

	stripe  int      // the next one to look at
	open    *stripe  // the current one
	runs    []rowRun // of it that are still to come
	left    int64    // rows left of the current run
	rows    int      // rows of a batch in the current one
	present *bitRuns // which rows of the current one there are; nil: all
	last    arrow.RecordBatch
	failed  error
	closed  bool
}

// Read implements [fileformat.File].
func (f *File) Read(ctx context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading ORC file", err, "path", f.path)
	}
	if req.From != 0 || req.To != 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading ORC file", "some rows of a file by their number", "path", f.path)
	}
	sc, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, tarnerr.Trace("reading ORC file", err, "path", f.path)
	}
	r := &reader{file: f, schema: sc, filter: newFilter(f, req.Where, req.Columns), batchRows: req.BatchRows, workers: max(req.Workers, 1)}
	if r.batchRows <= 0 {
		r.batchRows = defaultBatchRows
	}
	for i, c := range req.Columns {
		node, err := f.readNode(f.root.child(c), c.Type, sc.Field(i).Type)
		if err != nil {
			return nil, tarnerr.Trace("reading ORC file", err, "path", f.path)
		}
		r.columns = append(r.columns, node)
	}
	r.outs = make([]arrow.ArrayData, len(r.columns))
	return r, nil
}

// Schema implements [batch.Reader].
func (r *reader) Schema() *arrow.Schema { return r.schema }

// Next implements [batch.Reader].
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.closed {
		return nil, tarnerr.New(tarnerr.Closed, "reading ORC file", "reader is closed", "path", r.file.path)
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
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading ORC file", err, "path", r.file.path)
	}
	for r.left == 0 {
		if len(r.runs) > 0 {
			if err := r.startRun(); err != nil {
				return nil, err
			}
			continue
		}
		if r.stripe == len(r.file.meta.stripes) {
			return nil, io.EOF
		}
		if err := r.openStripe(ctx, r.stripe); err != nil {
			return nil, err
		}
		r.stripe++
	}
	rows := int(min(r.left, int64(r.rows)))
	r.left -= int64(rows)
	if err := r.checkPresent(rows); err != nil {
		return nil, err
	}
	return r.decode(rows)
}

// checkPresent refuses rows that are null as a whole. Some writers say of every
// row that it is not.
func (r *reader) checkPresent(rows int) error {
	if r.present == nil {
		return nil
	}
	n, err := r.present.read(make([]byte, rows/8+1), 0, rows)
	if err != nil {
		return r.file.corruptStripe(r.stripe-1, err.Error(), "column", 0)
	}
	if n < rows {
		return r.file.unsupported("rows that are null cannot be read", "stripe", r.stripe-1)
	}
	return nil
}

// openStripe reads the streams wanted of a stripe, unless none of its rows can match.
func (r *reader) openStripe(ctx context.Context, i int) error {
	rows := r.file.meta.stripes[i].rows
	if rows == 0 {
		return nil
	}
	if wanted, err := r.filter.stripe(ctx, i); err != nil || !wanted {
		return err
	}
	columns := []int{0} // the rows themselves
	for _, c := range r.columns {
		columns = c.columns(columns)
	}
	r.rows, r.present = r.batchRows, nil
	if len(columns) == 1 {
		r.left = rows
		return nil
	}
	s, err := r.file.openStripe(ctx, i)
	if err != nil {
		return err
	}
	keep, err := r.filter.groups(ctx, s)
	if err != nil {
		return err
	}
	return r.use(ctx, s, columns, keep)
}

// use begins to read row groups of a stripe; nil keeps all.
func (r *reader) use(ctx context.Context, s *stripe, columns []int, keep []bool) error {
	runs, whole, err := s.runs(ctx, keep, columns)
	if err != nil {
		return err
	}
	if whole {
		runs = nil
	} else if len(runs) == 0 {
		return nil
	}
	size, err := s.load(ctx, columns, runs)
	if err != nil {
		return err
	}
	r.file.stripes.Add(1)
	if per := size * packedTimes / s.rows; per > 0 {
		r.rows = int(min(int64(r.rows), max(1, batchBytes/per)))
	}
	r.open, r.runs = s, runs
	if whole {
		return r.startColumns(nil, s.rows)
	}
	return nil
}

func (r *reader) startRun() error {
	run := &r.runs[0]
	r.runs = r.runs[1:]
	return r.startColumns(run, run.to-run.from)
}

func (r *reader) startColumns(run *rowRun, rows int64) (err error) {
	r.open.run = run
	if r.present, err = r.open.bits(0, streamPresent); err != nil {
		return r.file.corruptStripe(r.open.index, err.Error(), "column", 0)
	}
	for _, c := range r.columns {
		if err := c.start(r.open); err != nil {
			return err
		}
	}
	r.left = rows
	return nil
}

// decode reads the next rows of every column, side by side.
func (r *reader) decode(rows int) (arrow.RecordBatch, error) {
	err := batch.SideBySide(r.workers, len(r.columns), func(i int) (err error) {
		r.outs[i], err = r.columns[i].read(rows, nil)
		return err
	})
	defer func() {
		for i, d := range r.outs {
			if d != nil {
				d.Release()
				r.outs[i] = nil
			}
		}
	}()
	if err != nil {
		for _, c := range r.columns {
			c.release()
		}
		return nil, err
	}
	return batch.FromData(r.schema, r.outs, rows), nil
}

// Close implements [batch.Reader].
func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.drop()
	for _, c := range r.columns {
		c.release()
	}
	return nil
}
