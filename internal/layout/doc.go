// Package layout knows every path and name below a table's directory: metadata
// files, partition and bucket directories, and the names of new files. It does no I/O.
//
// Floor F2. Names: docs/format/layout.md.
package layout
