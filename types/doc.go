// Package types holds Paimon's logical types, row kinds and fields, and the
// one table that maps them to Arrow.
//
// Floor F0: it knows no storage and no other Tarn package but tarnerr.
package types
