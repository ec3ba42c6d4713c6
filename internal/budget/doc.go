// Package budget is the memory budget of a process, shared by all tables and
// buckets: write buffers, merge readers, caches and planning reserve from it.
//
// Floor F0.
package budget
