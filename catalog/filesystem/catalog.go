package filesystem

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

// databaseSuffix ends the directory name of a database.
const databaseSuffix = ".db"

// systemDatabase is Paimon's name for tables about the whole catalog.
const systemDatabase = "sys"

// Catalog is a warehouse directory. Safe for concurrent use.
type Catalog struct {
	fio        fileio.FileIO
	warehouse  string
	components paimon.Components
}

var _ catalog.Catalog = (*Catalog)(nil)

// New returns the catalog of the directory warehouse of components.FileIO. Nothing is
// read; a warehouse is made with its first database.
func New(warehouse string, components paimon.Components) (*Catalog, error) {
	if err := fileio.CheckPath("opening warehouse", warehouse); err != nil {
		return nil, err
	}
	return &Catalog{fio: components.FileIO, warehouse: warehouse, components: components}, nil
}

// Close implements catalog.Catalog. It holds nothing open.
func (c *Catalog) Close() error { return nil }

// Warehouse implements catalog.Catalog.
func (c *Catalog) Warehouse() string { return c.uri(c.warehouse) }

// CreateDatabase implements catalog.Catalog.
func (c *Catalog) CreateDatabase(ctx context.Context, name string, ifNotExists bool) error {
	const op = "creating database"
	if err := checkDatabase(op, name); err != nil {
		return err
	}
	there, err := c.isDir(ctx, c.databaseDir(name))
	if err != nil {
		return tarnerr.Trace(op, err, "database", name)
	}
	if there {
		if ifNotExists {
			return nil
		}
		return tarnerr.New(tarnerr.AlreadyExists, op, "there is one of this name", "database", name)
	}
	return repeatable(op, c.fio.MakeDir(ctx, c.databaseDir(name)), "database", name)
}

// ListDatabases implements catalog.Catalog.
func (c *Catalog) ListDatabases(ctx context.Context) ([]string, error) {
	var names []string
	for e, err := range fileio.All(ctx, c.fio, c.warehouse, fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace("listing databases", err, "warehouse", c.uri(c.warehouse))
		}
		name, ok := strings.CutSuffix(path.Base(e.Path), databaseSuffix)
		if e.IsDir && ok && table.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		if err := c.checkWarehouse(ctx, "listing databases"); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// DropDatabase implements catalog.Catalog.
func (c *Catalog) DropDatabase(ctx context.Context, name string, ifExists, cascade bool) error {
	const op = "dropping database"
	if err := checkDatabase(op, name); err != nil {
		return err
	}
	if err := c.checkDatabaseThere(ctx, op, name); err != nil {
		if ifExists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil
		}
		return err
	}
	tables, err := c.ListTables(ctx, name)
	if err != nil {
		return tarnerr.Trace(op, err, "database", name)
	}
	if len(tables) > 0 && !cascade {
		return tarnerr.New(tarnerr.Invalid, op, "the database has tables", "database", name, "tables", len(tables)).
			WithHint("Drop them first, or drop with cascade.")
	}
	for _, t := range tables {
		if err := c.DropTable(ctx, table.Identifier{Database: name, Table: t}, true); err != nil {
			return tarnerr.Trace(op, err, "database", name)
		}
	}
	return repeatable(op, c.fio.DeleteAll(ctx, c.databaseDir(name)), "database", name)
}

// repeatable adds the place to an error of a call that can be made again whether
// it had its effect or not: to a caller it is as good as unavailable.
func repeatable(op string, err error, kv ...any) error {
	if err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err, kv...)
	}
	return tarnerr.Trace(op, err, kv...)
}

func (c *Catalog) databaseDir(name string) string {
	return path.Join(c.warehouse, name+databaseSuffix)
}

func (c *Catalog) tableDir(id table.Identifier) string {
	return path.Join(c.databaseDir(id.Database), id.Table)
}

func (c *Catalog) uri(p string) string { return c.fio.URI(p) }

// checkDatabaseThere returns NotFound when there is no such database, and says
// so of the warehouse when that is missing.
func (c *Catalog) checkDatabaseThere(ctx context.Context, op, name string) error {
	there, err := c.isDir(ctx, c.databaseDir(name))
	if err != nil {
		return tarnerr.Trace(op, err, "database", name)
	}
	if there {
		return nil
	}
	if err := c.checkWarehouse(ctx, op); err != nil {
		return err
	}
	return tarnerr.New(tarnerr.NotFound, op, "no such database", "database", name, "warehouse", c.uri(c.warehouse)).
		WithHint("Create it first, or check the spelling in the list of databases.")
}

// checkWarehouse returns NotFound when the warehouse directory is missing.
func (c *Catalog) checkWarehouse(ctx context.Context, op string) error {
	there, err := c.isDir(ctx, c.warehouse)
	if err != nil {
		return tarnerr.Trace(op, err, "warehouse", c.uri(c.warehouse))
	}
	if there {
		return nil
	}
	return tarnerr.New(tarnerr.NotFound, op, "no such warehouse", "warehouse", c.uri(c.warehouse)).
		WithHint("Check the path; the first database created in a new directory makes it a warehouse.")
}

// isDir reports that something is in dir or, for an empty directory, that its
// parent lists it: an object store has no directories to ask for.
func (c *Catalog) isDir(ctx context.Context, dir string) (bool, error) {
	page, err := c.fio.List(ctx, dir, fileio.ListOptions{Dirs: true, Limit: 1})
	if err != nil || len(page.Entries) > 0 || dir == "/" {
		return err == nil, err
	}
	for e, err := range fileio.All(ctx, c.fio, path.Dir(dir), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return false, err
		}
		if e.Path == dir {
			return e.IsDir, nil
		}
	}
	return false, nil
}

// checkDatabase refuses names that cannot be made or dropped.
func checkDatabase(op, name string) error {
	if err := table.CheckName(name); err != nil {
		return tarnerr.Trace(op, err)
	}
	if name == systemDatabase {
		return tarnerr.New(tarnerr.Invalid, op, "the name belongs to Paimon's system database", "database", name).
			WithHint("Choose another name.")
	}
	return nil
}

// checkTable refuses identifiers that do not name a plain table.
func checkTable(op string, id table.Identifier) error {
	if err := checkDatabase(op, id.Database); err != nil {
		return err
	}
	if err := table.CheckName(id.Table); err != nil {
		return tarnerr.Trace(op, err)
	}
	if id.System != "" {
		return tarnerr.New(tarnerr.Invalid, op, "a system table cannot be changed", "table", id).
			WithHint("Name the table without $%s.", id.System)
	}
	return nil
}

// checkMain is checkTable for what cannot be done to a branch.
func checkMain(op string, id table.Identifier) error {
	if err := checkTable(op, id); err != nil {
		return err
	}
	if id.Branch != "" {
		return tarnerr.New(tarnerr.Invalid, op, "a branch is no table of its own", "table", id).
			WithHint("Name the table without $branch_%s.", id.Branch)
	}
	return nil
}
