// Package parquet reads and writes Parquet data files: written exactly as
// Paimon's Java writer lays them out, column by column in parallel; read by a
// decoder of its own that goes from pages straight to Arrow buffers and skips
// row groups and pages by statistics. docs/format/parquet.md has the details.
//
// Floor F1.
package parquet
