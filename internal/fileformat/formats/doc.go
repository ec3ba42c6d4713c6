// Package formats finds a data file format by its name, so that the contract in
// fileformat stays free of the packages that fulfil it.
//
// Floor F2.
package formats
