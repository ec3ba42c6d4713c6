package rowtext

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// ReadOptions tune reading text.
type ReadOptions struct {
	// BatchRows is the most rows of a batch; 0 means 8192.
	BatchRows int
	// Mem allocates batches; nil means the Go heap.
	Mem memory.Allocator
	// Reject is told of every row that does not fit, with its text, and may end the
	// reading by returning an error. Nil ends it at the first such row.
	Reject func(e *RowError, text string) error

	// The rest is for CSV.
	Delimiter rune   // 0 means a comma
	Null      string // text of a null cell
	Header    bool   // the first line names the columns; else they are in table order
}

// RowError says why a row of text does not fit the table.
type RowError struct {
	Line   int // of the input, from 1
	Column string
	Value  string
	Reason string
}

// Error implements error.
func (e *RowError) Error() string {
	s := fmt.Sprintf("line %d", e.Line)
	if e.Column != "" {
		s += fmt.Sprintf(", column %s", e.Column)
	}
	if e.Value != "" {
		v := e.Value
		if len(v) > 100 {
			v = v[:100] + "…"
		}
		s += fmt.Sprintf(", value %q", v)
	}
	return s + ": " + e.Reason
}

// Reader reads batches of rows from text and knows where they stood.
type Reader interface {
	batch.Reader
	// Line is the line of the input, from 1, on which row i of the last batch began.
	Line(i int) int
}

// row is one parsed row: cells per field (nil = null, nested as below), its kind
// and its first line.
type row struct {
	cells []any
	kind  types.RowKind
	line  int
}

// rows parses one input, row by row.
type rows interface {
	// hasKind reports whether the input carries row kinds; valid from the start.
	hasKind() bool
	// next returns the next row; io.EOF at the end; *RowError with the row's text
	// when it does not fit and the rows after it can still be read.
	next() (row, string, error)
}

type reader struct {
	src    rows
	fields []types.Field
	schema *arrow.Schema
	opts   ReadOptions
	last   arrow.RecordBatch
	lines  []int // of the rows of last
	done   bool
}

func newReader(src rows, fields []types.Field, opts ReadOptions) (Reader, error) {
	s, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	if src.hasKind() {
		kind := arrow.Field{Name: types.KindColumn, Type: arrow.PrimitiveTypes.Int8}
		s = arrow.NewSchema(append([]arrow.Field{kind}, s.Fields()...), nil)
	}
	if opts.BatchRows == 0 {
		opts.BatchRows = 8192
	}
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	return &reader{src: src, fields: fields, schema: s, opts: opts}, nil
}

func (r *reader) Schema() *arrow.Schema { return r.schema }

func (r *reader) Line(i int) int { return r.lines[i] }

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.release()
	if r.done {
		return nil, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(r.opts.Mem, r.schema)
	defer b.Release()
	n := 0
	r.lines = r.lines[:0]
	for n < r.opts.BatchRows {
		row, text, err := r.src.next()
		if err == io.EOF {
			r.done = true
			break
		}
		if bad, ok := err.(*RowError); ok {
			if err := r.reject(bad, text); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.append(b, row); err != nil {
			return nil, err
		}
		r.lines = append(r.lines, row.line)
		n++
	}
	if n == 0 {
		return nil, io.EOF
	}
	r.last = b.NewRecordBatch()
	return r.last, nil
}

func (r *reader) reject(bad *RowError, text string) error {
	if r.opts.Reject != nil {
		return r.opts.Reject(bad, text)
	}
	return tarnerr.Wrap(tarnerr.Invalid, "reading rows", bad)
}

func (r *reader) append(b *array.RecordBuilder, row row) error {
	at := 0
	if r.src.hasKind() {
		b.Field(0).(*array.Int8Builder).Append(int8(row.kind))
		at = 1
	}
	for i, f := range r.fields {
		if err := appendCell(b.Field(at+i), f.Type, row.cells[i]); err != nil {
			return tarnerr.Trace("reading rows", err, "column", f.Name)
		}
	}
	return nil
}

func (r *reader) release() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

func (r *reader) Close() error {
	r.release()
	r.done = true
	return nil
}
