// Package commitlog keeps, beside a table, one small file for each snapshot that
// a commit set out to make: first as the intent to make it, which is durable
// before anything is published, then with how it ended. Who comes back after a
// crash finds out by it what may have landed; the system table $commits shows it.
//
// Floor F2. Written by internal/commit, shown by internal/systable.
package commitlog
