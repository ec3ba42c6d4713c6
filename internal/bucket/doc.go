// Package bucket assigns rows to the buckets of a partition by the hash of
// their bucket key, as Java's default and mod bucket functions do.
//
// Floor F3. Hash and functions: docs/format/binaryrow.md.
package bucket
