package parquet

import (
	"github.com/tarnlake/tarn/types"
)

// fileNode is a node of a file's schema.
type fileNode struct {
	element  schemaElement
	path     string
	children []*fileNode
	leaf     int   // index among the leaves, −1 for groups
	def, rep uint8 // levels of "this value is there"
	ancestor uint8 // definition level of the nearest repeated node above or at it
}

const maxSchemaDepth = 64

// fileTree builds the tree of a flat schema; cause says what is wrong with it.
func fileTree(elements []schemaElement) (root *fileNode, leaves []*fileNode, cause string) {
	if len(elements) == 0 {
		return nil, nil, "empty"
	}
	at := 0
	var build func(parent *fileNode, depth int) *fileNode
	build = func(parent *fileNode, depth int) *fileNode {
		if at >= len(elements) || depth > maxSchemaDepth {
			cause = "groups claim more members than there are, or nest too deeply"
			return nil
		}
		e := elements[at]
		at++
		n := &fileNode{element: e, leaf: -1}
		if parent != nil {
			n.def, n.rep, n.ancestor, n.path = parent.def, parent.rep, parent.ancestor, join(parent.path, e.name)
			switch e.repetition {
			case required:
			case optional:
				n.def++
			case repeated:
				n.def++
				n.rep++
				n.ancestor = n.def
			default:
				cause = "unknown repetition"
				return nil
			}
		}
		if !e.hasChildren || e.children == 0 && e.typ >= 0 {
			if parent == nil || e.typ < physBoolean || e.typ > physFixed || e.typ == physFixed && (e.typeLength < 1 || e.typeLength > 1<<20) {
				cause = "unknown physical type"
				return nil
			}
			n.leaf = len(leaves)
			leaves = append(leaves, n)
			return n
		}
		if e.children < 0 || int(e.children) > len(elements)-at {
			cause = "groups claim more members than there are"
			return nil
		}
		n.element.typ = -1
		for range e.children {
			child := build(n, depth+1)
			if child == nil {
				return nil
			}
			n.children = append(n.children, child)
		}
		return n
	}
	root = build(nil, 0)
	if cause == "" && at != len(elements) {
		cause = "elements outside the tree"
	}
	return root, leaves, cause
}

// field is the column or member as Paimon would see it.
func (n *fileNode) field() types.Field {
	return types.Field{ID: int(n.element.id), Name: n.element.name, Type: n.paimonType()}
}

// paimonType is the logical type a node's values stand for. Types that Paimon
// does not have come as what their bytes are.
func (n *fileNode) paimonType() types.Type {
	e := n.element
	if e.repetition == repeated { // a repeated field outside LIST is a list of required values
		t := n.valueType()
		return types.Type{Root: types.Array, Element: &t}
	}
	return n.valueType().WithNull(e.repetition == optional)
}

func (n *fileNode) valueType() types.Type {
	e := n.element
	if n.leaf >= 0 {
		return leafType(e)
	}
	if element := n.listElement(); element != nil {
		t := element.valueType()
		t.Nullable = element.element.repetition == optional
		return types.Type{Root: types.Array, Element: &t}
	}
	if key, value := n.mapEntry(); key != nil {
		k := key.valueType()
		if value == nil {
			return types.Type{Root: types.Multiset, Element: &k}
		}
		v := value.paimonType()
		return types.Type{Root: types.Map, Key: &k, Element: &v}
	}
	if n.isVariant() {
		return types.Type{Root: types.Variant}
	}
	t := types.Type{Root: types.Row}
	for _, c := range n.children {
		t.Fields = append(t.Fields, c.field())
	}
	return t
}

// isVariant reports Paimon's unshredded VARIANT: no annotation, two required
// members of binary.
func (n *fileNode) isVariant() bool {
	if len(n.children) != 2 {
		return false
	}
	for i, f := range variantFields {
		c := n.children[i]
		if c.element.name != f.Name || c.leaf < 0 || c.element.typ != physByteArray || c.element.repetition != required || c.element.logical != logicalNone {
			return false
		}
	}
	return true
}

