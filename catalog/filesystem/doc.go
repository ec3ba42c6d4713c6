// Package filesystem is the catalog that is nothing but directories: a database
// is "<name>.db" below the warehouse, a table a directory with schema files.
// Any other implementation of Paimon's filesystem catalog sees the same tables.
//
// Floor F6.
package filesystem
