package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// NewSchema turns what a caller asks for into the first schema of a table:
// field ids are handed out, the options primary-key and partition become keys,
// primary-key columns become NOT NULL; then everything is validated as Java
// 1.4.2 validates it (see [Schema.Validate]). nowMillis is the creation time.
func NewSchema(spec Spec, nowMillis int64) (*Schema, error) {
	ids := idSource{last: -1}
	fields := make([]types.Field, len(spec.Fields))
	for i, f := range spec.Fields {
		f.ID = ids.next()
		f.Type = ids.reassign(f.Type)
		fields[i] = f
	}
	s := &Schema{
		Version: Version, Fields: fields, HighestFieldID: ids.last,
		PartitionKeys: slices.Clone(spec.PartitionKeys), PrimaryKeys: slices.Clone(spec.PrimaryKeys),
		Options: maps.Clone(spec.Options), TimeMillis: nowMillis,
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	if spec.Comment != "" {
		s.Comment = &spec.Comment
	}
	if err := s.normalise(); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// idSource hands out field ids in Java's order: a column before its members, a
// member after the members below it.
type idSource struct{ last int }

func (s *idSource) next() int {
	s.last++
	return s.last
}

func (s *idSource) reassign(t types.Type) types.Type {
	if t.Key != nil {
		key := s.reassign(*t.Key)
		t.Key = &key
	}
	if t.Element != nil {
		element := s.reassign(*t.Element)
		t.Element = &element
	}
	if t.Root == types.Row {
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = s.reassign(t.Fields[i].Type)
			t.Fields[i].ID = s.next()
		}
	}
	return t
}

func invalid(cause string, kv ...any) *tarnerr.Error {
	return tarnerr.New(tarnerr.Invalid, "validating schema", cause, kv...)
}

// normalise moves keys given as options to their place and makes primary-key
// columns NOT NULL, after checking that keys are columns and nothing repeats.
func (s *Schema) normalise() error {
	var err error
	if s.PartitionKeys, err = s.keysFromOption("partition", s.PartitionKeys); err != nil {
		return err
	}
	if s.PrimaryKeys, err = s.keysFromOption("primary-key", s.PrimaryKeys); err != nil {
		return err
	}
	if len(s.Fields) == 0 {
		return invalid("a table needs at least one column").WithHint("Define a column.")
	}
	seen := map[string]bool{}
	for i, f := range s.Fields {
		if strings.TrimSpace(f.Name) == "" {
			return invalid("a column's name must not be blank", "number", i+1).WithHint("Give every column a name.")
		}
		if seen[f.Name] {
			return invalid("two columns with one name", "column", f.Name).WithHint("Rename one of them.")
		}
		seen[f.Name] = true
		if f.Type.Root == types.Invalid {
			return invalid("a column without a type", "column", f.Name).WithHint("Give it a type, such as INT.")
		}
	}
	for _, keys := range []struct {
		what  string
		names []string
	}{{"partition key", s.PartitionKeys}, {"primary key", s.PrimaryKeys}} {
		for i, k := range keys.names {
			if !seen[k] {
				return s.noSuchColumn("the "+keys.what+" names no column", "key", k)
			}
			if slices.Contains(keys.names[:i], k) {
				return invalid("the "+keys.what+" names a column twice", "key", k).WithHint("Name each column once.")
			}
		}
	}
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		if slices.Contains(s.PrimaryKeys, s.Fields[i].Name) {
			s.Fields[i].Type.Nullable = false
		}
	}
	return nil
}

func (s *Schema) keysFromOption(option string, keys []string) ([]string, error) {
	text, ok := s.Options[option]
	if !ok {
		return keys, nil
	}
	if len(keys) > 0 {
		return nil, invalid("the key is given twice, as itself and as an option", "option", option).
			WithHint("Leave the option %s away.", option)
	}
	delete(s.Options, option)
	return splitTrim(text), nil
}

// splitTrim cuts a comma-separated list, blanks around its names taken off and empty ones left out.
func splitTrim(text string) []string {
	var out []string
	for _, k := range strings.Split(text, ",") {
		if k = strings.TrimSpace(k); k != "" {
			out = append(out, k)
		}
	}
	return out
}

// noSuchColumn refuses what names a column that the table does not have.
func (s *Schema) noSuchColumn(cause string, kv ...any) *tarnerr.Error {
	return invalid(cause, kv...).WithHint("%s", columnsAre(s.Fields))
}

func columnsAre(fields []types.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return "The columns are " + strings.Join(names, ", ") + "."
}
