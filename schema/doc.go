// Package schema holds table schemas: their JSON files as Java writes them,
// their creation and validation, changes, and the mapping of files written
// under an older schema to the current one by field id.
//
// Floor F2.
package schema
