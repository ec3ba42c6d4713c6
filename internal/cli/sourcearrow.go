package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// openArrow reads an Arrow IPC stream or file. A file is a stream behind its
// magic, so both are read from front to end and may come through a pipe.
func openArrow(in io.Reader, fields []types.Field) (lined, error) {
	messages, err := newArrowMessages(in)
	if err != nil {
		return nil, err
	}
	r, err := ipc.NewReaderFromMessageReader(messages, ipc.WithAllocator(boundedMemory{memory.DefaultAllocator}))
	if err != nil {
		if messages.err != nil {
			return nil, messages.err
		}
		return nil, corruptArrow(err)
	}
	if r.Schema().NumFields() == 0 {
		r.Release()
		return nil, tarnerr.New(tarnerr.Invalid, "reading Arrow stream", "it has no columns").
			WithHint("Write it with columns of the table.")
	}
	messages.views = viewsOf(r.Schema())
	have := make([]types.Field, 0, r.Schema().NumFields())
	for _, f := range r.Schema().Fields() {
		t, err := types.FromArrow(f.Type, f.Nullable)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Unsupported || arrow.IsNested(f.Type.ID()) {
				r.Release()
				return nil, tarnerr.Trace("reading Arrow stream", err, "column", f.Name)
			}
			t = types.Type{} // converted value by value
		} else if own, err := types.ArrowType(t); err == nil && !arrow.IsNested(f.Type.ID()) && !sameArray(own, f.Type) {
			t = types.Type{} // it would be this type, but comes in another array
		}
		have = append(have, types.Field{Name: f.Name, Type: t})
	}
	fitted, err := fit(&arrowReader{r: r, messages: messages}, have, fields)
	if err != nil {
		r.Release()
		return nil, err
	}
	return fitted, nil
}

// sameArray reports that arrays of two types hold the same values for the same
// bytes; the zone of a timestamp is for people only.
func sameArray(a, b arrow.DataType) bool {
	x, okX := a.(*arrow.TimestampType)
	y, okY := b.(*arrow.TimestampType)
	if okX && okY {
		return x.Unit == y.Unit
	}
	return arrow.TypeEqual(a, b)
}

// arrowReader reads an Arrow IPC stream.
type arrowReader struct {
	r        *ipc.Reader
	messages *arrowMessages
	batch    int // of the stream, from 1
	closed   bool
}

func (a *arrowReader) Schema() *arrow.Schema { return a.r.Schema() }

func (a *arrowReader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.batch++
		if !a.r.Next() {
			return nil, a.end(ctx)
		}
		rec := a.r.RecordBatch()
		if err := soundBatch(rec); err != nil {
			return nil, corruptArrow(err, "batch", a.batch)
		}
		if rec.NumRows() > 0 {
			return rec, nil
		}
	}
}

// end says why there is no further batch: io.EOF when the stream is whole.
func (a *arrowReader) end(ctx context.Context) error {
	err := a.messages.err
	if err == nil && a.r.Err() != nil {
		err = corruptArrow(a.r.Err())
	}
	if err != nil {
		return tarnerr.Trace("reading batch", err, "batch", a.batch)
	}
	return a.messages.finish(ctx)
}

func (a *arrowReader) Close() error {
	if !a.closed {
		a.closed = true
		a.r.Release()
	}
	return nil
}

// soundBatch checks that the values of a batch are where its arrays say.
func soundBatch(rec arrow.RecordBatch) (err error) {
	defer func() {
		if p := recover(); p != nil { // arrow-go's own checks take some values
			err = fmt.Errorf("values that are not there: %v", p)
		}
	}()
	for i, col := range rec.Columns() {
		err := array.Validate(col)
		switch {
		case err == nil && int64(col.Len()) != rec.NumRows():
			err = fmt.Errorf("%d values in a batch of %d rows", col.Len(), rec.NumRows())
		case err == nil:
			err = sound(col)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	return nil
}

// sound checks each value. Text counts as bytes: what is not UTF-8 is refused with
// its row, where a table takes it.
func sound(col arrow.Array) error {
	switch a := col.(type) {
	case *array.String:
		return soundAs(arrow.BinaryTypes.Binary, a)
	case *array.LargeString:
		return soundAs(arrow.BinaryTypes.LargeBinary, a)
	case *array.StringView:
		return soundAs(arrow.BinaryTypes.BinaryView, a)
	case *array.Struct:
		for i := range a.NumField() {
			if err := sound(a.Field(i)); err != nil {
				return err
			}
		}
		return nil
	case *array.Dictionary:
		if err := sound(a.Dictionary()); err != nil {
			return err
		}
		for i := range a.Len() {
			if at := a.GetValueIndex(i); a.IsValid(i) && (at < 0 || at >= a.Dictionary().Len()) {
				return fmt.Errorf("word %d of a dictionary of %d", at, a.Dictionary().Len())
			}
		}
		return nil
	case array.ListLike:
		if v, ok := a.(array.Validator); ok {
			if err := v.ValidateFull(); err != nil {
				return err
			}
		}
		return sound(a.ListValues())
	}
	return array.ValidateFull(col)
}

func soundAs(t arrow.DataType, a arrow.Array) error {
	d := a.Data()
	data := array.NewData(t, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
	defer data.Release()
	bytes := array.MakeFromData(data)
	defer bytes.Release()
	return array.ValidateFull(bytes)
}
