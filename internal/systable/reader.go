package systable

import (
	"context"
	"io"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// batchRows is the most rows of a batch.
const batchRows = 1024

// reader builds batches of rows as they are pulled, filters and projects them.
type reader struct {
	cfg     *Config
	fields  []types.Field
	full    *arrow.Schema
	schema  *arrow.Schema
	columns []int
	where   *expr.Bound
	left    int64 // rows still wanted, -1 without limit
	next    func() (row, error, bool)
	stop    func()
	mask    []bool
	out     arrow.RecordBatch
	closed  bool
}

func newReader(ctx context.Context, cfg *Config, s source, req Request) (*reader, error) {
	r := &reader{cfg: cfg, fields: s.fields, where: req.Where, left: -1}
	if req.Limit > 0 {
		r.left = req.Limit
	}
	wanted := s.fields
	if req.Columns == nil {
		for i := range s.fields {
			r.columns = append(r.columns, i)
		}
	} else {
		wanted = nil
		for _, name := range req.Columns {
			i := slices.IndexFunc(s.fields, func(f types.Field) bool { return f.Name == name })
			if i < 0 {
				return nil, tarnerr.New(tarnerr.Invalid, "projecting columns", "no such column", "column", name).
					WithHint("The system table has the columns %v.", names(s.fields))
			}
			r.columns, wanted = append(r.columns, i), append(wanted, s.fields[i])
		}
	}
	var err error
	if r.full, err = types.ArrowSchema(s.fields); err != nil {
		return nil, err
	}
	if r.schema, err = types.ArrowSchema(wanted); err != nil {
		return nil, err
	}
	r.next, r.stop = iter.Pull2(s.rows(ctx, cfg, req))
	return r, nil
}

func names(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

func (r *reader) Schema() *arrow.Schema { return r.schema }

func (r *reader) Next(context.Context) (arrow.RecordBatch, error) {
	r.drop()
	if r.closed {
		return nil, tarnerr.New(tarnerr.Closed, "reading system table", "reader is closed")
	}
	for r.left != 0 {
		rec, err := r.build()
		if err != nil {
			return nil, err
		}
		out, err := r.finish(rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
		if out != nil {
			r.out = out
			return out, nil
		}
	}
	return nil, io.EOF
}

// build makes a batch of the next rows, io.EOF when there are none.
func (r *reader) build() (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(r.cfg.Mem, r.full)
	defer b.Release()
	n := 0
	for ; n < batchRows; n++ {
		row, err, ok := r.next()
		if !ok {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, f := range r.fields {
			if err := types.AppendValue(b.Field(i), f.Type, row[i]); err != nil {
				return nil, tarnerr.Trace("reading system table", err, "column", f.Name)
			}
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	return b.NewRecordBatch(), nil
}

// finish filters, projects and cuts a batch; nil when nothing of it is left.
func (r *reader) finish(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	kept := rec
	if r.where != nil {
		var err error
		if r.mask, err = r.where.Mask(rec, r.mask); err != nil {
			return nil, tarnerr.Trace("filtering system table", err)
		}
		if kept, err = batch.Filter(r.cfg.Mem, rec, r.mask); err != nil || kept == nil {
			return nil, err
		}
	} else {
		kept.Retain()
	}
	defer kept.Release()
	n := kept.NumRows()
	if r.left > 0 {
		n = min(n, r.left)
		r.left -= n
	}
	part := batch.Slice(kept, 0, n)
	defer part.Release()
	return batch.Select(r.schema, part, r.columns), nil
}

func (r *reader) drop() {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
}

func (r *reader) Close() error {
	r.drop()
	r.closed = true
	r.stop()
	return nil
}
