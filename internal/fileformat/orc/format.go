package orc

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// New is the ORC format.
func New() fileformat.Format { return format{} }

type format struct{}

func (format) Name() string { return "orc" }

func (format) Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (fileformat.File, error) {
	f, err := Open(ctx, fio, path, size, mem)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NewWriter implements [fileformat.Format]: it refuses.
func (format) NewWriter(w fileio.Writer, _ []types.Field, _ fileformat.WriteOptions) (fileformat.Writer, error) {
	err := tarnerr.New(tarnerr.Unsupported, "writing data file", "writing ORC files is not supported yet").
		WithHint("Set file.format to parquet.")
	if e := w.Abort(); e != nil {
		return nil, tarnerr.Trace("writing data file", e)
	}
	return nil, err
}
