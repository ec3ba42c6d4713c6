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

// fit turns the columns of a foreign file into those of the table, by name. A
// column of another type is converted value by value through its text, so that a
// value which does not fit is an error and never a changed value.
func fit(src batch.Reader, have, want []types.Field) (batch.Reader, error) {
	f := &fitting{src: src}
	for i, h := range have {
		if h.Name == types.KindColumn {
			if h.Type.Root != types.TinyInt {
				return nil, tarnerr.New(tarnerr.Invalid, "reading columns", "row kinds must be 8-bit integers", "column", h.Name, "type", h.Type)
			}
			f.cols = append(f.cols, fitted{at: i, from: h, to: h})
			continue
		}
		w := slices.IndexFunc(want, func(f types.Field) bool { return f.Name == h.Name })
		if w < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "reading columns", "the table has no such column", "column", h.Name)
		}
		to := want[w]
		same := h.Type.EqualIgnoringNull(to.Type) || h.Type.IsString() && to.Type.IsString() || h.Type.IsBytes() && to.Type.IsBytes()
		if !same && (h.Type.IsNested() || to.Type.IsNested()) {
			a, errA := types.ArrowType(h.Type)
			b, errB := types.ArrowType(to.Type)
			if errA != nil || errB != nil || !arrow.TypeEqual(a, b) {
				return nil, tarnerr.New(tarnerr.Unsupported, "reading columns", "conversion between nested types",
					"column", h.Name, "file", h.Type, "table", to.Type)
			}
			same = true
		}
		f.cols = append(f.cols, fitted{at: i, from: h, to: to, convert: !same})
	}
	fields := make([]arrow.Field, len(f.cols))
	for i, c := range f.cols {
		af, err := types.ArrowField(c.to)
		if err != nil {
			return nil, err
		}
		if !c.convert {
			af.Type = src.Schema().Field(c.at).Type
		}
		af.Nullable = true // the write checks nulls
		fields[i] = af
	}
	f.schema = arrow.NewSchema(fields, nil)
	return f, nil
}

type fitted struct {
	at       int // column of the source
	from, to types.Field
	convert  bool
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
		if c.convert {
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
		text := types.FormatValue(c.from.Type, types.ValueAt(c.from.Type, col, i))
		v, err := types.ParseValue(c.to.Type, text)
		if err == nil {
			err = types.AppendValue(b, c.to.Type, v)
		}
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Invalid, "reading columns", err, "row", f.rows+int64(i)+1, "column", c.to.Name,
				"value", text, "type", c.to.Type)
		}
	}
	return b.NewArray(), nil
}

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
