// Command replay carries scenarios out with Tarn alone, so that Java can read the
// result as its own.
//
//	go run ./interop/replay -w DIR SCENARIO.json…
//
// The exit code tells the kind of the first failure (docs/errors.md); operations
// that Tarn does not have yet are refused by name as Unsupported.
//
// Floor: tests.
package main
