// Package avro reads and writes Avro data files: object containers whose records
// are decoded straight into Arrow buffers and encoded straight from them.
// Columns have no ids in such files and are found by name, and there is nothing
// to skip by but the rows' numbers. docs/format/avro.md has the details.
//
// Floor F1.
package avro
