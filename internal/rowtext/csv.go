package rowtext

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// ReadCSV reads comma-separated values of fields (RFC 4180). With a header the
// columns may come in any order, types.KindColumn among them, and those not
// named are null; without one a line has all columns in table order.
func ReadCSV(r io.Reader, fields []types.Field, opts ReadOptions) (batch.Reader, error) {
	c := &csvRows{in: csv.NewReader(r), fields: fields, null: opts.Null}
	if opts.Delimiter != 0 {
		c.in.Comma = opts.Delimiter
	}
	c.in.ReuseRecord = true
	c.in.FieldsPerRecord = -1
	if opts.Header {
		if err := c.readHeader(); err != nil {
			return nil, err
		}
	} else {
		for i := range fields {
			c.target = append(c.target, i)
		}
	}
	return newReader(c, fields, opts)
}

// kindTarget marks the column of row kinds among the targets.
const kindTarget = -1

type csvRows struct {
	in     *csv.Reader
	fields []types.Field
	null   string
	target []int // field each column goes to, or kindTarget
}

func (c *csvRows) hasKind() bool { return slices.Contains(c.target, kindTarget) }

func (c *csvRows) readHeader() error {
	names, err := c.in.Read()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return tarnerr.Wrap(tarnerr.Invalid, "reading CSV header", err)
	}
	for i, name := range names {
		name = strings.TrimSpace(name)
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff")
		}
		at := slices.IndexFunc(c.fields, func(f types.Field) bool { return f.Name == name })
		if name == types.KindColumn {
			at = kindTarget
		} else if at < 0 {
			return tarnerr.New(tarnerr.Invalid, "reading CSV header", "the table has no such column", "line", 1, "column", name).
				WithHint("Rename the column in the file, or give --header=false when the first line is data.")
		}
		if slices.Contains(c.target, at) {
			return tarnerr.New(tarnerr.Invalid, "reading CSV header", "column named twice", "line", 1, "column", name)
		}
		c.target = append(c.target, at)
	}
	return nil
}

func (c *csvRows) next() (row, string, error) {
	cells, err := c.in.Read()
	var syntax *csv.ParseError
	switch {
	case err == io.EOF:
		return row{}, "", io.EOF
	case errors.As(err, &syntax):
		return row{}, strings.Join(cells, string(c.in.Comma)), &RowError{Line: syntax.Line, Reason: syntax.Err.Error()}
	case err != nil:
		return row{}, "", tarnerr.Wrap(tarnerr.Unavailable, "reading rows", err)
	}
	line, _ := c.in.FieldPos(0)
	out, bad := c.parse(cells)
	if bad != nil {
		bad.Line = line
		return row{}, c.join(cells), bad
	}
	return out, "", nil
}

// join writes a rejected row as CSV again, for the reject file.
func (c *csvRows) join(cells []string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = c.in.Comma
	_ = w.Write(cells) // a bytes.Buffer takes all
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *csvRows) parse(cells []string) (row, *RowError) {
	if len(cells) != len(c.target) {
		return row{}, &RowError{Reason: "wrong number of columns: " + strconv.Itoa(len(cells)) + " instead of " + strconv.Itoa(len(c.target))}
	}
	out := row{cells: make([]any, len(c.fields))}
	for i, text := range cells {
		if !utf8.ValidString(text) {
			return row{}, &RowError{Column: c.name(i), Value: strconv.QuoteToASCII(text), Reason: "not UTF-8"}
		}
		if c.target[i] == kindTarget {
			kind, err := types.ParseRowKind(text)
			if err != nil {
				return row{}, &RowError{Column: types.KindColumn, Value: text, Reason: "not a row kind (+I, -U, +U, -D)"}
			}
			out.kind = kind
			continue
		}
		if text == c.null {
			continue
		}
		f := c.fields[c.target[i]]
		cell, bad := parseText(f.Type, text)
		if bad != nil {
			return row{}, &RowError{Column: f.Name + bad.path, Value: bad.value, Reason: bad.reason}
		}
		out.cells[c.target[i]] = cell
	}
	for i, f := range c.fields {
		if out.cells[i] == nil && !f.Type.Nullable && f.Default == nil {
			return row{}, &RowError{Column: f.Name, Reason: "null in a " + f.Type.String()}
		}
	}
	return out, nil
}

func (c *csvRows) name(i int) string {
	if c.target[i] == kindTarget {
		return types.KindColumn
	}
	return c.fields[c.target[i]].Name
}

func parseText(t types.Type, text string) (any, *cellError) {
	if !t.IsNested() {
		return parseScalar(t, text)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, misfit(text, "not JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, misfit(text, "text after the JSON value")
	}
	return parseJSON(t, v)
}
