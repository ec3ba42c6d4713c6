// Package batch holds the reader of Arrow record batches that stages exchange,
// and the column gather, slice and concatenation that merges are made of.
//
// Floor F0.
package batch
