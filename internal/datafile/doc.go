// Package datafile describes one data file: its name, size, key range,
// statistics, sequence numbers and level, as manifests carry it.
//
// Floor F2. One of the five nouns that travel between stages.
package datafile
