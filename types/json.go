package types

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
)

// AppendJSON appends the type in the compact JSON form of schema files:
// a string for atomic types, an object for ARRAY, MAP, MULTISET, VECTOR and ROW.
func (t Type) AppendJSON(dst []byte) []byte {
	name := t.Root.String()
	if !t.Nullable {
		name += " NOT NULL"
	}
	open := func(dst []byte) []byte { return append(AppendJSONString(append(dst, `{"type":`...), name), ',') }
	switch t.Root {
	case Array, Multiset:
		dst = append(open(dst), `"element":`...)
		return append(t.Element.orInvalid().AppendJSON(dst), '}')
	case Map:
		dst = append(open(dst), `"key":`...)
		dst = append(t.Key.orInvalid().AppendJSON(dst), `,"value":`...)
		return append(t.Element.orInvalid().AppendJSON(dst), '}')
	case Vector:
		dst = append(open(dst), `"element":`...)
		dst = append(t.Element.orInvalid().AppendJSON(dst), `,"length":`...)
		return append(strconv.AppendInt(dst, int64(t.Length), 10), '}')
	case Row:
		dst = append(open(dst), `"fields":[`...)
		for i, f := range t.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.AppendJSON(dst)
		}
		return append(dst, ']', '}')
	}
	return AppendJSONString(dst, t.String())
}

// AppendJSON appends the field as schema files hold it: id, name, type, and
// description and defaultValue when there.
func (f Field) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), int64(f.ID), 10)
	dst = AppendJSONString(append(dst, `,"name":`...), f.Name)
	dst = f.Type.AppendJSON(append(dst, `,"type":`...))
	if f.Description != nil {
		dst = AppendJSONString(append(dst, `,"description":`...), *f.Description)
	}
	if f.Default != nil {
		dst = AppendJSONString(append(dst, `,"defaultValue":`...), *f.Default)
	}
	return append(dst, '}')
}

// AppendJSONString appends s quoted as Jackson does: only quote, backslash and
// control characters are escaped. Invalid UTF-8 becomes U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < 0x20 {
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}

// MarshalJSON implements json.Marshaler with [Type.AppendJSON].
func (t Type) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler with [Field.AppendJSON].
func (f Field) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// UnmarshalJSON reads the form of schema files. Members of ROWs without ids
// get 0, 1, …; having some with and some without is an error.
func (t *Type) UnmarshalJSON(data []byte) error {
	d := typeDecoder{next: -1, assign: true}
	out, err := d.decode(data, 0)
	if err != nil {
		return err
	}
	*t = out
	return nil
}

// UnmarshalJSON reads a field of a schema file; its id must be there.
func (f *Field) UnmarshalJSON(data []byte) error {
	d := typeDecoder{next: -1}
	out, err := d.field(data, 0)
	if err != nil {
		return err
	}
	*f = out
	return nil
}

type typeDecoder struct {
	assign bool // ids may be missing
	next   int  // last id assigned
	given  bool // an id was given
}

func badJSON(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading type from JSON", cause, kv...)
}

func (d *typeDecoder) decode(data []byte, depth int) (Type, error) {
	if depth > maxDepth {
		return Type{}, badJSON("nested too deeply")
	}
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return Type{}, badJSON(err.Error())
		}
		return Parse(s)
	}
	var in struct {
		Type    *string           `json:"type"`
		Element json.RawMessage   `json:"element"`
		Key     json.RawMessage   `json:"key"`
		Value   json.RawMessage   `json:"value"`
		Length  *int              `json:"length"`
		Fields  []json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return Type{}, badJSON(err.Error())
	}
	if in.Type == nil {
		return Type{}, badJSON("neither a string nor an object with a type", "json", string(data))
	}
	member := func(name string, raw json.RawMessage) (*Type, error) {
		if raw == nil {
			return nil, badJSON("no "+name, "type", *in.Type)
		}
		t, err := d.decode(raw, depth+1)
		return &t, err
	}
	t := Type{Nullable: !strings.Contains(*in.Type, "NOT NULL")}
	var err error
	switch {
	case strings.HasPrefix(*in.Type, "ARRAY"):
		t.Root = Array
		t.Element, err = member("element", in.Element)
	case strings.HasPrefix(*in.Type, "MULTISET"):
		t.Root = Multiset
		t.Element, err = member("element", in.Element)
	case strings.HasPrefix(*in.Type, "VECTOR"):
		t.Root = Vector
		if in.Length == nil || *in.Length < 1 {
			return Type{}, badJSON("no length of at least 1", "type", *in.Type)
		}
		t.Length = *in.Length
		t.Element, err = member("element", in.Element)
		if err == nil && (t.Element.Root < Boolean || t.Element.Root > Double) {
			return Type{}, badJSON("a VECTOR holds BOOLEAN, integers, FLOAT or DOUBLE", "element", t.Element)
		}
	case strings.HasPrefix(*in.Type, "MAP"):
		t.Root = Map
		if t.Key, err = member("key", in.Key); err == nil {
			t.Element, err = member("value", in.Value)
		}
	case strings.HasPrefix(*in.Type, "ROW"):
		t.Root = Row
		t.Fields = make([]Field, 0, len(in.Fields))
		for _, raw := range in.Fields {
			f, err := d.field(raw, depth)
			if err != nil {
				return Type{}, err
			}
			t.Fields = append(t.Fields, f)
		}
	default:
		return Type{}, badJSON("no such nested type", "type", *in.Type)
	}
	if err != nil {
		return Type{}, err
	}
	return t, nil
}

func (d *typeDecoder) field(data []byte, depth int) (Field, error) {
	var in struct {
		ID          *int32          `json:"id"`
		Name        *string         `json:"name"`
		Type        json.RawMessage `json:"type"`
		Description *string         `json:"description"`
		Default     *string         `json:"defaultValue"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return Field{}, badJSON(err.Error())
	}
	if in.Name == nil || in.Type == nil {
		return Field{}, badJSON("a field without name or type", "json", string(data))
	}
	f := Field{Name: *in.Name, Description: in.Description, Default: in.Default}
	switch {
	case in.ID != nil && d.next >= 0, in.ID == nil && d.given:
		return Field{}, badJSON("some fields have ids and some have none", "field", f.Name)
	case in.ID != nil:
		d.given = true
		f.ID = int(*in.ID)
	case !d.assign:
		return Field{}, badJSON("a field without id", "field", f.Name)
	default:
		d.next++
		f.ID = d.next
	}
	var err error
	if f.Type, err = d.decode(in.Type, depth+1); err != nil {
		return Field{}, tarnerr.Trace("reading field from JSON", err, "field", f.Name)
	}
	return f, nil
}
