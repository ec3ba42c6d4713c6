// Package variant gives the JSON text of VARIANT values, which tables hold in the
// binary encoding that Paimon shares with Spark and Parquet: a value and a
// dictionary of its field names.
//
// Floor F1. Rows are written out as text with it.
package variant
