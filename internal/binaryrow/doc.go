// Package binaryrow reads and writes Paimon's BinaryRow, BinaryArray and
// BinaryMap, the little-endian row layout behind partitions, keys, statistics
// and bucket hashes.
//
// Floor F1. Layout: docs/format/binaryrow.md.
package binaryrow
