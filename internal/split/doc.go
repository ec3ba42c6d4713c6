// Package split holds the unit of reading: files of one (partition, bucket) of
// one snapshot that must be read together. It serialises to the bytes of Java's
// DataSplit.
//
// Floor F2. One of the five nouns that travel between stages.
package split
