package parquet

import (
	"math/big"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// rootName is the name of the message type in every file Paimon writes.
const rootName = "paimon_schema"

// column is a column, member, element, key or value to be written.
type column struct {
	name     string
	typ      types.Type
	optional bool
	repeated bool  // the children repeat: ARRAY, VECTOR, MAP, MULTISET
	def      int16 // definition level of "this value is not null"
	rep      int16 // repetition level of the values below, if repeated
	children []*column
	leaf     int      // index among the leaf columns of the file, -1 for groups
	phys     physical // of leaves
	width    int      // bytes of a value, 0 when they vary
	path     []string
}

func (c *column) dotted() string { return strings.Join(c.path, ".") }

// messageType is the Parquet schema Paimon gives a file with these columns, in
// the footer's order, and the columns with their levels.
// Source: format-map §13 (ids) and §14 (types).
func messageType(fields []types.Field) ([]schemaElement, []*column, error) {
	b := schemaBuilder{}
	b.group(rootName, len(fields), -1, -1, logicalNone)
	columns := make([]*column, len(fields))
	for i, f := range fields {
		c, err := b.node(f.Name, f.Type, f.Type.Nullable, f.ID, f.ID, 0, 0, 0, nil)
		if err != nil {
			return nil, nil, tarnerr.Trace("writing Parquet schema", err, "column", f.Name)
		}
		columns[i] = c
	}
	return b.elements, columns, nil
}

type schemaBuilder struct {
	elements []schemaElement
	leaves   int
}

// group adds the element of a group of so many children.
func (b *schemaBuilder) group(name string, children int, rep repetition, id int, logical logicalKind) {
	b.elements = append(b.elements, schemaElement{
		typ: -1, repetition: rep, name: name, children: int32(children), hasChildren: true, id: int32(id), logical: logical,
	})
}

// node builds name of type t. fieldID is its own id, id that of the enclosing
// column or member from which element ids derive at the given depth.
func (b *schemaBuilder) node(name string, t types.Type, opt bool, fieldID, id, depth int, def, rep int16, prefix []string) (*column, error) {
	repetition := required
	if opt {
		repetition = optional
		def++
	}
	c := &column{name: name, typ: t, optional: opt, def: def, rep: rep, leaf: -1, path: append(slices.Clip(prefix), name)}
	if !t.IsNested() {
		e, err := leafElement(t)
		if err != nil {
			return nil, err
		}
		e.name, e.repetition, e.id = name, repetition, int32(fieldID)
		b.elements = append(b.elements, e)
		c.leaf, c.phys, c.width = b.leaves, e.typ, physicalWidth(e)
		b.leaves++
		return c, nil
	}
	var kids []types.Field
	switch t.Root {
	case types.Row:
		kids = t.Fields
	case types.Variant:
		kids = variantFields
	default:
		return c, b.repeatedNode(c, t, repetition, fieldID, id, depth)
	}
	b.group(name, len(kids), repetition, fieldID, logicalNone)
	for _, f := range kids {
		child, err := b.node(f.Name, f.Type, f.Type.Nullable, f.ID, f.ID, 0, def, rep, c.path)
		if err != nil {
			return nil, tarnerr.Trace("writing Parquet schema", err, "member", f.Name)
		}
		c.children = append(c.children, child)
	}
	return c, nil
}

func (b *schemaBuilder) repeatedNode(c *column, t types.Type, rep repetition, fieldID, id, depth int) error {
	if t.Root == types.Vector {
		return tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "type cannot be written to Parquet yet", "type", t.String())
	}
	depth++
	c.repeated = true
	c.rep++
	inner := func(group, name string, t types.Type, opt bool, fieldID int) error {
		child, err := b.node(name, t, opt, fieldID, id, depth, c.def+1, c.rep, append(slices.Clip(c.path), group))
		c.children = append(c.children, child)
		return err
	}
	if t.Root == types.Array {
		b.group(c.name, 1, rep, fieldID, logicalList)
		b.group("list", 1, repeated, -1, logicalNone)
		return inner("list", "element", *t.Element, t.Element.Nullable, types.ElementFieldID(id, depth))
	}
	key, value := t.Key, t.Element
	if t.Root == types.Multiset {
		key, value = t.Element, &types.Type{Root: types.Int}
	}
	b.group(c.name, 1, rep, fieldID, logicalMap)
	b.group("key_value", 2, repeated, -1, logicalMapKeyValue)
	if err := inner("key_value", "key", key.WithNull(false), false, types.MapKeyFieldID(id, depth)); err != nil {
		return err
	}
	return inner("key_value", "value", *value, value.Nullable, types.ElementFieldID(id, depth))
}

// logicalMapKeyValue marks a map's repeated group: it has the converted type
// MAP_KEY_VALUE and no logical type, as parquet-java does it.
const logicalMapKeyValue logicalKind = -1

var variantFields = []types.Field{
	{ID: types.VariantValueID, Name: "value", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
	{ID: types.VariantMetadataID, Name: "metadata", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
}

// leafElement is the physical and logical type of t.
func leafElement(t types.Type) (schemaElement, error) {
	switch t.Root {
	case types.Boolean:
		return schemaElement{typ: physBoolean}, nil
	case types.TinyInt:
		return schemaElement{typ: physInt32, logical: logicalInteger, width: 8, signed: true}, nil
	case types.SmallInt:
		return schemaElement{typ: physInt32, logical: logicalInteger, width: 16, signed: true}, nil
	case types.Int:
		return schemaElement{typ: physInt32}, nil
	case types.BigInt:
		return schemaElement{typ: physInt64}, nil
	case types.Float:
		return schemaElement{typ: physFloat}, nil
	case types.Double:
		return schemaElement{typ: physDouble}, nil
	case types.Char, types.VarChar:
		return schemaElement{typ: physByteArray, logical: logicalString}, nil
	case types.Binary, types.VarBinary, types.Blob:
		return schemaElement{typ: physByteArray}, nil
	case types.Date:
		return schemaElement{typ: physInt32, logical: logicalDate}, nil
	case types.Time:
		return schemaElement{typ: physInt32, logical: logicalTime, utc: true, unit: millis}, nil
	case types.Timestamp, types.TimestampLTZ:
		e := schemaElement{typ: physInt64, logical: logicalStamp, utc: t.Root == types.TimestampLTZ, unit: millis}
		if t.Precision > 3 {
			e.unit = micros
		}
		if t.Precision > 6 {
			e = schemaElement{typ: physInt96}
		}
		return e, nil
	case types.Decimal:
		e := schemaElement{typ: physInt32, logical: logicalDecimal, precision: int32(t.Precision), scale: int32(t.Scale)}
		if t.Precision > 9 {
			e.typ = physInt64
		}
		if t.Precision > 18 {
			e.typ, e.typeLength = physFixed, int32(decimalWidth(t.Precision))
		}
		return e, nil
	}
	return schemaElement{}, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "type cannot be written to Parquet yet", "type", t.String())
}

// physicalWidth is the bytes of a value, 0 for BYTE_ARRAY and BOOLEAN.
func physicalWidth(e schemaElement) int {
	switch e.typ {
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	case physInt96:
		return 12
	case physFixed:
		return int(e.typeLength)
	}
	return 0
}

// decimalWidth is the least n with 2^(8n−1) ≥ 10^precision.
func decimalWidth(precision int) int {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	n := 1
	for new(big.Int).Lsh(big.NewInt(1), uint(8*n-1)).Cmp(limit) < 0 {
		n++
	}
	return n
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}
