package parquet

import (
	"math/big"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

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
	leaf     int // index among the leaf columns of the file, -1 for groups
	path     string
}

// messageType is the Parquet schema Paimon gives a file with these columns, and
// the columns with their levels.
// Source: format-map §13 (ids) and §14 (types).
func messageType(fields []types.Field) (*schema.GroupNode, []*column, error) {
	var nodes schema.FieldList
	b := schemaBuilder{}
	columns := make([]*column, len(fields))
	for i, f := range fields {
		node, c, err := b.node(f.Name, f.Type, f.Type.Nullable, f.ID, f.ID, 0, 0, 0, "")
		if err != nil {
			return nil, nil, tarnerr.Trace("writing Parquet schema", err, "column", f.Name)
		}
		nodes = append(nodes, node)
		columns[i] = c
	}
	root, err := schema.NewGroupNode(rootName, parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, nil, tarnerr.Wrap(tarnerr.Invalid, "writing Parquet schema", err)
	}
	return root, columns, nil
}

type schemaBuilder struct{ leaves int }

// node builds name of type t. fieldID is its own id, id that of the enclosing
// column or member from which element ids derive at the given depth.
func (b *schemaBuilder) node(name string, t types.Type, optional bool, fieldID, id, depth int, def, rep int16, prefix string) (schema.Node, *column, error) {
	repetition := parquet.Repetitions.Required
	if optional {
		repetition = parquet.Repetitions.Optional
		def++
	}
	c := &column{name: name, typ: t, optional: optional, def: def, rep: rep, leaf: -1, path: join(prefix, name)}
	if !t.IsNested() {
		c.leaf = b.leaves
		b.leaves++
		n, err := leafNode(name, t, repetition, int32(fieldID))
		return n, c, err
	}
	var kids []types.Field
	switch t.Root {
	case types.Row:
		kids = t.Fields
	case types.Variant:
		kids = variantFields
	default:
		return b.repeatedNode(c, t, repetition, fieldID, id, depth)
	}
	var nodes schema.FieldList
	for _, f := range kids {
		n, child, err := b.node(f.Name, f.Type, f.Type.Nullable, f.ID, f.ID, 0, def, rep, c.path)
		if err != nil {
			return nil, nil, tarnerr.Trace("writing Parquet schema", err, "member", f.Name)
		}
		nodes, c.children = append(nodes, n), append(c.children, child)
	}
	n, err := schema.NewGroupNode(name, repetition, nodes, int32(fieldID))
	return n, c, err
}

func (b *schemaBuilder) repeatedNode(c *column, t types.Type, repetition parquet.Repetition, fieldID, id, depth int) (schema.Node, *column, error) {
	if t.Root == types.Vector {
		return nil, nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "type cannot be written to Parquet yet", "type", t.String())
	}
	depth++
	c.repeated = true
	c.rep++
	inner := func(group, name string, t types.Type, optional bool, fieldID int) (schema.Node, error) {
		n, child, err := b.node(name, t, optional, fieldID, id, depth, c.def+1, c.rep, join(c.path, group))
		c.children = append(c.children, child)
		return n, err
	}
	if t.Root == types.Array {
		element, err := inner("list", "element", *t.Element, t.Element.Nullable, types.ElementFieldID(id, depth))
		if err != nil {
			return nil, nil, err
		}
		list, err := schema.NewGroupNode("list", parquet.Repetitions.Repeated, schema.FieldList{element}, -1)
		if err != nil {
			return nil, nil, err
		}
		n, err := schema.NewGroupNodeLogical(c.name, repetition, schema.FieldList{list}, schema.NewListLogicalType(), int32(fieldID))
		return n, c, err
	}
	key, value := t.Key, t.Element
	if t.Root == types.Multiset {
		key, value = t.Element, &types.Type{Root: types.Int}
	}
	k, err := inner("key_value", "key", key.WithNull(false), false, types.MapKeyFieldID(id, depth))
	if err != nil {
		return nil, nil, err
	}
	v, err := inner("key_value", "value", *value, value.Nullable, types.ElementFieldID(id, depth))
	if err != nil {
		return nil, nil, err
	}
	pair, err := schema.NewGroupNodeLogical("key_value", parquet.Repetitions.Repeated, schema.FieldList{k, v}, mapKeyValue{}, -1)
	if err != nil {
		return nil, nil, err
	}
	n, err := schema.NewGroupNodeLogical(c.name, repetition, schema.FieldList{pair}, schema.MapLogicalType{}, int32(fieldID))
	return n, c, err
}

// mapKeyValue gives a map's repeated group the converted type MAP_KEY_VALUE and
// no logical type, as parquet-java does.
type mapKeyValue struct{ schema.MapLogicalType }

func (mapKeyValue) IsSerialized() bool { return false }
func (mapKeyValue) ToConvertedType() (schema.ConvertedType, schema.DecimalMetadata) {
	return schema.ConvertedTypes.MapKeyValue, schema.DecimalMetadata{}
}

var variantFields = []types.Field{
	{ID: types.VariantValueID, Name: "value", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
	{ID: types.VariantMetadataID, Name: "metadata", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
}

func leafNode(name string, t types.Type, rep parquet.Repetition, id int32) (schema.Node, error) {
	plain := func(p parquet.Type) (schema.Node, error) { return schema.NewPrimitiveNode(name, rep, p, id, -1) }
	logical := func(l schema.LogicalType, p parquet.Type, width int) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(name, rep, l, p, width, id)
	}
	switch t.Root {
	case types.Boolean:
		return plain(parquet.Types.Boolean)
	case types.TinyInt:
		return logical(schema.NewIntLogicalType(8, true), parquet.Types.Int32, -1)
	case types.SmallInt:
		return logical(schema.NewIntLogicalType(16, true), parquet.Types.Int32, -1)
	case types.Int:
		return plain(parquet.Types.Int32)
	case types.BigInt:
		return plain(parquet.Types.Int64)
	case types.Float:
		return plain(parquet.Types.Float)
	case types.Double:
		return plain(parquet.Types.Double)
	case types.Char, types.VarChar:
		return logical(schema.StringLogicalType{}, parquet.Types.ByteArray, -1)
	case types.Binary, types.VarBinary, types.Blob:
		return plain(parquet.Types.ByteArray)
	case types.Date:
		return logical(schema.DateLogicalType{}, parquet.Types.Int32, -1)
	case types.Time:
		return logical(schema.NewTimeLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int32, -1)
	case types.Timestamp, types.TimestampLTZ:
		utc := t.Root == types.TimestampLTZ
		switch {
		case t.Precision <= 3:
			return logical(schema.NewTimestampLogicalTypeForce(utc, schema.TimeUnitMillis), parquet.Types.Int64, -1)
		case t.Precision <= 6:
			return logical(schema.NewTimestampLogicalTypeForce(utc, schema.TimeUnitMicros), parquet.Types.Int64, -1)
		}
		return plain(parquet.Types.Int96)
	case types.Decimal:
		l := schema.NewDecimalLogicalType(int32(t.Precision), int32(t.Scale))
		switch {
		case t.Precision <= 9:
			return logical(l, parquet.Types.Int32, -1)
		case t.Precision <= 18:
			return logical(l, parquet.Types.Int64, -1)
		}
		return logical(l, parquet.Types.FixedLenByteArray, decimalWidth(t.Precision))
	}
	return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "type cannot be written to Parquet yet", "type", t.String())
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
