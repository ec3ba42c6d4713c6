package avro

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// New is the Avro format.
func New() fileformat.Format { return format{} }

type format struct{}

func (format) Name() string { return "avro" }

func (format) Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (fileformat.File, error) {
	f, err := Open(ctx, fio, path, size, mem)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (format) NewWriter(w fileio.Writer, fields []types.Field, opts fileformat.WriteOptions) (fileformat.Writer, error) {
	out, err := NewWriter(w, fields, opts)
	if err != nil {
		if e := w.Abort(); e != nil {
			err = tarnerr.Trace("writing data file", e)
		}
		return nil, err
	}
	return out, nil
}
