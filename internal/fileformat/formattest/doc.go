// Package formattest has what the tests of all file formats need: files in
// memory, batches from values, rows as text, and the tests that every format
// must pass.
//
// Floor T.
package formattest
