package types

import "math"

// Names and ids of the columns a data file carries beside the table's own.
// Source: format-map §13.
const (
	KeyPrefix = "_KEY_"

	SequenceNumberName = "_SEQUENCE_NUMBER"
	ValueKindName      = "_VALUE_KIND"
	LevelName          = "_LEVEL"
	RowKindName        = "rowkind" // of the audit log
	RowIDName          = "_ROW_ID"

	// SystemFieldIDStart is the first id no table column may have.
	SystemFieldIDStart = math.MaxInt32 / 2

	SequenceNumberID = math.MaxInt32 - 1
	ValueKindID      = math.MaxInt32 - 2
	LevelID          = math.MaxInt32 - 3
	RowKindID        = math.MaxInt32 - 4
	RowIDID          = math.MaxInt32 - 5

	structuredIDBase  = math.MaxInt32 / 4
	structuredIDDepth = 1 << 10
)

// VariantValueID and VariantMetadataID are the Parquet field ids inside a VARIANT group.
const (
	VariantValueID    = 0
	VariantMetadataID = 1
)

// KeyFieldID is the id of the key column of the table column with the id given.
func KeyFieldID(id int) int { return SystemFieldIDStart + id }

// KeyField is the key column of f in key-value files: _KEY_ before the name, a
// shifted id, the type as it is.
func KeyField(f Field) Field {
	return Field{ID: KeyFieldID(f.ID), Name: KeyPrefix + f.Name, Type: f.Type}
}

// SequenceNumberField is the column _SEQUENCE_NUMBER of key-value files, and of
// files that carry row ids.
func SequenceNumberField() Field {
	return Field{ID: SequenceNumberID, Name: SequenceNumberName, Type: Type{Root: BigInt}}
}

// ValueKindField is the column _VALUE_KIND of key-value files.
func ValueKindField() Field {
	return Field{ID: ValueKindID, Name: ValueKindName, Type: Type{Root: TinyInt}}
}

// RowIDField is the column _ROW_ID that files of tables with row tracking carry when
// their rows come from other files.
func RowIDField() Field {
	return Field{ID: RowIDID, Name: RowIDName, Type: Type{Root: BigInt}}
}

// RowTrackingFields are what row tracking adds to a table's columns: the row id and
// the sequence number, the snapshot that a row was last changed in.
// Source: paimon-api SpecialFields#rowTypeWithRowTracking.
func RowTrackingFields() []Field { return []Field{RowIDField(), SequenceNumberField()} }

// IsSystemName reports a column name that tables may not use.
func IsSystemName(name string) bool {
	switch name {
	case SequenceNumberName, ValueKindName, LevelName, RowKindName, RowIDName:
		return true
	}
	return len(name) >= len(KeyPrefix) && name[:len(KeyPrefix)] == KeyPrefix
}

// ElementFieldID is the file-level id of an array's element or a map's value:
// id is that of the enclosing column or ROW member, depth counts arrays and
// maps from 1. Java's int arithmetic, overflow included.
func ElementFieldID(id, depth int) int {
	return int(int32(structuredIDBase) + int32(id)*structuredIDDepth + int32(depth))
}

// MapKeyFieldID is the file-level id of a map's key; see [ElementFieldID].
func MapKeyFieldID(id, depth int) int {
	return int(int32(structuredIDBase) - int32(id)*structuredIDDepth - int32(depth))
}
