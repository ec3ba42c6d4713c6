// Package sketch unites sketches of Apache DataSketches in the form in which Java
// stores them: theta sketches (the smallest hashes of the items) and HLL sketches (the
// longest runs of zeroes of hashes, by slot). The bytes of a union are those that
// datasketches-java 4.2.0 gives where Paimon calls it.
//
// Floor F3. Aggregate functions theta_sketch and hll_sketch are made of it.
package sketch
