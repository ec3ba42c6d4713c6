package rowtext

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Writer prints batches as text. Not safe for concurrent use.
type Writer interface {
	// Write prints a batch whose columns are the writer's fields, preceded by
	// types.KindColumn when the writer was made for it.
	Write(rec arrow.RecordBatch) error
	// Flush hands all that was printed to the underlying writer.
	Flush() error
}

// NewJSONL writes canonical JSON lines. With kind, batches carry types.KindColumn first.
func NewJSONL(w io.Writer, fields []types.Field, kind bool) Writer {
	j := &jsonl{w: bufio.NewWriterSize(w, 64<<10), fields: fields, kind: kind}
	for i, f := range fields {
		key := []byte{','}
		if i == 0 && !kind {
			key[0] = '{'
		}
		j.keys = append(j.keys, append(appendString(key, f.Name), ':'))
	}
	return j
}

type jsonl struct {
	w      *bufio.Writer
	fields []types.Field
	kind   bool
	keys   [][]byte // `,"name":` of each column
	line   []byte
}

func (j *jsonl) Write(rec arrow.RecordBatch) error {
	cols, err := columns(rec, j.fields, j.kind)
	if err != nil {
		return err
	}
	for i := range int(rec.NumRows()) {
		line := j.line[:0]
		if j.kind {
			line = append(line, `{"_kind":"`...)
			line = append(line, kindAt(rec, i)...)
			line = append(line, '"')
		} else if len(cols) == 0 {
			line = append(line, '{')
		}
		for c, col := range cols {
			line = append(line, j.keys[c]...)
			if line, err = appendJSON(line, j.fields[c].Type, col, i); err != nil {
				return err
			}
		}
		line = append(line, '}', '\n')
		j.line = line
		if _, err := j.w.Write(line); err != nil {
			return tarnerr.Wrap(tarnerr.Unavailable, "writing rows", err)
		}
	}
	return nil
}

func (j *jsonl) Flush() error { return outErr(j.w.Flush()) }

// columns returns the columns of rec that are not the kind.
func columns(rec arrow.RecordBatch, fields []types.Field, kind bool) ([]arrow.Array, error) {
	cols := rec.Columns()
	if kind && len(cols) > 0 {
		if _, ok := cols[0].(*array.Int8); !ok || rec.ColumnName(0) != types.KindColumn {
			return nil, tarnerr.New(tarnerr.Internal, "writing rows", "batch does not start with row kinds")
		}
		cols = cols[1:]
	}
	if len(cols) != len(fields) {
		return nil, tarnerr.New(tarnerr.Internal, "writing rows", "batch does not have the writer's columns",
			"columns", len(cols), "want", len(fields))
	}
	return cols, nil
}

func kindAt(rec arrow.RecordBatch, i int) string {
	return types.RowKind(rec.Column(0).(*array.Int8).Value(i)).String()
}

// NewCSV writes comma-separated values with a header line; null is what null
// values are written as.
func NewCSV(w io.Writer, fields []types.Field, kind bool, delimiter rune, null string) Writer {
	c := &csvWriter{w: csv.NewWriter(w), fields: fields, kind: kind, null: null}
	if delimiter != 0 {
		c.w.Comma = delimiter
	}
	return c
}

type csvWriter struct {
	w      *csv.Writer
	fields []types.Field
	kind   bool
	null   string
	header bool // written
	cell   []byte
}

func (c *csvWriter) writeHeader() error {
	c.header = true
	var row []string
	if c.kind {
		row = append(row, types.KindColumn)
	}
	for _, f := range c.fields {
		row = append(row, f.Name)
	}
	return outErr(c.w.Write(row))
}

func (c *csvWriter) Write(rec arrow.RecordBatch) error {
	cols, err := columns(rec, c.fields, c.kind)
	if err != nil {
		return err
	}
	if !c.header {
		if err := c.writeHeader(); err != nil {
			return err
		}
	}
	row := make([]string, 0, len(cols)+1)
	for i := range int(rec.NumRows()) {
		row = row[:0]
		if c.kind {
			row = append(row, kindAt(rec, i))
		}
		for j, col := range cols {
			text, err := c.text(c.fields[j].Type, col, i)
			if err != nil {
				return err
			}
			row = append(row, text)
		}
		if err := outErr(c.w.Write(row)); err != nil {
			return err
		}
	}
	return nil
}

// text is a cell in canonical form without the quotes of JSON strings.
func (c *csvWriter) text(t types.Type, col arrow.Array, i int) (string, error) {
	if col.IsNull(i) {
		return c.null, nil
	}
	if s, ok := col.(*array.String); ok {
		return s.Value(i), nil
	}
	cell, err := appendJSON(c.cell[:0], t, col, i)
	if err != nil {
		return "", err
	}
	c.cell = cell
	if !t.IsNested() {
		cell = bytes.Trim(cell, `"`)
	}
	return string(cell), nil
}

func (c *csvWriter) Flush() error {
	if !c.header {
		if err := c.writeHeader(); err != nil {
			return err
		}
	}
	c.w.Flush()
	return outErr(c.w.Error())
}

func outErr(err error) error {
	if err == nil {
		return nil
	}
	return tarnerr.Wrap(tarnerr.Unavailable, "writing rows", err)
}
