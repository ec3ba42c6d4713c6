package table

import "context"

// Lock is a lock outside of the storage that every writer of a table takes: in a
// database, a metastore, a lock service. With one, tables can be written on a
// storage that cannot create a file only when it is absent. Safe for concurrent use.
type Lock interface {
	// Run holds the lock of a table while it calls f, once, and returns f's error.
	// f's context ends when the lock is lost. Without the lock Run does not call f. When
	// the lock was, or may have been, lost before f returned, Run returns an error
	// of its own: whatever f said, another one may have worked beside it.
	Run(ctx context.Context, database, table string, f func(ctx context.Context) error) error
}
