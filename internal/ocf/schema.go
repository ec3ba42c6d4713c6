package ocf

import "slices"

// Kind is the kind of a schema.
type Kind uint8

const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Array
	Map
	Record
	Union
)

var kinds = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double,
	"bytes": Bytes, "string": String, "fixed": Fixed, "enum": Enum, "array": Array, "map": Map,
	"record": Record, "error": Record,
}

// Bounds of a schema, each use of a named type counted as if it were spelled out
// again: who walks a schema needs no bounds of its own. Schemas are written by
// machines, and nothing real comes near these.
const (
	maxText  = 4 << 20
	maxNodes = 1 << 17
	maxDepth = 64
)

// Schema is a writer's schema, or a part of one. Immutable. None contains itself.
type Schema struct {
	Kind Kind
	// Type is how the schema calls its type, with the logical one in brackets: for messages.
	Type    string
	Logical string
	// Precision and Scale are of a decimal, Size of a fixed.
	Precision, Scale, Size int
	// Names are of the members of a record, whose schemas are the Parts. Else the
	// Parts are the branches of a union, the items of an array or the values of a map.
	Names []string
	Parts []*Schema
	// Empty values take no bytes.
	Empty bool

	nodes, depth int       // with all below, named types spelled out
	solid        []*Schema // of a record: the members that take bytes
}

// Member is the part of a record by name, nil when there is none.
func (s *Schema) Member(name string) *Schema {
	if i := slices.Index(s.Names, name); i >= 0 {
		return s.Parts[i]
	}
	return nil
}

// close works out what follows from the parts; cause says what is wrong with them.
func (s *Schema) close() (cause string) {
	s.nodes = 1
	for _, p := range s.Parts {
		s.nodes += p.nodes
		s.depth = max(s.depth, p.depth+1)
		if s.nodes > maxNodes || s.depth > maxDepth {
			return "schema is too large"
		}
	}
	switch s.Kind {
	case Null:
		s.Empty = true
	case Fixed:
		s.Empty = s.Size == 0
	case Record:
		for _, p := range s.Parts {
			if !p.Empty {
				s.solid = append(s.solid, p)
			}
		}
		s.Empty = len(s.solid) == 0
	case Array:
		if s.Parts[0].Empty {
			// How many there are could not be believed, and nobody writes them.
			return "array whose items take no bytes"
		}
	}
	return ""
}
