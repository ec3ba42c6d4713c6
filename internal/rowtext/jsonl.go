package rowtext

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// MaxLine is the longest line of JSON read, in bytes.
const MaxLine = 64 << 20

// ReadJSONL reads JSON lines of fields. The batches start with types.KindColumn
// when the first line has that member. Empty lines are skipped.
func ReadJSONL(r io.Reader, fields []types.Field, opts ReadOptions) (Reader, error) {
	j := &jsonRows{in: bufio.NewScanner(r), fields: fields}
	j.in.Buffer(make([]byte, 0, 64<<10), MaxLine)
	j.advance()
	if j.ahead != nil {
		var head struct {
			Kind *string `json:"_kind"`
		}
		// A first line that is no JSON is reported when it is read.
		if json.Unmarshal(j.ahead, &head) == nil {
			j.kind = head.Kind != nil
		}
	}
	return newReader(j, fields, opts)
}

type jsonRows struct {
	in     *bufio.Scanner
	fields []types.Field
	kind   bool
	ahead  []byte // the line next() will parse, nil at the end
	line   int
}

func (j *jsonRows) hasKind() bool { return j.kind }

func (j *jsonRows) advance() {
	for j.in.Scan() {
		j.line++
		if b := bytes.TrimSpace(j.in.Bytes()); len(b) > 0 {
			j.ahead = b
			return
		}
	}
	j.ahead = nil
}

func (j *jsonRows) next() (row, string, error) {
	if j.ahead == nil {
		switch err := j.in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return row{}, "", tarnerr.New(tarnerr.Invalid, "reading rows", "line too long", "line", j.line+1, "limit", MaxLine)
		case err != nil:
			return row{}, "", tarnerr.Wrap(tarnerr.Unavailable, "reading rows", err, "line", j.line+1)
		}
		return row{}, "", io.EOF
	}
	out, bad := j.parse(j.ahead)
	out.line = j.line
	if bad != nil {
		bad.Line = j.line
		text := string(j.ahead)
		j.advance()
		return row{}, text, bad
	}
	j.advance()
	return out, "", nil
}

func (j *jsonRows) parse(line []byte) (row, *RowError) {
	if !utf8.Valid(line) {
		return row{}, &RowError{Reason: "not UTF-8"}
	}
	v, err := decodeJSON(line)
	if err != nil {
		return row{}, &RowError{Reason: "not a JSON object: " + err.Error()}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return row{}, &RowError{Reason: "not a JSON object"}
	}
	out := row{cells: make([]any, len(j.fields))}
	if k, given := object[types.KindColumn]; given || j.kind {
		if !j.kind {
			return row{}, &RowError{Column: types.KindColumn, Reason: "row kind on some lines only: the first line has none"}
		}
		text, _ := k.(string)
		kind, err := types.ParseRowKind(text)
		if err != nil {
			return row{}, &RowError{Column: types.KindColumn, Value: show(k), Reason: "not a row kind (+I, -U, +U, -D)"}
		}
		out.kind = kind
		delete(object, types.KindColumn)
	}
	for i, f := range j.fields {
		v, given := object[f.Name]
		if given {
			delete(object, f.Name)
		}
		if v == nil && f.Default != nil {
			continue // the write fills the default in
		}
		cell, bad := parseJSON(f.Type, v)
		if bad != nil {
			return row{}, &RowError{Column: f.Name + bad.path, Value: bad.value, Reason: bad.reason}
		}
		out.cells[i] = cell
	}
	for name := range object {
		return row{}, &RowError{Column: name, Reason: "the table has no such column"}
	}
	return out, nil
}
