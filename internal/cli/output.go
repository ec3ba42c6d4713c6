package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gotable "github.com/jedib0t/go-pretty/v6/table"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// output prints batches in one of the formats of -o.
type output interface {
	Write(rec arrow.RecordBatch) error
	Close() error
}

func newOutput(format string, w io.Writer, fields []types.Field, kind bool, null string) (output, error) {
	switch format {
	case "table":
		return &tableOutput{w: w, fields: fields, kind: kind}, nil
	case "jsonl":
		return textOutput{rowtext.NewJSONL(w, fields, kind)}, nil
	case "csv":
		return textOutput{rowtext.NewCSV(w, fields, kind, ',', null)}, nil
	case "arrow":
		s, err := types.ArrowSchema(withKind(fields, kind))
		if err != nil {
			return nil, err
		}
		return &arrowOutput{out: w, empty: s}, nil
	case "parquet":
		f, err := formats.ByName("parquet")
		if err != nil {
			return nil, err
		}
		pw, err := f.NewWriter(stream{w}, withKind(fields, kind), fileformat.WriteOptions{Mem: memory.DefaultAllocator})
		if err != nil {
			return nil, err
		}
		return parquetOutput{pw}, nil
	}
	return nil, noFormat(format)
}

func noFormat(format string) error {
	return tarnerr.New(tarnerr.Invalid, "reading command line", "no such output format", "output", format).
		WithHint("Formats are table, jsonl, csv, parquet and arrow.")
}

// withKind puts the column of row kinds in front.
func withKind(fields []types.Field, kind bool) []types.Field {
	if !kind {
		return fields
	}
	k := types.Field{ID: types.RowKindID, Name: types.KindColumn, Type: types.Type{Root: types.TinyInt}}
	return append([]types.Field{k}, fields...)
}

type textOutput struct{ rowtext.Writer }

func (o textOutput) Close() error { return o.Flush() }

// arrowOutput writes an IPC stream with the schema of the batches themselves, or
// of no rows when there are none.
type arrowOutput struct {
	out   io.Writer
	empty *arrow.Schema
	w     *ipc.Writer
}

func (o *arrowOutput) Write(rec arrow.RecordBatch) error {
	if o.w == nil {
		o.w = ipc.NewWriter(o.out, ipc.WithSchema(rec.Schema()))
	}
	return outErr(o.w.Write(rec))
}

func (o *arrowOutput) Close() error {
	if o.w == nil {
		o.w = ipc.NewWriter(o.out, ipc.WithSchema(o.empty))
	}
	return outErr(o.w.Close())
}

type parquetOutput struct{ w fileformat.Writer }

func (o parquetOutput) Write(rec arrow.RecordBatch) error {
	return o.w.Write(context.Background(), rec)
}

func (o parquetOutput) Close() error {
	_, err := o.w.Close(context.Background())
	return err
}

// stream is a fileio.Writer over a pipe or file that somebody else closes.
type stream struct{ io.Writer }

func (stream) Close() error { return nil }
func (stream) Abort() error { return nil }

func outErr(err error) error {
	if err == nil {
		return nil
	}
	var known *tarnerr.Error
	if errors.As(err, &known) {
		return tarnerr.Trace("writing output", err)
	}
	return tarnerr.Wrap(tarnerr.Unavailable, "writing output", err)
}

// pageRows is how many rows are laid out together, so that a big table is
// printed page by page instead of being held in memory.
const pageRows = 1000

// tableOutput draws tables for people, in pages of pageRows with the header repeated.
type tableOutput struct {
	w      io.Writer
	fields []types.Field
	kind   bool
	page   [][]string
	drawn  bool
}

func (o *tableOutput) header() gotable.Row {
	var h gotable.Row
	for _, f := range withKind(o.fields, o.kind) {
		h = append(h, f.Name)
	}
	return h
}

func (o *tableOutput) Write(rec arrow.RecordBatch) error {
	// A CSV of the batch gives each cell in its canonical form.
	var text bytes.Buffer
	c := rowtext.NewCSV(&text, o.fields, o.kind, ',', "null")
	if err := c.Write(rec); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		return tarnerr.Wrap(tarnerr.Internal, "laying out rows", err)
	}
	for _, r := range rows[1:] {
		o.page = append(o.page, r)
		if len(o.page) == pageRows {
			if err := o.draw(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *tableOutput) draw() error {
	t := gotable.NewWriter()
	t.SetStyle(gotable.StyleLight)
	t.Style().Format.Header = 0 // names as they are
	t.AppendHeader(o.header())
	for _, r := range o.page {
		row := make(gotable.Row, len(r))
		for i, c := range r {
			row[i] = c
		}
		t.AppendRow(row)
	}
	o.page, o.drawn = o.page[:0], true
	_, err := io.WriteString(o.w, t.Render()+"\n")
	return outErr(err)
}

func (o *tableOutput) Close() error {
	if len(o.page) > 0 || !o.drawn {
		return o.draw()
	}
	return nil
}