// listElement is the element of a LIST in the three-level form of today or one
// of the older two-level forms; nil when the node is no list.
// Source: parquet-format's LogicalTypes.md, backward-compatibility rules.
func (n *fileNode) listElement() *fileNode {
	if n.element.logical != logicalList || len(n.children) != 1 || n.children[0].element.repetition != repeated {
		return nil
	}
	r := n.children[0]
	name := r.element.name
	if r.leaf >= 0 || len(r.children) != 1 || name == "array" || name == n.element.name+"_tuple" {
		return r
	}
	if c := r.children[0]; c.element.repetition != repeated {
		return c
	}
	return r
}

// mapEntry is the key and the value of a MAP; value is nil for a set of keys.
func (n *fileNode) mapEntry() (key, value *fileNode) {
	if n.element.logical != logicalMap || len(n.children) != 1 || n.children[0].element.repetition != repeated {
		return nil, nil
	}
	switch kv := n.children[0].children; len(kv) {
	case 1:
		return kv[0], nil
	case 2:
		return kv[0], kv[1]
	}
	return nil, nil
}

// child finds a member by field id where the group has ids, else by name.
func (n *fileNode) child(f types.Field) *fileNode {
	ids := false
	for _, c := range n.children {
		if c.element.id >= 0 {
			ids = true
			if int(c.element.id) == f.ID {
				return c
			}
		}
	}
	if ids {
		return nil
	}
	for _, c := range n.children {
		if c.element.name == f.Name {
			return c
		}
	}
	return nil
}

// firstLeaf is some leaf below the node.
func (n *fileNode) firstLeaf() *fileNode {
	for n.leaf < 0 {
		if len(n.children) == 0 {
			return nil
		}
		n = n.children[0]
	}
	return n
}

func leafType(e schemaElement) types.Type {
	bytesType := types.Type{Root: types.VarBinary, Length: types.MaxLength}
	switch e.typ {
	case physBoolean:
		return types.Type{Root: types.Boolean}
	case physInt32, physInt64:
		return integerType(e)
	case physInt96:
		return types.Type{Root: types.Timestamp, Precision: 9}
	case physFloat:
		return types.Type{Root: types.Float}
	case physDouble:
		return types.Type{Root: types.Double}
	case physByteArray:
		switch e.logical {
		case logicalString, logicalEnum, logicalJSON:
			return types.Type{Root: types.VarChar, Length: types.MaxLength}
		case logicalDecimal:
			return types.Type{Root: types.Decimal, Precision: int(e.precision), Scale: int(e.scale)}
		}
		return bytesType
	}
	if e.logical == logicalDecimal {
		return types.Type{Root: types.Decimal, Precision: int(e.precision), Scale: int(e.scale)}
	}
	return types.Type{Root: types.Binary, Length: int(e.typeLength)}
}

func integerType(e schemaElement) types.Type {
	switch e.logical {
	case logicalDecimal:
		return types.Type{Root: types.Decimal, Precision: int(e.precision), Scale: int(e.scale)}
	case logicalDate:
		return types.Type{Root: types.Date}
	case logicalTime:
		return types.Type{Root: types.Time, Precision: digits(e.unit)}
	case logicalStamp:
		if e.utc {
			return types.Type{Root: types.TimestampLTZ, Precision: digits(e.unit)}
		}
		return types.Type{Root: types.Timestamp, Precision: digits(e.unit)}
	case logicalInteger:
		// Unsigned integers come as the next wider signed type.
		switch {
		case e.width == 8 && e.signed:
			return types.Type{Root: types.TinyInt}
		case e.width == 16 && e.signed, e.width == 8:
			return types.Type{Root: types.SmallInt}
		case e.width == 32 && e.signed, e.width == 16:
			return types.Type{Root: types.Int}
		case e.width == 64 && !e.signed:
			return types.Type{Root: types.Decimal, Precision: 20}
		default:
			return types.Type{Root: types.BigInt}
		}
	}
	if e.typ == physInt32 {
		return types.Type{Root: types.Int}
	}
	return types.Type{Root: types.BigInt}
}

func digits(u timeUnit) int { return int(u) * 3 }
