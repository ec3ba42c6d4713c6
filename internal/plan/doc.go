// Package plan turns a snapshot and a predicate into splits: manifests, then
// entries, then files are left out that cannot hold a matching row, and what
// remains is cut into units that can be read apart from each other.
//
// Floor F4. Its splits go to package read. INV-PLAN-1: pruning never drops a
// version of a key that another version depends on.
package plan
