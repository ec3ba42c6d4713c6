package schema

import (
	"testing"

	"github.com/tarnlake/tarn/types"
)

// A column belongs to one sequence group, as a sequence field or otherwise; a
// group may name its own sequence fields among its columns.
func TestSequenceGroupsDoNotShareColumns(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]string
		valid   bool
	}{
		"apart":                       {map[string]string{"fields.g.sequence-group": "a", "fields.h,i.sequence-group": "b"}, true},
		"names itself":                {map[string]string{"fields.g.sequence-group": "g,a"}, true},
		"shared column":               {map[string]string{"fields.g.sequence-group": "a", "fields.h.sequence-group": "a"}, false},
		"shared sequence field":       {map[string]string{"fields.g.sequence-group": "a", "fields.g,h.sequence-group": "b"}, false},
		"sequence field of the next":  {map[string]string{"fields.g.sequence-group": "h", "fields.h.sequence-group": "a"}, false},
		"sequence field of the first": {map[string]string{"fields.g.sequence-group": "a", "fields.h.sequence-group": "g"}, false},
		"column twice":                {map[string]string{"fields.g.sequence-group": "a,a"}, false},
	} {
		s := &Schema{Version: Version, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1", "merge-engine": "partial-update"}}
		for i, column := range []string{"k", "a", "b", "g", "h", "i"} {
			s.Fields = append(s.Fields, types.Field{ID: i, Name: column, Type: types.Type{Root: types.Int, Nullable: i > 0}})
		}
		for k, v := range c.options {
			s.Options[k] = v
		}
		if err := s.Validate(); (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
