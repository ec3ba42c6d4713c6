// Package run is the input and output of sorted runs and append rows: it opens
// data files as batches under the table's current schema, and writes batches to
// data files that roll at a target size, giving their metadata.
//
// Floor F3. Between flush or compaction above and file formats below.
package run
