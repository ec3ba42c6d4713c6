package parquet

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
)

// New is the Parquet format. What is kept of one file for the next goes with it.
func New() fileformat.Format { return &format{} }

type format struct{ shapes shapes }

func (*format) Name() string { return "parquet" }

// Open implements [fileformat.Format].
func (*format) Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (fileformat.File, error) {
	f, err := Open(ctx, fio, path, size, mem)
	if err != nil {
		return nil, err
	}
	return f, nil
}
