package schema

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Version is the schema format written. Files of versions 1 to 3 are read.
const Version = 3

// Schema is one version of a table's schema. Immutable once shared.
type Schema struct {
	Version        int
	ID             int64
	Fields         []types.Field
	HighestFieldID int // the highest field id ever used, nested and dropped ones included
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        map[string]string // unknown keys are kept and carried
	Comment        *string
	TimeMillis     int64
}

// HasPrimaryKey reports a primary-key table.
func (s *Schema) HasPrimaryKey() bool { return len(s.PrimaryKeys) > 0 }

// TrimmedPrimaryKeys is the primary key without the partition keys: what makes
// a row unique within its partition, and the key of data files.
func (s *Schema) TrimmedPrimaryKeys() []string {
	var out []string
	for _, k := range s.PrimaryKeys {
		if !slices.Contains(s.PartitionKeys, k) {
			out = append(out, k)
		}
	}
	return out
}

// BucketKeys is the option bucket-key, else the trimmed primary key.
func (s *Schema) BucketKeys() []string {
	if v := s.Options["bucket-key"]; strings.TrimSpace(v) != "" {
		return strings.Split(v, ",")
	}
	return s.TrimmedPrimaryKeys()
}

// Index is the position of the named field, -1 when there is none.
func (s *Schema) Index(name string) int {
	return slices.IndexFunc(s.Fields, func(f types.Field) bool { return f.Name == name })
}

// Select returns the named fields in the order given; unknown names are left out.
func (s *Schema) Select(names []string) []types.Field {
	out := make([]types.Field, 0, len(names))
	for _, n := range names {
		if i := s.Index(n); i >= 0 {
			out = append(out, s.Fields[i])
		}
	}
	return out
}

// Spec is what a caller gives to create a table: a schema without ids.
type Spec struct {
	Fields        []types.Field // ids are assigned; those given are ignored
	PartitionKeys []string
	PrimaryKeys   []string
	Options       map[string]string
	Comment       string
}
