// Package snapshot reads and writes snapshot files and the LATEST and EARLIEST
// hints: the sequence of versions a table has.
//
// Floor F2. Finding the latest snapshot never lists a directory unless the hint
// is wrong. Publishing is the commit stage's work.
package snapshot
