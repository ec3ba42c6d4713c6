// Package catalogtest is the contract of catalog.Catalog as one test suite that
// every implementation runs.
//
// Tests only.
package catalogtest
