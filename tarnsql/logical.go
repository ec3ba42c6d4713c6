//go:build cgo && !tarn_nosql

package tarnsql

import (
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// How Paimon's types show in DuckDB:
//
//	BOOLEAN … DOUBLE, DECIMAL      the same
//	CHAR VARCHAR                   VARCHAR
//	BINARY VARBINARY BLOB GEO*     BLOB
//	DATE, TIME                     DATE, TIME
//	TIMESTAMP 0–3, 4–6, 7–9        TIMESTAMP_MS, TIMESTAMP, TIMESTAMP_NS
//	… WITH LOCAL TIME ZONE         TIMESTAMPTZ, which keeps microseconds
//	ARRAY, VECTOR                  LIST, ARRAY
//	MAP, MULTISET                  MAP
//	ROW, VARIANT                   STRUCT

// logicalType is DuckDB's type for t; the caller destroys it.
func logicalType(t types.Type) (mapping.LogicalType, error) {
	switch t.Root {
	case types.Decimal:
		return mapping.CreateDecimalType(uint8(t.Precision), uint8(t.Scale)), nil
	case types.Array, types.Vector:
		child, err := logicalType(*t.Element)
		if err != nil {
			return child, err
		}
		defer mapping.DestroyLogicalType(&child)
		if t.Root == types.Array {
			return mapping.CreateListType(child), nil
		}
		return mapping.CreateArrayType(child, mapping.IdxT(t.Length)), nil
	case types.Map, types.Multiset:
		key, value := entryTypes(t)
		k, err := logicalType(key)
		if err != nil {
			return k, err
		}
		defer mapping.DestroyLogicalType(&k)
		v, err := logicalType(value)
		if err != nil {
			return v, err
		}
		defer mapping.DestroyLogicalType(&v)
		return mapping.CreateMapType(k, v), nil
	case types.Row, types.Variant:
		return structType(members(t))
	}
	id, ok := flatTypes[t.Root]
	if t.Root == types.Timestamp {
		id, ok = timestampType(t.Precision), true
	}
	if !ok {
		return mapping.LogicalType{}, tarnerr.New(tarnerr.Unsupported, "mapping type to DuckDB", "this type in SQL", "type", t)
	}
	return mapping.CreateLogicalType(id), nil
}

func structType(fields []types.Field) (mapping.LogicalType, error) {
	var kinds []mapping.LogicalType
	defer func() {
		for i := range kinds {
			mapping.DestroyLogicalType(&kinds[i])
		}
	}()
	names := make([]string, len(fields))
	for i, f := range fields {
		k, err := logicalType(f.Type)
		if err != nil {
			return k, tarnerr.Trace("mapping type to DuckDB", err, "member", f.Name)
		}
		kinds = append(kinds, k)
		names[i] = f.Name
	}
	return mapping.CreateStructType(kinds, names), nil
}

var flatTypes = map[types.Root]mapping.Type{
	types.Boolean: mapping.TypeBoolean, types.TinyInt: mapping.TypeTinyInt, types.SmallInt: mapping.TypeSmallInt,
	types.Int: mapping.TypeInteger, types.BigInt: mapping.TypeBigInt, types.Float: mapping.TypeFloat, types.Double: mapping.TypeDouble,
	types.Char: mapping.TypeVarchar, types.VarChar: mapping.TypeVarchar,
	types.Binary: mapping.TypeBlob, types.VarBinary: mapping.TypeBlob, types.Blob: mapping.TypeBlob,
	types.Geometry: mapping.TypeBlob, types.Geography: mapping.TypeBlob,
	types.Date: mapping.TypeDate, types.Time: mapping.TypeTime, types.TimestampLTZ: mapping.TypeTimestampTZ,
}

func timestampType(precision int) mapping.Type {
	switch {
	case precision <= 3:
		return mapping.TypeTimestampMS
	case precision <= 6:
		return mapping.TypeTimestamp
	}
	return mapping.TypeTimestampNS
}

// entryTypes are the types of the keys and values of a MAP or MULTISET.
func entryTypes(t types.Type) (key, value types.Type) {
	if t.Root == types.Multiset {
		return *t.Element, types.Type{Root: types.Int}
	}
	return *t.Key, *t.Element
}

// members are the fields of a ROW, or of the struct that carries a VARIANT.
func members(t types.Type) []types.Field {
	if t.Root == types.Row {
		return t.Fields
	}
	blob := types.Type{Root: types.VarBinary, Length: types.MaxLength}
	return []types.Field{{Name: "value", Type: blob}, {Name: "metadata", Type: blob}}
}

// castName is the type that CAST in DuckDB names to get what t's column takes.
func castName(t types.Type) string {
	switch t.Root {
	case types.Boolean:
		return "BOOLEAN"
	case types.TinyInt:
		return "TINYINT"
	case types.SmallInt:
		return "SMALLINT"
	case types.Int:
		return "INTEGER"
	case types.BigInt:
		return "BIGINT"
	case types.Float:
		return "FLOAT"
	case types.Double:
		return "DOUBLE"
	case types.Decimal:
		return decimalName(t.Precision, t.Scale)
	case types.Char, types.VarChar:
		return "VARCHAR"
	case types.Date:
		return "DATE"
	case types.Time:
		return "TIME"
	case types.Timestamp:
		return map[mapping.Type]string{
			mapping.TypeTimestampMS: "TIMESTAMP_MS", mapping.TypeTimestamp: "TIMESTAMP", mapping.TypeTimestampNS: "TIMESTAMP_NS",
		}[timestampType(t.Precision)]
	case types.TimestampLTZ:
		return "TIMESTAMPTZ"
	case types.Array:
		return castName(*t.Element) + "[]"
	case types.Vector:
		return castName(*t.Element) + "[" + itoa(t.Length) + "]"
	case types.Map, types.Multiset:
		key, value := entryTypes(t)
		return "MAP(" + castName(key) + ", " + castName(value) + ")"
	case types.Row, types.Variant:
		out := "STRUCT("
		for i, f := range members(t) {
			if i > 0 {
				out += ", "
			}
			out += quoteName(f.Name) + " " + castName(f.Type)
		}
		return out + ")"
	}
	return "BLOB"
}
