package cli

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fit turns the columns of a foreign file into those of the table, by name. have
// names them; a type that has no logical counterpart is types.Invalid there.
// Values of another type are converted one by one: what does not fit is an error
// and never a changed value.
func fit(src batch.Reader, have, want []types.Field) (*fitting, error) {
	f := &fitting{src: src}
	fields := make([]arrow.Field, 0, len(have))
	for i, h := range have {
		c, err := fittedColumn(h, want)
		if err != nil {
			return nil, err
		}
		c.at = i
		at := src.Schema().Field(i).Type
		if c.convert != nil {
			if at, err = types.ArrowType(c.to.Type); err != nil {
				return nil, err
			}
		}
		f.cols = append(f.cols, c)
		fields = append(fields, arrow.Field{Name: c.to.Name, Type: at, Nullable: true}) // the write checks nulls
	}
	f.schema = arrow.NewSchema(fields, nil)
	return f, nil
}

func fittedColumn(h types.Field, want []types.Field) (fitted, error) {
	const op = "reading columns"
	if h.Name == types.KindColumn {
		c := fitted{from: h, to: types.Field{Name: h.Name, Type: types.Type{Root: types.TinyInt}}}
		switch {
		case h.Type.Root == types.TinyInt:
		case h.Type.IsString(), h.Type.Root == types.Invalid:
			c.convert = convertKind
		default:
			return c, tarnerr.New(tarnerr.Invalid, op, "row kinds are 8-bit integers, or +I, -U, +U and -D", "column", h.Name, "type", h.Type)
		}
		return c, nil
	}
	w := slices.IndexFunc(want, func(f types.Field) bool { return f.Name == h.Name })
	if w < 0 {
		return fitted{}, tarnerr.New(tarnerr.Invalid, op, "the table has no such column", "column", h.Name)
	}
	c := fitted{from: h, to: want[w]}
	from, to := h.Type, c.to.Type
	switch {
	case from.EqualIgnoringNull(to), from.IsString() && to.IsString(), from.IsBytes() && to.IsBytes():
	case from.IsNested() || to.IsNested():
		a, errA := types.ArrowType(from)
		b, errB := types.ArrowType(to)
		if errA != nil || errB != nil || !arrow.TypeEqual(a, b) {
			return c, tarnerr.New(tarnerr.Unsupported, op, "conversion between nested types", "column", h.Name, "file", from, "table", to)
		}
	default:
		c.convert = converter(from, to)
	}
	return c, nil
}

type fitted struct {
	at       int // column of the source
	from, to types.Field
	convert  func(f fitted, col arrow.Array, i int) (types.Value, string, error) // nil: taken as it is
}

type fitting struct {
	src    batch.Reader
	schema *arrow.Schema
	cols   []fitted
	last   arrow.RecordBatch
	rows   int64 // before the current batch
}

func (f *fitting) Schema() *arrow.Schema { return f.schema }

func (f *fitting) Next(ctx context.Context) (arrow.RecordBatch, error) {
	f.release()
	rec, err := f.src.Next(ctx)
	if err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, 0, len(f.cols))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, c := range f.cols {
		col := rec.Column(c.at)
		if c.convert != nil {
			if col, err = f.convert(c, col); err != nil {
				return nil, err
			}
		} else {
			col.Retain()
		}
		cols = append(cols, col)
	}
	f.rows += rec.NumRows()
	f.last = array.NewRecordBatch(f.schema, cols, rec.NumRows())
	return f.last, nil
}

func (f *fitting) convert(c fitted, col arrow.Array) (arrow.Array, error) {
	at, err := types.ArrowType(c.to.Type)
	if err != nil {
		return nil, err
	}
	b := array.NewBuilder(memory.DefaultAllocator, at)
	defer b.Release()
	for i := range col.Len() {
		if col.IsNull(i) {
			b.AppendNull()
			continue
		}
		v, text, err := c.convert(c, col, i)
		if err == nil {
			err = types.AppendValue(b, c.to.Type, v)
		}
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Invalid, "reading columns", err, "at", f.rows+int64(i)+1, "column", c.to.Name,
				"value", text, "type", c.to.Type)
		}
	}
	return b.NewArray(), nil
}

// Line is the row of the file, from 1, that row i of the last batch is.
func (f *fitting) Line(i int) int { return int(f.rows-f.last.NumRows()) + i + 1 }

func (f *fitting) release() {
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
}

func (f *fitting) Close() error {
	f.release()
	return f.src.Close()
}
