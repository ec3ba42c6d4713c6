// Package rows makes the rows of the benchmarks and checks them: row i is a pure
// function of i, the same in every language that takes part, so that contestants
// write equal data and every result can be checked by its sums.
//
// Not part of the library: only benchmarks and tests use it.
package rows
