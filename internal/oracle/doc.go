// Package oracle says what a key table holds, from the rows that were written to
// it: row after row and key after key, with no batches, runs, levels or files. The
// engine's merges and whole tables are tested against it.
//
// It knows the merge engines as Java Paimon 1.4.2 has them (mergetree/compact of
// paimon-core), sequence fields, sequence groups, row kinds, what is ignored, and
// aggregate functions but rbm64 and sketches, numbers as BIGINT. Floor T: tests import it.
package oracle
