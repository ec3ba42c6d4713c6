package manifest

import "github.com/tarnlake/tarn/tarnerr"

// reader reads one column of T; it resolves unions itself.
type reader[T any] func(c *cursor, n *node, into *T)

// columns are the readers of a record's columns by name.
type columns[T any] map[string]reader[T]

// recordReader reads records of one writer's schema: its columns in their order,
// those we do not know passed over. Columns the writer does not have stay as
// they are in T.
type recordReader[T any] struct {
	optional bool  // the record itself is a union with null
	union    *node // that union
	steps    []step[T]
	has      map[string]bool
}

type step[T any] struct {
	node *node
	read reader[T] // nil: passed over
}

// compile resolves a writer's record against the columns known; the columns
// needed must be there.
func compile[T any](n *node, known columns[T], needed ...string) (*recordReader[T], error) {
	r := &recordReader[T]{has: map[string]bool{}}
	if n.kind == kindUnion {
		r.optional, r.union = true, n
		var record *node
		for _, b := range n.branches {
			if b.kind == kindRecord {
				record = b
			}
		}
		if record == nil {
			return nil, badSchema("union without a record")
		}
		n = record
	}
	if n.kind != kindRecord {
		return nil, badSchema("not a record")
	}
	for _, f := range n.fields {
		r.steps = append(r.steps, step[T]{node: f.node, read: known[f.name]})
		r.has[f.name] = true
	}
	for _, name := range needed {
		if !r.has[name] {
			return nil, tarnerr.New(tarnerr.Corrupt, "reading Avro schema", "column is missing", "column", name)
		}
	}
	return r, nil
}

// read reads one record; false means null, or an error that c holds.
func (r *recordReader[T]) read(c *cursor, into *T) bool {
	if r.optional {
		if n := c.enter(r.union); n == nil || n.kind != kindRecord {
			if n != nil {
				c.fail("not a record")
			}
			return false
		}
	}
	for i := range r.steps {
		s := &r.steps[i]
		if s.read != nil {
			s.read(c, s.node, into)
		} else {
			c.skip(s.node)
		}
		if c.err != nil {
			return false
		}
	}
	return true
}

// fieldNode finds the schema of a record's column, through a union with null.
func fieldNode(n *node, name string) *node {
	if n.kind == kindUnion {
		for _, b := range n.branches {
			if b.kind == kindRecord {
				n = b
			}
		}
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.node
		}
	}
	return nil
}
