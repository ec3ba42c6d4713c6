package catalog

import (
	"context"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
)

// Catalog is a set of databases with tables. Safe for concurrent use.
type Catalog interface {
	// CreateDatabase makes a database; AlreadyExists when it is there, unless ifNotExists.
	CreateDatabase(ctx context.Context, name string, ifNotExists bool) error
	// ListDatabases returns the names, sorted.
	ListDatabases(ctx context.Context) ([]string, error)
	// DropDatabase removes a database; with tables in it only when cascade.
	DropDatabase(ctx context.Context, name string, ifExists, cascade bool) error

	// CreateTable validates spec as Java does and makes the table.
	CreateTable(ctx context.Context, id table.Identifier, spec schema.Spec, ifNotExists bool) error
	// LoadTable opens a table with its latest schema, or a system table.
	LoadTable(ctx context.Context, id table.Identifier) (table.Table, error)
	// ListTables returns the table names of a database, sorted.
	ListTables(ctx context.Context, database string) ([]string, error)
	// AlterTable applies changes in one new schema; of two concurrent ALTERs one
	// wins and the other is validated again on its result.
	AlterTable(ctx context.Context, id table.Identifier, changes ...schema.Change) error
	// RenameTable moves a table, also into another database.
	RenameTable(ctx context.Context, from, to table.Identifier) error
	// DropTable removes a table with all its files.
	DropTable(ctx context.Context, id table.Identifier, ifExists bool) error

	// Warehouse is the URI of the directory below which tables lie unless they say
	// otherwise; "" when the catalog has none.
	Warehouse() string

	Close() error
}
