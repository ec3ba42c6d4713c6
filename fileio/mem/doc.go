// Package mem is a storage backend in memory, for tests, golden tables and
// simulations. Its three profiles behave like a POSIX file system, an object
// store with conditional create, and an object store without it.
//
// Floor F1.
package mem
