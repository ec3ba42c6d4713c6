package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// open opens an input file, "-" being standard input.
func (r *importRun) open(ctx context.Context, name string) (batch.Reader, error) {
	format := r.flags.format
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(name), ".")
		switch format {
		case "json", "ndjson":
			format = "jsonl"
		case "arrows", "ipc":
			format = "arrow"
		}
	}
	fields := r.table.Schema().Fields
	switch format {
	case "csv", "jsonl", "arrow":
		in, err := r.input(name)
		if err != nil {
			return nil, err
		}
		var src batch.Reader
		switch format {
		case "csv":
			src, err = rowtext.ReadCSV(in, fields, r.flags.text)
		case "jsonl":
			src, err = rowtext.ReadJSONL(in, fields, r.flags.text)
		default:
			src, err = openArrow(in, fields)
		}
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return &closing{src, in}, nil
	case "parquet":
		return openParquet(ctx, name, fields)
	}
	return nil, tarnerr.New(tarnerr.Invalid, "opening input", "format not known", "file", name, "format", format).
		WithHint("Give --format csv, jsonl, parquet or arrow.")
}

// closing closes the input behind a reader.
type closing struct {
	batch.Reader
	in io.Closer
}

func (c *closing) Close() error { return errors.Join(c.Reader.Close(), c.in.Close()) }

// input opens a file as a stream, with a progress bar when a person is watching.
func (r *importRun) input(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(r.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.NotFound, "opening input", err)
	}
	watcher, ok := r.errOut.(*os.File)
	if !ok || !term.IsTerminal(int(watcher.Fd())) {
		return f, nil
	}
	size := int64(-1)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(watcher), progressbar.OptionSetDescription(name),
		progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish())
	pr := progressbar.NewReader(f, bar)
	return &pr, nil
}

func openParquet(ctx context.Context, name string, fields []types.Field) (batch.Reader, error) {
	if name == "-" {
		return nil, tarnerr.New(tarnerr.Invalid, "opening input", "Parquet cannot be read from standard input").
			WithHint("Save it to a file first: its footer is at the end.")
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Invalid, "opening input", err)
	}
	path = filepath.ToSlash(path)
	format, err := formats.ByName("parquet")
	if err != nil {
		return nil, err
	}
	fio := local.New(local.Options{})
	info, err := fio.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := format.Open(ctx, fio, path, info.Size, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	// Ids in a foreign file mean nothing here: ask for its own fields, by its own ids.
	have := file.Fields()
	src, err := file.Read(ctx, fileformat.ReadRequest{Columns: have})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	fitted, err := fit(src, have, fields)
	if err != nil {
		return nil, errors.Join(err, src.Close(), file.Close())
	}
	return &closing{fitted, file}, nil
}

func openArrow(in io.Reader, fields []types.Field) (batch.Reader, error) {
	r, err := ipc.NewReader(in)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Invalid, "reading Arrow stream", err)
	}
	var have []types.Field
	for _, f := range r.Schema().Fields() {
		t, err := types.FromArrow(f.Type, f.Nullable)
		if err != nil {
			r.Release()
			return nil, tarnerr.Trace("reading Arrow stream", err, "column", f.Name)
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
