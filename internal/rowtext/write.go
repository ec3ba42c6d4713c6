package rowtext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

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
func NewJSONL(w io.Writer, fields []types.Field, kind bool) Writer { return newJSONL(w, fields, kind) }

// NewStream writes the changes of snapshots as canonical JSON lines: first the
// snapshot's number, then the kind, then the columns.
func NewStream(w io.Writer, fields []types.Field) *Stream { return &Stream{newJSONL(w, fields, true)} }

// Stream writes the changes of snapshots. Not safe for concurrent use.
type Stream struct{ *jsonl }

// Begin says which snapshot the batches that follow are of.
func (s *Stream) Begin(snapshot int64) { s.snapshot = snapshot }

func newJSONL(w io.Writer, fields []types.Field, kind bool) *jsonl {
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
	// snapshot stands in front of the kind, 0 = not
	snapshot int64
}

func (j *jsonl) Write(rec arrow.RecordBatch) error {
	cols, err := columns(rec, j.fields, j.kind)
	if err != nil {
		return err
	}
	for i := range int(rec.NumRows()) {
		line := j.line[:0]
		if j.kind {
			line = append(line, '{')
			if j.snapshot > 0 {
				line = append(line, `"_snapshot":`...)
				line = append(strconv.AppendInt(line, j.snapshot, 10), ',')
			}
			line = append(line, `"_kind":"`...)
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
			return outErr(err)
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
// values are written as. A value that would read as null is put in quotes.
func NewCSV(w io.Writer, fields []types.Field, kind bool, delimiter rune, null string) Writer {
	if delimiter == 0 {
		delimiter = ','
	}
	return &csvWriter{w: bufio.NewWriterSize(w, 64<<10), comma: delimiter, fields: fields, kind: kind, null: null}
}

type csvWriter struct {
	w      *bufio.Writer
	comma  rune
	fields []types.Field
	kind   bool
	null   string
	header bool // written
	cell   []byte
	line   []byte
}

func (c *csvWriter) writeHeader() error {
	c.header = true
	c.line = c.line[:0]
	if c.kind {
		c.add(types.KindColumn)
	}
	for _, f := range c.fields {
		c.add(f.Name)
	}
	return c.end()
}

// add appends a cell to the line, in quotes where it needs them.
func (c *csvWriter) add(cell string) {
	if cell == c.null || strings.ContainsAny(cell, "\"\r\n") || strings.ContainsRune(cell, c.comma) ||
		strings.HasPrefix(cell, " ") || strings.HasPrefix(cell, "\t") {
		c.line = append(c.line, '"')
		c.line = append(c.line, strings.ReplaceAll(cell, `"`, `""`)...)
		cell = `"`
	}
	c.line = append(c.line, cell...)
	c.line = utf8.AppendRune(c.line, c.comma)
}

// end writes the line.
func (c *csvWriter) end() error {
	if n := len(c.line); n > 0 {
		c.line = c.line[:n-utf8.RuneLen(c.comma)]
	}
	_, err := c.w.Write(append(c.line, '\n'))
	return outErr(err)
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
	for i := range int(rec.NumRows()) {
		c.line = c.line[:0]
		if c.kind {
			c.add(kindAt(rec, i))
		}
		for j, col := range cols {
			if col.IsNull(i) {
				c.line = utf8.AppendRune(append(c.line, c.null...), c.comma)
				continue
			}
			text, err := c.text(c.fields[j].Type, col, i)
			if err != nil {
				return err
			}
			c.add(text)
		}
		if err := c.end(); err != nil {
			return err
		}
	}
	return nil
}

// text is a cell in canonical form without the quotes of JSON strings.
func (c *csvWriter) text(t types.Type, col arrow.Array, i int) (string, error) {
	if s, ok := col.(*array.String); ok {
		return s.Value(i), nil
	}
	if a, ok := col.(*array.Struct); ok && t.Root == types.Variant {
		cell, err := variantText(c.cell[:0], a, i)
		c.cell = cell
		return string(cell), err
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
	return outErr(c.w.Flush())
}

func outErr(err error) error {
	if err == nil {
		return nil
	}
	var known *tarnerr.Error
	if errors.As(err, &known) {
		return tarnerr.Trace("writing rows", err)
	}
	return tarnerr.Wrap(tarnerr.Unavailable, "writing rows", err)
}
