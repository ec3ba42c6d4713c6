// Package rowtext writes rows as canonical JSON lines and CSV, and reads both
// back into batches of a table's types, telling line, column, value and reason
// of what does not fit.
//
// Floor F1. The canonical forms: docs/format/rows.md.
package rowtext
