// Package golden opens the tables that other implementations wrote, kept in
// testdata/golden.tar.zst, each in an in-memory warehouse of its own, with the
// rows that must come out. testdata/README.md says what they are.
//
// Tests only.
package golden
