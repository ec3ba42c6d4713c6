// Package layout knows every path and name below a table's directory. It does no I/O.
//
// Floor F2. Names: docs/format/layout.md.
package layout
