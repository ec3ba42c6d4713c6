package manifest

import (
	"encoding/json"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// kind is the kind of an Avro schema.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindRecord
	kindUnion
)

var primitives = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong,
	"float": kindFloat, "double": kindDouble, "bytes": kindBytes, "string": kindString,
}

// node is one schema of a writer. Named schemas may refer to themselves.
type node struct {
	kind     kind
	size     int     // fixed
	items    *node   // array items, map values
	branches []*node // union
	fields   []field // record
}

type field struct {
	name string
	node *node
}

// Schemas are written by machines: nothing real comes near these bounds.
const (
	maxSchemaDepth = 64
	maxSchemaNodes = 10_000
)

// parseSchema reads the schema text of a container.
func parseSchema(text []byte) (*node, error) {
	p := schemaParser{named: map[string]*node{}}
	return p.parse(text, "", 0)
}

type schemaParser struct {
	named map[string]*node
	nodes int
}

func badSchema(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading Avro schema", cause, kv...)
}

func (p *schemaParser) parse(text json.RawMessage, space string, depth int) (*node, error) {
	if p.nodes++; p.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return nil, badSchema("schema is too large")
	}
	var name string
	if json.Unmarshal(text, &name) == nil {
		return p.lookup(name, space)
	}
	var union []json.RawMessage
	if json.Unmarshal(text, &union) == nil {
		n := &node{kind: kindUnion, branches: make([]*node, len(union))}
		for i, branch := range union {
			var err error
			if n.branches[i], err = p.parse(branch, space, depth+1); err != nil {
				return nil, err
			}
		}
		if len(union) == 0 {
			return nil, badSchema("union without branches")
		}
		return n, nil
	}
	return p.parseObject(text, space, depth)
}

func (p *schemaParser) lookup(name, space string) (*node, error) {
	if k, ok := primitives[name]; ok {
		return &node{kind: k}, nil
	}
	if n, ok := p.named[fullName(name, space)]; ok {
		return n, nil
	}
	return nil, badSchema("no such type", "name", name)
}

func fullName(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

func (p *schemaParser) parseObject(text json.RawMessage, space string, depth int) (*node, error) {
	var o struct {
		Type      json.RawMessage `json:"type"`
		Name      string          `json:"name"`
		Namespace *string         `json:"namespace"`
		Items     json.RawMessage `json:"items"`
		Values    json.RawMessage `json:"values"`
		Size      int             `json:"size"`
		Fields    []struct {
			Name string          `json:"name"`
			Type json.RawMessage `json:"type"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, "reading Avro schema", err)
	}
	var kindName string
	if json.Unmarshal(o.Type, &kindName) != nil {
		// {"type": {…}} wraps another schema.
		if len(o.Type) == 0 {
			return nil, badSchema("schema without type")
		}
		return p.parse(o.Type, space, depth+1)
	}
	n := &node{}
	if o.Namespace != nil {
		space = *o.Namespace
	}
	if o.Name != "" {
		full := fullName(o.Name, space)
		p.named[full] = n
		if i := strings.LastIndexByte(full, '.'); i >= 0 {
			space = full[:i]
		}
	}
	var err error
	switch kindName {
	case "record", "error":
		n.kind = kindRecord
		n.fields = make([]field, len(o.Fields))
		for i, f := range o.Fields {
			if n.fields[i].node, err = p.parse(f.Type, space, depth+1); err != nil {
				return nil, err
			}
			n.fields[i].name = f.Name
		}
	case "array":
		n.kind = kindArray
		n.items, err = p.parse(o.Items, space, depth+1)
	case "map":
		n.kind = kindMap
		n.items, err = p.parse(o.Values, space, depth+1)
	case "enum":
		n.kind = kindEnum
	case "fixed":
		n.kind, n.size = kindFixed, o.Size
		if o.Size < 0 {
			return nil, badSchema("fixed of negative size", "size", o.Size)
		}
	default:
		return p.lookup(kindName, space)
	}
	return n, err
}
