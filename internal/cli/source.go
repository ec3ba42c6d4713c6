package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
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
		var src lined
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
		return r.openParquet(ctx, name, fields)
	}
	return nil, tarnerr.New(tarnerr.Invalid, "opening input", "format not known", "file", name, "format", format).
		WithHint("Give --format csv, jsonl, parquet or arrow.")
}

// lined is a reader that knows on which line or row of its file a row stood.
type lined interface {
	batch.Reader
	Line(i int) int
}

// closing closes the input behind a reader.
type closing struct {
	lined
	in io.Closer
}

func (c *closing) Close() error { return errors.Join(c.lined.Close(), c.in.Close()) }

// input opens a file as a stream, with a progress bar when a person is watching.
func (r *importRun) input(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(r.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fileErr("opening input", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fileErr("opening input", err), f.Close())
	}
	if info.IsDir() {
		return nil, errors.Join(tarnerr.New(tarnerr.Invalid, "opening input", "it is a directory", "file", name), f.Close())
	}
	size := int64(-1)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	bar := r.progress(size, name, progressbar.OptionShowBytes(true))
	if bar == nil {
		return f, nil
	}
	pr := progressbar.NewReader(f, bar)
	return &pr, nil
}

// progress is a progress bar when a person is watching, else nil.
func (r *importRun) progress(size int64, name string, opts ...progressbar.Option) *progressbar.ProgressBar {
	watcher, ok := r.errOut.(*os.File)
	if !ok || !term.IsTerminal(int(watcher.Fd())) {
		return nil
	}
	r.bar = progressbar.NewOptions64(size, append(opts, progressbar.OptionSetWriter(watcher),
		progressbar.OptionSetDescription(filepath.Base(name)),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetSpinnerChangeInterval(0))...) // nobody draws it beside us
	return r.bar
}

// beside is a writer for lines beside the progress bar, which gives them its line
// and is drawn anew below.
func (r *importRun) beside(w io.Writer) io.Writer { return besideBar{r, w} }

type besideBar struct {
	run *importRun
	w   io.Writer
}

func (b besideBar) Write(p []byte) (int, error) {
	if b.run.bar != nil {
		_ = b.run.bar.Clear() // a terminal that cannot be written to harms nothing
	}
	return b.w.Write(p)
}

// counted moves a progress bar by the rows that are read.
type counted struct {
	batch.Reader
	bar *progressbar.ProgressBar
}

func (c *counted) Next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := c.Reader.Next(ctx)
	if err == nil {
		_ = c.bar.Add64(rec.NumRows()) // a bar that cannot be drawn harms nothing
	}
	return rec, err
}

func (c *counted) Close() error {
	_ = c.bar.Finish()
	return c.Reader.Close()
}

func (r *importRun) openParquet(ctx context.Context, name string, fields []types.Field) (batch.Reader, error) {
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
	if bar := r.progress(file.RowCount(), name); bar != nil {
		src = &counted{src, bar}
	}
	fitted, err := fit(src, have, fields)
	if err != nil {
		return nil, errors.Join(err, src.Close(), file.Close())
	}
	return &closing{fitted, file}, nil
}
