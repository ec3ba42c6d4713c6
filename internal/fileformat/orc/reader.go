package orc

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// packedTimes is how much larger what streams hold is taken to be as Arrow.
const packedTimes = 4

// fileReader reads columns of a file, batch by batch.
type fileReader struct {
	file      *File
	schema    *arrow.Schema
	columns   []*readNode
	outs      []arrow.ArrayData
	filter    *filter
	batchRows int
	workers   int
	allowance batch.Allowance
	numbers   *arrow.Schema // of batches with row numbers; nil: they were not asked for

	stripe  int      // the next one to look at
	open    *stripe  // the current one
	runs    []rowRun // of it that are still to come
	before  int64    // rows of the stripes before the next one
	at      int64    // number of the next row in the file
	total   int64    // rows of the current run
	left    int64    // of these, rows left
	rows    int      // rows of a batch in the current one
	present *bitRuns // which rows of the current one there are; nil: all
}

// Read implements [fileformat.File].
func (f *File) Read(ctx context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Closed, "reading ORC file", err, "path", f.Path)
	}
	if req.From != 0 || req.To != 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading ORC file", "some rows of a file by their number", "path", f.Path)
	}
	r, err := f.reader(req)
	if err != nil {
		return nil, tarnerr.Trace("reading ORC file", err, "path", f.Path)
	}
	sc := r.schema
	if r.numbers != nil {
		sc = r.numbers
	}
	return fileformat.NewReader(sc, "ORC", f.Path, r), nil
}

func (f *File) reader(req fileformat.ReadRequest) (*fileReader, error) {
	sc, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, err
	}
	r := &fileReader{file: f, schema: sc, filter: newFilter(f, req.Where, req.Columns), workers: max(req.Workers, 1)}
	r.batchRows = fileformat.BatchRows(sc, req.BatchRows)
	for i, c := range req.Columns {
		node, err := f.readNode(f.root.child(c), c.Type, sc.Field(i).Type, &r.allowance)
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, node)
	}
	r.outs = make([]arrow.ArrayData, len(r.columns))
	if req.Numbers {
		r.numbers = fileformat.Numbered(sc)
	}
	return r, nil
}

// Decode implements [fileformat.Decoder].
func (r *fileReader) Decode(ctx context.Context) (arrow.RecordBatch, error) {
	if err := r.advance(ctx); err != nil {
		return nil, err
	}
	rows := int(min(r.left, int64(r.rows)))
	rec, err := r.decode(rows)
	for rows > 1 && tooLarge(err) {
		if err := r.again(fileformat.FewerRows(rows)); err != nil {
			return nil, err
		}
		rows = int(min(r.left, int64(r.rows)))
		rec, err = r.decode(rows)
	}
	run := fileformat.Run{From: r.at, Rows: rows}
	r.at, r.left = r.at+int64(rows), r.left-int64(rows)
	if err != nil || r.numbers == nil {
		return rec, err
	}
	return fileformat.WithNumbers(r.file.mem, r.numbers, rec, run), nil
}

func tooLarge(err error) bool { return errors.Is(err, errTooLarge) || errors.Is(err, errTexts) }

// advance goes on to the next run that has rows left.
func (r *fileReader) advance(ctx context.Context) error {
	for r.left == 0 {
		if len(r.runs) > 0 {
			if err := r.startRun(); err != nil {
				return err
			}
			continue
		}
		if r.stripe == len(r.file.meta.stripes) {
			return io.EOF
		}
		if err := r.openStripe(ctx, r.stripe); err != nil {
			return err
		}
		r.before += r.file.meta.stripes[r.stripe].rows
		r.stripe++
	}
	return nil
}

// again begins the current run anew, with fewer rows in a batch, and comes to
// where it was.
func (r *fileReader) again(rows int) error {
	done := r.total - r.left
	r.rows, r.batchRows = rows, rows
	for _, c := range r.columns {
		c.forget()
	}
	if r.open == nil {
		return nil // no column is in the file
	}
	if err := r.startColumns(r.open.run, r.total); err != nil {
		return err
	}
	for done > 0 {
		n := min(done, int64(rows))
		rec, err := r.decode(int(n))
		if err != nil {
			return err
		}
		rec.Release()
		done, r.at, r.left = done-n, r.at+n, r.left-n
	}
	return nil
}

// checkPresent refuses rows that are null as a whole. Some writers say of every
// row that it is not.
func (r *fileReader) checkPresent(rows int) error {
	if r.present == nil {
		return nil
	}
	n, err := r.present.read(make([]byte, rows/8+1), 0, rows)
	if err != nil {
		return r.file.corruptStripe(r.stripe-1, err.Error(), "column", 0)
	}
	if n < rows {
		return r.file.Unsupported("rows that are null cannot be read", "stripe", r.stripe-1)
	}
	return nil
}

// openStripe reads the streams wanted of a stripe, unless none of its rows can match.
func (r *fileReader) openStripe(ctx context.Context, i int) error {
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
		r.at, r.left, r.total = r.before, rows, rows
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
func (r *fileReader) use(ctx context.Context, s *stripe, columns []int, keep []bool) error {
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
		r.rows = int(min(int64(r.rows), max(1, fileformat.BatchBytes/per)))
	}
	s.before = r.before
	r.open, r.runs = s, runs
	if whole {
		return r.startColumns(nil, s.rows)
	}
	return nil
}

func (r *fileReader) startRun() error {
	run := &r.runs[0]
	r.runs = r.runs[1:]
	return r.startColumns(run, run.to-run.from)
}

func (r *fileReader) startColumns(run *rowRun, rows int64) (err error) {
	r.open.run = run
	if r.present, err = r.open.bits(0, streamPresent); err != nil {
		return r.file.corruptStripe(r.open.index, err.Error(), "column", 0)
	}
	for _, c := range r.columns {
		if err := c.start(r.open); err != nil {
			return err
		}
	}
	r.at = r.open.before
	if run != nil {
		r.at += run.from
	}
	r.left, r.total = rows, rows
	return nil
}

// decode reads the next rows of every column, side by side.
func (r *fileReader) decode(rows int) (arrow.RecordBatch, error) {
	if err := r.checkPresent(rows); err != nil {
		return nil, err
	}
	r.allowance.Begin(rows == 1)
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
		r.Release()
		return nil, err
	}
	return batch.FromData(r.schema, r.outs, rows), nil
}

// Release implements [fileformat.Decoder].
func (r *fileReader) Release() {
	for _, c := range r.columns {
		c.release()
	}
}
