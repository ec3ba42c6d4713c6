package avro

import (
	"slices"

	"github.com/twmb/avro"

	"github.com/tarnlake/tarn/types"
)

// kind is the kind of a node of a writer's schema.
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

var kinds = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong, "float": kindFloat, "double": kindDouble,
	"bytes": kindBytes, "string": kindString, "fixed": kindFixed, "enum": kindEnum, "array": kindArray, "map": kindMap,
	"record": kindRecord, "error": kindRecord, "union": kindUnion,
}

// node is a part of the schema a file was written with. Named ones may contain themselves.
type node struct {
	kind             kind
	text             string // how Avro calls it, for messages
	logical          string
	precision, scale int
	size             int      // fixed
	names            []string // of the members of a record
	parts            []*node  // members, branches, the items of an array or the values of a map
}

// parseSchema reads the schema of a file; cause says what is wrong with it. Names
// are taken as they are: Java allows letters that the Avro specification does not.
func parseSchema(text []byte) (n *node, cause string) {
	s, err := avro.Parse(string(text), avro.WithLaxNames(nil))
	if err != nil {
		return nil, err.Error()
	}
	root := s.Root()
	p := schemaParser{named: map[string]*node{}}
	n = p.node(root, 0)
	if p.cause == "" {
		n.check(&p)
	}
	return n, p.cause
}

type schemaParser struct {
	named map[string]*node
	nodes int
	cause string
}

// Schemas are written by machines: nothing real comes near this bound.
const maxNodes = 10_000

func (p *schemaParser) node(s *avro.SchemaNode, depth int) *node {
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		p.cause = "schema is too large"
		return &node{}
	}
	k, ok := kinds[s.Type]
	if k == kindRecord && s.Name == "" { // a name: Paimon's rows are of the type "record"
		ok = false
	}
	if !ok {
		n, ok := p.named[s.Type]
		if !ok {
			p.cause = "no such type: " + s.Type
			return &node{}
		}
		return n
	}
	n := &node{kind: k, text: s.Type, logical: s.LogicalType, precision: s.Precision, scale: s.Scale, size: s.Size}
	if n.logical != "" {
		n.text += " (" + n.logical + ")"
	}
	switch k {
	case kindRecord, kindFixed, kindEnum:
		p.named[s.Name] = n
		if s.Namespace != "" {
			p.named[s.Namespace+"."+s.Name] = n
		}
	}
	switch k {
	case kindArray:
		n.parts = []*node{p.node(s.Items, depth+1)}
	case kindMap:
		n.parts = []*node{p.node(s.Values, depth+1)}
	case kindUnion:
		for i := range s.Branches {
			n.parts = append(n.parts, p.node(&s.Branches[i], depth+1))
		}
	case kindRecord:
		for i := range s.Fields {
			n.names = append(n.names, s.Fields[i].Name)
			n.parts = append(n.parts, p.node(&s.Fields[i].Type, depth+1))
		}
	}
	return n
}

// check refuses arrays of items that take no bytes: their length could not be
// believed, and nobody writes them.
func (n *node) check(p *schemaParser) {
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if n.kind == kindArray && !n.parts[0].takesBytes(0) {
			p.cause = "array whose items take no bytes"
		}
		for _, part := range n.parts {
			walk(part)
		}
	}
	walk(n)
}

func (n *node) takesBytes(depth int) bool {
	switch n.kind {
	case kindNull:
		return false
	case kindFixed:
		return n.size > 0
	case kindRecord:
		return depth < maxDepth && slices.ContainsFunc(n.parts, func(p *node) bool { return p.takesBytes(depth + 1) })
	}
	return true
}

// value resolves a union of null and one more type: which branch is null, and
// which the value. Other schemas have no null: −1. Unions of more types have no
// Paimon type and give no value.
func (n *node) value() (v *node, null, branch int64) {
	if n.kind != kindUnion {
		return n, -1, -1
	}
	v, null, branch = nil, -1, -1
	for i, p := range n.parts {
		switch {
		case p.kind == kindNull:
			null = int64(i)
		case v != nil:
			return nil, -1, -1
		default:
			v, branch = p, int64(i)
		}
	}
	return v, null, branch
}

// member is the part of a record by name, nil when there is none.
func (n *node) member(name string) *node {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.parts[i]
	}
	return nil
}

// pair gives key and value of the items of a map written as an array.
func (n *node) pair() (key, value *node) {
	if n.kind != kindRecord || len(n.parts) != 2 {
		return nil, nil
	}
	return n.member("key"), n.member("value")
}

// fields are the columns of a file as Paimon would see them. Avro stores no ids,
// nor lengths, nor which INT is a TINYINT.
func (n *node) fields() []types.Field {
	out := make([]types.Field, len(n.parts))
	for i, p := range n.parts {
		out[i] = types.Field{ID: -1, Name: n.names[i], Type: p.paimonType(0)}
	}
	return out
}

// paimonType is the logical type a node's values stand for, the zero type when
// there is none.
func (n *node) paimonType(depth int) types.Type {
	v, null, _ := n.value()
	if v == nil || depth > maxDepth {
		return types.Type{}
	}
	return v.valueType(depth).WithNull(null >= 0)
}

func (n *node) valueType(depth int) types.Type {
	switch n.kind {
	case kindBoolean:
		return types.Type{Root: types.Boolean}
	case kindInt:
		switch n.logical {
		case "date":
			return types.Type{Root: types.Date}
		case "time-millis":
			return types.Type{Root: types.Time, Precision: 3}
		}
		return types.Type{Root: types.Int}
	case kindLong:
		// Paimon uses the names the other way round than Avro means them.
		switch n.logical {
		case "timestamp-millis":
			return types.Type{Root: types.Timestamp, Precision: 3}
		case "timestamp-micros":
			return types.Type{Root: types.Timestamp, Precision: 6}
		case "local-timestamp-millis":
			return types.Type{Root: types.TimestampLTZ, Precision: 3}
		case "local-timestamp-micros":
			return types.Type{Root: types.TimestampLTZ, Precision: 6}
		}
		return types.Type{Root: types.BigInt}
	case kindFloat:
		return types.Type{Root: types.Float}
	case kindDouble:
		return types.Type{Root: types.Double}
	case kindString:
		return types.Type{Root: types.VarChar, Length: types.MaxLength}
	case kindBytes:
		if n.logical == "decimal" && n.precision >= 1 && n.precision <= 38 && n.scale >= 0 && n.scale <= n.precision {
			return types.Type{Root: types.Decimal, Precision: n.precision, Scale: n.scale}
		}
		return types.Type{Root: types.VarBinary, Length: types.MaxLength}
	case kindArray:
		if k, v := n.parts[0].pair(); n.logical == "map" && k != nil && v != nil {
			key, value := k.paimonType(depth+1).WithNull(false), v.paimonType(depth+1)
			return types.Type{Root: types.Map, Key: &key, Element: &value}
		}
		e := n.parts[0].paimonType(depth + 1)
		return types.Type{Root: types.Array, Element: &e}
	case kindMap:
		key, value := types.Type{Root: types.VarChar, Length: types.MaxLength}, n.parts[0].paimonType(depth+1)
		return types.Type{Root: types.Map, Key: &key, Element: &value}
	case kindRecord:
		t := types.Type{Root: types.Row}
		for i, p := range n.parts {
			t.Fields = append(t.Fields, types.Field{ID: -1, Name: n.names[i], Type: p.paimonType(depth + 1)})
		}
		return t
	}
	return types.Type{}
}
