package orc

import (
	"strconv"

	"github.com/tarnlake/tarn/types"
)

// fileNode is a column of a file's schema: ORC numbers every node of the tree.
type fileNode struct {
	typeInfo
	column   int
	name     string // of a member of a struct
	path     string
	id       int // −1 = none
	children []*fileNode
}

const maxSchemaDepth = 64

// fileTree links the nodes of a schema, which stand in the order of a walk from
// the root; cause says what is wrong with it.
func fileTree(infos []typeInfo) (nodes []*fileNode, cause string) {
	if len(infos) == 0 {
		return nil, "empty"
	}
	nodes = make([]*fileNode, 0, len(infos))
	var build func(parent *fileNode, name string, depth int) (*fileNode, string)
	build = func(parent *fileNode, name string, depth int) (*fileNode, string) {
		at := len(nodes)
		if at == len(infos) || depth > maxSchemaDepth {
			return nil, "types claim more members than there are, or nest too deeply"
		}
		n := &fileNode{typeInfo: infos[at], column: at, name: name, id: -1}
		if parent != nil && parent.path != "" {
			n.path = parent.path + "." + name
		} else {
			n.path = name
		}
		if id, err := strconv.ParseInt(n.typeInfo.id, 10, 32); err == nil && id >= 0 {
			n.id = int(id)
		}
		nodes = append(nodes, n)
		names, cause := n.memberNames()
		if cause != "" {
			return nil, cause
		}
		for i, sub := range n.subtypes {
			if sub != uint64(len(nodes)) {
				return nil, "members are not in the order of their numbers"
			}
			child, cause := build(n, names[i], depth+1)
			if cause != "" {
				return nil, cause
			}
			n.children = append(n.children, child)
		}
		return n, ""
	}
	if _, cause := build(nil, "", 0); cause != "" {
		return nil, cause
	}
	if len(nodes) != len(infos) {
		return nil, "types outside the tree"
	}
	return nodes, ""
}

// memberNames names the members of a node, whose number must be what its kind has.
func (n *fileNode) memberNames() (names []string, cause string) {
	switch n.kind {
	case kindStruct:
		names = n.names
	case kindList:
		names = []string{"element"}
	case kindMap:
		names = []string{"key", "value"}
	case kindUnion:
		for i := range n.subtypes {
			names = append(names, strconv.Itoa(i))
		}
	}
	if p, s := n.decimal(); n.kind == kindDecimal && (p < 1 || p > 38 || s < 0 || s > p) {
		return nil, "precision or scale of a decimal out of range"
	}
	if len(names) != len(n.subtypes) {
		return nil, "a type does not have the members of its kind"
	}
	return names, ""
}

// field is the column or member as Paimon would see it.
func (n *fileNode) field() types.Field {
	return types.Field{ID: n.id, Name: n.name, Type: n.paimonType()}
}

// paimonType is the logical type a node's values stand for: ORC does not say
// what may be null, so everything may, but for the keys of maps. TIME and
// MULTISET cannot be told from int and map.
func (n *fileNode) paimonType() types.Type { return n.valueType().WithNull(true) }

func (n *fileNode) valueType() types.Type {
	switch n.kind {
	case kindBoolean:
		return types.Type{Root: types.Boolean}
	case kindByte:
		return types.Type{Root: types.TinyInt}
	case kindShort:
		return types.Type{Root: types.SmallInt}
	case kindInt:
		return types.Type{Root: types.Int}
	case kindLong:
		return types.Type{Root: types.BigInt}
	case kindFloat:
		return types.Type{Root: types.Float}
	case kindDouble:
		return types.Type{Root: types.Double}
	case kindString:
		return types.Type{Root: types.VarChar, Length: types.MaxLength}
	case kindVarchar:
		return types.Type{Root: types.VarChar, Length: n.length()}
	case kindChar:
		return types.Type{Root: types.Char, Length: n.length()}
	case kindBinary:
		return types.Type{Root: types.VarBinary, Length: types.MaxLength}
	case kindDate:
		return types.Type{Root: types.Date}
	case kindTimestamp:
		return types.Type{Root: types.Timestamp, Precision: 9}
	case kindInstant:
		return types.Type{Root: types.TimestampLTZ, Precision: 9}
	case kindDecimal:
		p, s := n.decimal()
		return types.Type{Root: types.Decimal, Precision: p, Scale: s}
	case kindList:
		e := n.children[0].paimonType()
		return types.Type{Root: types.Array, Element: &e}
	case kindMap:
		k, v := n.children[0].valueType(), n.children[1].paimonType()
		return types.Type{Root: types.Map, Key: &k, Element: &v}
	case kindStruct:
		t := types.Type{Root: types.Row}
		for _, c := range n.children {
			t.Fields = append(t.Fields, c.field())
		}
		return t
	}
	return types.Type{}
}

func (n *fileNode) length() int {
	if n.maxLength < 1 || n.maxLength > types.MaxLength {
		return types.MaxLength
	}
	return int(n.maxLength)
}

// decimal is the precision and the scale, those of Hive's old decimals when the
// file does not say.
func (n *fileNode) decimal() (precision, scale int) {
	if n.precision == 0 {
		return 38, 18
	}
	return int(n.precision), int(n.scale)
}

// child finds a member by field id where the struct has ids, else by name.
func (n *fileNode) child(f types.Field) *fileNode {
	ids := false
	for _, c := range n.children {
		if c.id >= 0 {
			ids = true
			if c.id == f.ID {
				return c
			}
		}
	}
	if ids {
		return nil
	}
	for _, c := range n.children {
		if c.name == f.Name {
			return c
		}
	}
	return nil
}
