package manifest

import (
	"slices"

	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// reader reads one column of T; it resolves unions itself.
type reader[T any] func(c *cursor, n *ocf.Schema, into *T)

// columns are the readers of a record's columns by name.
type columns[T any] map[string]reader[T]

// recordReader reads records of one writer's schema: its columns in their order,
// those we do not know passed over. Columns the writer does not have stay as
// they are in T.
type recordReader[T any] struct {
	optional bool        // the record itself is a union with null
	union    *ocf.Schema // that union
	steps    []step[T]
	has      map[string]bool
}

type step[T any] struct {
	node *ocf.Schema
	read reader[T] // nil: passed over
}

// compile resolves a writer's record against the columns known; the columns
// needed must be there.
func compile[T any](n *ocf.Schema, known columns[T], needed ...string) (*recordReader[T], error) {
	r := &recordReader[T]{has: map[string]bool{}}
	r.optional, r.union = n.Kind == ocf.Union, n
	if n = recordOf(n); n.Kind != ocf.Record {
		return nil, badSchema("not a record")
	}
	for i, name := range n.Names {
		if known[name] != nil || !n.Parts[i].Empty {
			r.steps = append(r.steps, step[T]{node: n.Parts[i], read: known[name]})
		}
		r.has[name] = true
	}
	for _, name := range needed {
		if !r.has[name] {
			return nil, badSchema("column is missing", "column", name)
		}
	}
	return r, nil
}

// read reads one record; false means null, or an error that c holds.
func (r *recordReader[T]) read(c *cursor, into *T) bool {
	if r.optional {
		if n := c.enter(r.union); n == nil || n.Kind != ocf.Record {
			if n != nil {
				c.Fail("not a record")
			}
			return false
		}
	}
	for i := range r.steps {
		s := &r.steps[i]
		if s.read != nil {
			s.read(c, s.node, into)
		} else {
			c.Skip(s.node)
		}
		if c.Err != nil {
			return false
		}
	}
	return true
}

// recordOf is the record of a union with null, else the schema itself.
func recordOf(n *ocf.Schema) *ocf.Schema {
	if n.Kind == ocf.Union {
		if i := slices.IndexFunc(n.Parts, func(p *ocf.Schema) bool { return p.Kind == ocf.Record }); i >= 0 {
			return n.Parts[i]
		}
	}
	return n
}

func badSchema(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading Avro schema", cause, kv...)
}
