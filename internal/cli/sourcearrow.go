package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fileMagic begins an Arrow IPC file; a stream has none.
var fileMagic = []byte("ARROW1\x00\x00")

// openArrow reads an Arrow IPC stream or file. A file is a stream behind its
// magic, so both are read from front to end and may come through a pipe.
func openArrow(in io.Reader, fields []types.Field) (lined, error) {
	buffered := bufio.NewReaderSize(in, 1<<20)
	if head, err := buffered.Peek(len(fileMagic)); err == nil && bytes.Equal(head, fileMagic) {
		if _, err := buffered.Discard(len(fileMagic)); err != nil {
			return nil, fileErr("reading Arrow file", err)
		}
	}
	r, err := ipc.NewReader(buffered)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Invalid, "reading Arrow stream", err).
			WithHint("Is it an Arrow IPC stream or file?")
	}
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
	fitted, err := fit(&arrowReader{r: r}, have, fields)
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
	r      *ipc.Reader
	closed bool
}

func (a *arrowReader) Schema() *arrow.Schema { return a.r.Schema() }

func (a *arrowReader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !a.r.Next() {
			if err := a.r.Err(); err != nil && err != io.EOF {
				return nil, tarnerr.Wrap(tarnerr.Corrupt, "reading Arrow stream", err)
			}
			return nil, io.EOF
		}
		if rec := a.r.RecordBatch(); rec.NumRows() > 0 {
			return rec, nil
		}
	}
}

func (a *arrowReader) Close() error {
	if !a.closed {
		a.closed = true
		a.r.Release()
	}
	return nil
}
