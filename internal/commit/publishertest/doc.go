// Package publishertest is the contract of commit.Publisher as tests that every
// publisher runs, with a lock and a catalog for those that need one.
//
// A test package: only tests import it.
package publishertest
