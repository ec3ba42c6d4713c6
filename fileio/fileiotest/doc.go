// Package fileiotest is the contract of fileio.FileIO as one test suite that
// every backend and every layer runs.
//
// Floor F1, tests only.
package fileiotest
