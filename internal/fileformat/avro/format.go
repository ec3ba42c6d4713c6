package avro

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// New is the Avro format. It keeps the schemas of the files it has opened, of
// which the files of a table share a few.
func New() fileformat.Format { return &format{ocf.NewCache()} }

type format struct{ schemas *ocf.Cache }

func (*format) Name() string { return "avro" }

// Open implements [fileformat.Format].
func (f *format) Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (fileformat.File, error) {
	file, err := openFile(ctx, fio, path, size, mem, f.schemas)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// NewWriter implements [fileformat.Format].
func (*format) NewWriter(w fileio.Writer, fields []types.Field, opts fileformat.WriteOptions) (fileformat.Writer, error) {
	out, err := NewWriter(w, fields, opts)
	if err != nil {
		if e := w.Abort(); e != nil {
			err = tarnerr.Trace("writing data file", e)
		}
		return nil, err
	}
	return out, nil
}
