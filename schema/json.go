package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Parse reads a schema file of version 1 to 3. What older versions left to
// their defaults is filled in as those versions meant it: bucket=1 up to
// version 1, file.format=orc up to version 2. Unknown members are ignored,
// unknown options kept. Source: format-map §3.
func Parse(data []byte) (*Schema, error) {
	var in struct {
		Version        *int                       `json:"version"`
		ID             *int64                     `json:"id"`
		Fields         []types.Field              `json:"fields"`
		HighestFieldID *int32                     `json:"highestFieldId"`
		PartitionKeys  []string                   `json:"partitionKeys"`
		PrimaryKeys    []string                   `json:"primaryKeys"`
		Options        map[string]json.RawMessage `json:"options"`
		Comment        *string                    `json:"comment"`
		TimeMillis     int64                      `json:"timeMillis"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, corrupt(err.Error())
	}
	if in.ID == nil || in.Fields == nil || in.HighestFieldID == nil {
		return nil, corrupt("id, fields or highestFieldId is missing")
	}
	s := &Schema{
		Version: 1, ID: *in.ID, Fields: in.Fields, HighestFieldID: int(*in.HighestFieldID),
		PartitionKeys: in.PartitionKeys, PrimaryKeys: in.PrimaryKeys,
		Options: make(map[string]string, len(in.Options)), Comment: in.Comment, TimeMillis: in.TimeMillis,
	}
	if in.Version != nil {
		s.Version = *in.Version
	}
	if s.Version > Version {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading schema", "written by a newer version of the format",
			"version", s.Version, "newest known", Version)
	}
	for k, raw := range in.Options {
		s.Options[k] = optionText(raw)
	}
	if s.Version <= 1 {
		setDefault(s.Options, "bucket", "1")
	}
	if s.Version <= 2 {
		setDefault(s.Options, "file.format", "orc")
	}
	if err := s.checkReferences(); err != nil {
		return nil, err
	}
	return s, nil
}

func corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading schema", cause, kv...)
}

// optionText is a JSON scalar as Jackson's asText gives it.
func optionText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		return s
	}
	return string(raw)
}

func setDefault(options map[string]string, key, value string) {
	if _, ok := options[key]; !ok {
		options[key] = value
	}
}

// checkReferences holds what every use of a schema relies on: column names and
// ids are unique, and keys are columns.
func (s *Schema) checkReferences() error {
	names, ids := map[string]bool{}, map[int]bool{}
	for _, f := range s.Fields {
		if names[f.Name] || ids[f.ID] {
			return corrupt("two columns with one name or id", "column", f.Name, "id", f.ID)
		}
		names[f.Name], ids[f.ID] = true, true
	}
	for _, keys := range [][]string{s.PartitionKeys, s.PrimaryKeys} {
		for _, k := range keys {
			if !names[k] {
				return corrupt("a key that is no column", "key", k)
			}
		}
	}
	return nil
}

// JSON is the schema file, byte for byte as Java's pretty printer writes it.
// Options come in the order of a Java hash map of that size.
func (s *Schema) JSON() []byte {
	b := strconv.AppendInt([]byte(`{"version":`), int64(s.Version), 10)
	b = strconv.AppendInt(append(b, `,"id":`...), s.ID, 10)
	b = append(b, `,"fields":[`...)
	for i, f := range s.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.AppendJSON(b)
	}
	b = strconv.AppendInt(append(b, `],"highestFieldId":`...), int64(s.HighestFieldID), 10)
	b = appendStrings(append(b, `,"partitionKeys":`...), s.PartitionKeys)
	b = appendStrings(append(b, `,"primaryKeys":`...), s.PrimaryKeys)
	b = append(b, `,"options":{`...)
	for i, k := range hashMapOrder(s.Options) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(types.AppendJSONString(b, k), ':')
		b = types.AppendJSONString(b, s.Options[k])
	}
	b = append(b, '}')
	if s.Comment != nil {
		b = types.AppendJSONString(append(b, `,"comment":`...), *s.Comment)
	}
	b = strconv.AppendInt(append(b, `,"timeMillis":`...), s.TimeMillis, 10)
	return pretty(append(b, '}'))
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = types.AppendJSONString(b, s)
	}
	return append(b, ']')
}

// pretty lays compact JSON out as Jackson's default pretty printer does:
// members on lines of their own, two blanks deeper each object, arrays inline.
func pretty(compact []byte) []byte {
	out := make([]byte, 0, len(compact)*2)
	var open []byte // the brackets around the current position
	depth := 0
	newline := func() {
		out = append(out, '\n')
		out = append(out, strings.Repeat("  ", depth)...)
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		empty := i+1 < len(compact) && (compact[i+1] == '}' || compact[i+1] == ']')
		switch c {
		case '"':
			end := i + 1
			for compact[end] != '"' {
				if compact[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, compact[i:end+1]...)
			i = end
		case '{', '[':
			if empty {
				out = append(out, c, ' ', compact[i+1])
				i++
				break
			}
			open = append(open, c)
			out = append(out, c)
			if c == '{' {
				depth++
				newline()
			} else {
				out = append(out, ' ')
			}
		case '}':
			depth--
			newline()
			out = append(out, c)
			open = open[:len(open)-1]
		case ']':
			out = append(out, ' ', c)
			open = open[:len(open)-1]
		case ',':
			out = append(out, c)
			if open[len(open)-1] == '{' {
				newline()
			} else {
				out = append(out, ' ')
			}
		case ':':
			out = append(out, " : "...)
		default:
			out = append(out, c)
		}
	}
	return out
}
