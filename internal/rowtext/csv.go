package rowtext

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// ReadCSV reads comma-separated values of fields (RFC 4180). With a header the
// columns may come in any order, types.KindColumn among them, and those not
// named are null; without one a line has all columns in table order. A cell that
// is opts.Null is null unless it stands in quotes and its column takes strings,
// or VARIANTs and it is JSON.
func ReadCSV(r io.Reader, fields []types.Field, opts ReadOptions) (Reader, error) {
	text := &csvInput{r: r}
	c := &csvRows{text: text, in: csv.NewReader(text), fields: fields, null: opts.Null}
	if d := opts.Delimiter; d != 0 {
		if d == '"' || d == '\r' || d == '\n' || d == utf8.RuneError || !utf8.ValidRune(d) {
			return nil, tarnerr.New(tarnerr.Invalid, "reading CSV", "no such delimiter", "delimiter", strconv.QuoteRune(d)).
				WithHint("It is one character, neither a quote nor a line end.")
		}
		c.in.Comma = d
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
	text   *csvInput
	in     *csv.Reader
	fields []types.Field
	null   string
	target []int  // field each column goes to, or kindTarget
	record []byte // text of the row at hand
	line   int    // its first line
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
			return tarnerr.New(tarnerr.Invalid, "reading CSV header", "the table has no such column", "line", 1, "column", strconv.Quote(name)).
				WithHint("Rename the column in the file, or give --header=false when the first line is data.")
		}
		if slices.Contains(c.target, at) {
			return tarnerr.New(tarnerr.Invalid, "reading CSV header", "column named twice", "line", 1, "column", strconv.Quote(name))
		}
		c.target = append(c.target, at)
	}
	return nil
}

func (c *csvRows) next() (row, string, error) {
	start := c.in.InputOffset()
	c.text.forget(start)
	cells, err := c.in.Read()
	var syntax *csv.ParseError
	switch {
	case err == io.EOF:
		return row{}, "", io.EOF
	case errors.As(err, &syntax):
		text := c.text.record(start, c.in.InputOffset())
		if syntax.StartLine != syntax.Line && errors.Is(syntax.Err, csv.ErrQuote) {
			// It took all that follows for one cell, good rows among it.
			return row{}, "", tarnerr.Wrap(tarnerr.Invalid, "reading rows", &RowError{Line: syntax.StartLine, Value: string(text), Reason: "a quote that is not closed properly"})
		}
		return row{}, string(text), &RowError{Line: syntax.Line, Value: string(text), Reason: syntax.Err.Error()}
	case err != nil:
		return row{}, "", tarnerr.Wrap(tarnerr.Unavailable, "reading rows", err)
	}
	c.record = c.text.record(start, c.in.InputOffset())
	c.line, _ = c.in.FieldPos(0)
	out, bad := c.parse(cells)
	out.line = c.line
	if bad != nil {
		bad.Line = c.line
		return row{}, string(c.record), bad
	}
	return out, "", nil
}

// quoted reports that cell i of the row at hand stands in quotes.
func (c *csvRows) quoted(i int) bool {
	line, column := c.in.FieldPos(i)
	return quotedAt(c.record, line-c.line, column-1)
}

func (c *csvRows) parse(cells []string) (row, *RowError) {
	if len(cells) != len(c.target) {
		return row{}, &RowError{Reason: "wrong number of columns: " + strconv.Itoa(len(cells)) + " instead of " + strconv.Itoa(len(c.target))}
	}
	out := row{cells: make([]any, len(c.fields))}
	for i, text := range cells {
		if !utf8.ValidString(text) {
			return row{}, &RowError{Column: c.name(i), Value: text, Reason: "not UTF-8"}
		}
		if c.target[i] == kindTarget {
			kind, err := types.ParseRowKind(text)
			if err != nil {
				return row{}, &RowError{Column: types.KindColumn, Value: text, Reason: "not a row kind (+I, -U, +U, -D)"}
			}
			out.kind = kind
			continue
		}
		f := c.fields[c.target[i]]
		if text == c.null && !(c.mayQuote(f.Type, text) && c.quoted(i)) {
			continue
		}
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

// mayQuote reports that a cell which reads like null may be a value, in quotes.
func (c *csvRows) mayQuote(t types.Type, text string) bool {
	return t.IsString() || t.Root == types.Variant && json.Valid([]byte(text))
}

func (c *csvRows) name(i int) string {
	if c.target[i] == kindTarget {
		return types.KindColumn
	}
	return c.fields[c.target[i]].Name
}

func parseText(t types.Type, text string) (any, *cellError) {
	if !t.IsNested() || t.Root == types.Variant {
		return parseScalar(t, text)
	}
	v, err := decodeJSON([]byte(text))
	if err != nil {
		return nil, misfit(text, "not JSON: %v", err)
	}
	return parseJSON(t, v)
}
