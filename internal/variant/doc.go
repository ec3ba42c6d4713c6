// Package variant reads and writes VARIANT values as JSON text. Tables hold them in the
// binary encoding that Paimon shares with Spark and Parquet: a value and a dictionary of
// its field names.
//
// Floor F1. Rows are read from text and written out as text with it.
package variant
