package flink

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/types"
)

// Result is what a statement returned.
type Result struct {
	Columns []string
	Rows    []Row // in the order in which they came
}

// Row is a row of a result.
type Row struct {
	Kind   string            `json:"kind"`   // INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE
	Values []json.RawMessage `json:"fields"` // as the gateway writes them
}

// Texts are the rows' values as JSON text, columns apart by commas.
func (r *Result) Texts() []string {
	out := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		values := make([]string, len(row.Values))
		for j, v := range row.Values {
			values[j] = string(v)
		}
		out[i] = strings.Join(values, ",")
	}
	return out
}

// Lines are the rows as canonical lines in their order. The result must have the
// columns that fields name; their types say how the gateway spells the values.
func (r *Result) Lines(fields []types.Field) ([]string, error) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	if !slices.Equal(names, r.Columns) {
		return nil, fmt.Errorf("reading rows of Flink: columns %q, want %q", r.Columns, names)
	}
	var text bytes.Buffer
	for _, row := range r.Rows {
		if len(row.Values) != len(fields) {
			return nil, fmt.Errorf("reading rows of Flink: %d values for %d columns", len(row.Values), len(fields))
		}
		for i, f := range fields {
			text.WriteByte("{,"[min(i, 1)])
			text.Write(types.AppendJSONString(nil, f.Name))
			text.WriteByte(':')
			v, err := respell(f.Type, row.Values[i])
			if err != nil {
				return nil, fmt.Errorf("reading rows of Flink: column %s: %w. value=%s", f.Name, err, row.Values[i])
			}
			text.Write(v)
		}
		text.WriteString("}\n")
	}
	return canonical(&text, fields)
}

// canonical reads lines and writes them in the one spelling that each value has.
func canonical(lines io.Reader, fields []types.Field) ([]string, error) {
	in, err := rowtext.ReadJSONL(lines, fields, rowtext.ReadOptions{})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var text strings.Builder
	out := rowtext.NewJSONL(&text, fields, false)
	for {
		rec, err := in.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := out.Write(rec); err != nil {
			return nil, err
		}
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(text.String()) {
		all = append(all, strings.TrimSuffix(line, "\n"))
	}
	return all, nil
}

var null = json.RawMessage("null")

// respell turns a value as Flink's JSON format spells it into one of rowtext: bytes
// are hexadecimal there, not base64, and maps lists of pairs.
func respell(t types.Type, v json.RawMessage) (json.RawMessage, error) {
	if bytes.Equal(v, null) {
		return v, nil
	}
	switch t.Root {
	case types.Binary, types.VarBinary:
		var b []byte
		var text string
		err := json.Unmarshal(v, &text)
		if err == nil {
			b, err = base64.StdEncoding.DecodeString(text)
		}
		return json.RawMessage(`"hex:` + hex.EncodeToString(b) + `"`), err
	case types.Array:
		var list []json.RawMessage
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = respell(*t.Element, list[i]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	case types.Row:
		var object map[string]json.RawMessage
		if err := json.Unmarshal(v, &object); err != nil {
			return nil, err
		}
		for _, f := range t.Fields {
			var err error
			if object[f.Name], err = respell(f.Type, object[f.Name]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(object)
	case types.Map, types.Multiset:
		return respellMap(t, v)
	}
	return v, nil
}

func respellMap(t types.Type, v json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(v, &object); err != nil {
		return nil, err
	}
	element := types.Type{Root: types.Int}
	if t.Root == types.Map {
		element = *t.Element
	}
	pairs := [][]any{}
	for key, value := range object {
		value, err := respell(element, value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, []any{key, value})
	}
	return json.Marshal(pairs)
}
