package types

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/tarnerr"
)

// FieldIDKey is the Arrow metadata key that holds a field's Paimon id. The
// Parquet writer of arrow-go carries it into the file.
const FieldIDKey = "PARQUET:field_id"

// The Arrow contract, one row per Paimon type:
//
//	BOOLEAN                        bool
//	TINYINT SMALLINT INT BIGINT    int8 int16 int32 int64
//	FLOAT DOUBLE                   float32 float64
//	DECIMAL(p, s)                  decimal128(p, s)
//	CHAR VARCHAR                   utf8
//	BINARY VARBINARY BLOB GEO*     binary
//	DATE                           date32
//	TIME                           time32[ms]
//	TIMESTAMP 0–3, 4–6, 7–9        timestamp[ms], [us], [ns]
//	… WITH LOCAL TIME ZONE         the same with zone "UTC"
//	ARRAY<T>                       list<element: T>
//	VECTOR<T, n>                   fixed_size_list<element: T>[n]
//	MAP<K, V>                      map<key: K, value: V>
//	MULTISET<T>                    map<key: T, value: int32>
//	ROW<…>                         struct<…>
//	VARIANT                        struct<value: binary, metadata: binary>
//
// Keys of maps are never null, as Parquet and Arrow want it.

// ArrowType is the Arrow type that carries t. Members of nested types carry the
// ids their own fields have; ids derived from an enclosing column come with
// [ArrowField].
func ArrowType(t Type) (arrow.DataType, error) { return arrowType(t, 0, 0) }

// ArrowField is the Arrow field of f: name, type, nullability, and Paimon's
// field id in the metadata, down to list elements, keys and values, whose ids
// derive from f's.
func ArrowField(f Field) (arrow.Field, error) {
	dt, err := arrowType(f.Type, f.ID, 0)
	if err != nil {
		return arrow.Field{}, tarnerr.Trace("mapping column to Arrow", err, "column", f.Name)
	}
	return arrowField(f.Name, dt, f.Type.Nullable, f.ID), nil
}

// ArrowSchema is the Arrow schema of a table's or a file's columns.
func ArrowSchema(fields []Field) (*arrow.Schema, error) {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		var err error
		if out[i], err = ArrowField(f); err != nil {
			return nil, err
		}
	}
	return arrow.NewSchema(out, nil), nil
}

func arrowField(name string, dt arrow.DataType, nullable bool, id int) arrow.Field {
	return arrow.Field{
		Name: name, Type: dt, Nullable: nullable,
		Metadata: arrow.NewMetadata([]string{FieldIDKey}, []string{strconv.Itoa(id)}),
	}
}

// arrowType maps t; id is that of the enclosing column or ROW member, depth
// counts the arrays and maps between.
func arrowType(t Type, id, depth int) (arrow.DataType, error) {
	switch t.Root {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case TinyInt:
		return arrow.PrimitiveTypes.Int8, nil
	case SmallInt:
		return arrow.PrimitiveTypes.Int16, nil
	case Int:
		return arrow.PrimitiveTypes.Int32, nil
	case BigInt:
		return arrow.PrimitiveTypes.Int64, nil
	case Float:
		return arrow.PrimitiveTypes.Float32, nil
	case Double:
		return arrow.PrimitiveTypes.Float64, nil
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case Char, VarChar:
		return arrow.BinaryTypes.String, nil
	case Binary, VarBinary, Blob, Geometry, Geography:
		return arrow.BinaryTypes.Binary, nil
	case Date:
		return arrow.FixedWidthTypes.Date32, nil
	case Time:
		return arrow.FixedWidthTypes.Time32ms, nil
	case Timestamp:
		return &arrow.TimestampType{Unit: TimeUnit(t.Precision)}, nil
	case TimestampLTZ:
		return &arrow.TimestampType{Unit: TimeUnit(t.Precision), TimeZone: "UTC"}, nil
	case Array, Vector, Map, Multiset, Row, Variant:
		if depth > maxDepth {
			return nil, tarnerr.New(tarnerr.Invalid, "mapping type to Arrow", "nested too deeply")
		}
		return arrowNested(t, id, depth)
	}
	return nil, tarnerr.New(tarnerr.Invalid, "mapping type to Arrow", "no such type", "type", t)
}

// TimeUnit is the Arrow unit of timestamps of a precision.
func TimeUnit(precision int) arrow.TimeUnit {
	switch {
	case precision <= 3:
		return arrow.Millisecond
	case precision <= 6:
		return arrow.Microsecond
	}
	return arrow.Nanosecond
}

func arrowNested(t Type, id, depth int) (arrow.DataType, error) {
	depth++
	switch t.Root {
	case Array, Vector:
		dt, err := arrowType(t.Element.orInvalid(), id, depth)
		if err != nil {
			return nil, err
		}
		element := arrowField("element", dt, t.Element.Nullable, ElementFieldID(id, depth))
		if t.Root == Array {
			return arrow.ListOfField(element), nil
		}
		if t.Length < 1 {
			return nil, tarnerr.New(tarnerr.Invalid, "mapping type to Arrow", "a VECTOR needs a length", "type", t)
		}
		return arrow.FixedSizeListOfField(int32(t.Length), element), nil
	case Map, Multiset:
		key, value := t.Key.orInvalid(), t.Element.orInvalid()
		if t.Root == Multiset {
			key, value = value, Type{Root: Int}
		}
		k, err := arrowType(key, id, depth)
		if err != nil {
			return nil, err
		}
		v, err := arrowType(value, id, depth)
		if err != nil {
			return nil, err
		}
		return arrow.MapOfFields(
			arrowField("key", k, false, MapKeyFieldID(id, depth)),
			arrowField("value", v, value.Nullable, ElementFieldID(id, depth))), nil
	case Variant:
		return arrow.StructOf(
			arrowField("value", arrow.BinaryTypes.Binary, false, VariantValueID),
			arrowField("metadata", arrow.BinaryTypes.Binary, false, VariantMetadataID)), nil
	}
	fields := make([]arrow.Field, len(t.Fields))
	for i, f := range t.Fields {
		dt, err := arrowType(f.Type, f.ID, 0)
		if err != nil {
			return nil, tarnerr.Trace("mapping member to Arrow", err, "member", f.Name)
		}
		fields[i] = arrowField(f.Name, dt, f.Type.Nullable, f.ID)
	}
	return arrow.StructOf(fields...), nil
}

// FieldID is the Paimon id an Arrow field carries, false when it carries none.
func FieldID(f arrow.Field) (int, bool) {
	s, ok := f.Metadata.GetValue(FieldIDKey)
	if !ok {
		return 0, false
	}
	id, err := strconv.Atoi(s)
	return id, err == nil
}
