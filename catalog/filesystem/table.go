package filesystem

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

// CreateTable implements catalog.Catalog. A table is there from the moment its
// first schema file is.
func (c *Catalog) CreateTable(ctx context.Context, id table.Identifier, spec schema.Spec, ifNotExists bool) error {
	const op = "creating table"
	if err := checkMain(op, id); err != nil {
		return err
	}
	if err := c.checkDatabaseThere(ctx, op, id.Database); err != nil {
		return err
	}
	if err := checkOptions(op, id, spec.Options); err != nil {
		return err
	}
	there, err := c.hasSchema(ctx, id)
	if err != nil {
		return tarnerr.Trace(op, err, "table", id)
	}
	if !there {
		if err := c.checkNoRemains(ctx, op, id); err != nil {
			return err
		}
		_, err := c.schemas(id).Create(ctx, spec)
		if err == nil {
			return nil
		}
		if tarnerr.KindOf(err) != tarnerr.AlreadyExists {
			return tarnerr.Trace(op, err, "table", id)
		}
	}
	if ifNotExists {
		return nil
	}
	return tarnerr.New(tarnerr.AlreadyExists, op, "there is one of this name", "table", id)
}

// checkOptions refuses options that say where or when a table is made.
func checkOptions(op string, id table.Identifier, options map[string]string) error {
	if p, ok := options["path"]; ok {
		return tarnerr.New(tarnerr.Invalid, op, "this catalog decides where its tables are", "table", id, "path", p).
			WithHint("Leave the option path away.")
	}
	if v := options["auto-create"]; strings.EqualFold(v, "true") {
		return tarnerr.New(tarnerr.Invalid, op, "a table in a catalog is not created by being written to", "table", id, "auto-create", v).
			WithHint("Leave the option auto-create away.")
	}
	return nil
}

// checkNoRemains refuses to make a table where snapshots lie without a schema:
// they would come back to life in the new table.
func (c *Catalog) checkNoRemains(ctx context.Context, op string, id table.Identifier) error {
	dir := layout.Table{Dir: c.tableDir(id)}.SnapshotDir()
	page, err := c.fio.List(ctx, dir, fileio.ListOptions{Limit: 1})
	if err != nil {
		return tarnerr.Trace(op, err, "table", id)
	}
	if len(page.Entries) == 0 {
		return nil
	}
	return tarnerr.New(tarnerr.AlreadyExists, op, "the directory holds snapshots of a table that lost its schema", "table", id, "directory", c.uri(dir)).
		WithHint("Choose another name, or remove the directory.")
}

// LoadTable implements catalog.Catalog.
func (c *Catalog) LoadTable(ctx context.Context, id table.Identifier) (table.Table, error) {
	const op = "loading table"
	for _, n := range []string{id.Database, id.Table} {
		if err := table.CheckName(n); err != nil {
			return nil, tarnerr.Trace(op, err)
		}
	}
	if id.Branch != "" {
		if err := table.CheckBranch(id.Branch); err != nil {
			return nil, tarnerr.Trace(op, err)
		}
	}
	if id.Database == systemDatabase {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "tables of the system database", "table", id).
			WithHint("List databases and tables instead.")
	}
	t, err := paimon.Open(ctx, c.components, id, c.tableDir(id))
	if err != nil && tarnerr.KindOf(err) == tarnerr.NotFound {
		if there, askErr := c.hasSchema(ctx, id); askErr == nil && !there {
			return nil, c.notFound(ctx, op, id)
		}
	}
	return t, err
}

// ListTables implements catalog.Catalog: the directories that hold a schema.
func (c *Catalog) ListTables(ctx context.Context, database string) ([]string, error) {
	const op = "listing tables"
	if err := table.CheckName(database); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if database == systemDatabase {
		return nil, nil
	}
	var names []string
	for e, err := range fileio.All(ctx, c.fio, c.databaseDir(database), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace(op, err, "database", database)
		}
		name := path.Base(e.Path)
		if !e.IsDir || table.CheckName(name) != nil {
			continue
		}
		there, err := c.hasSchema(ctx, table.Identifier{Database: database, Table: name})
		if err != nil {
			return nil, tarnerr.Trace(op, err, "database", database)
		}
		if there {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		if err := c.checkDatabaseThere(ctx, op, database); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// AlterTable implements catalog.Catalog.
func (c *Catalog) AlterTable(ctx context.Context, id table.Identifier, changes ...schema.Change) error {
	const op = "altering table"
	if err := checkTable(op, id); err != nil {
		return err
	}
	if err := c.checkTableThere(ctx, op, id); err != nil {
		return err
	}
	_, err := c.schemas(id).Alter(ctx, changes...)
	return tarnerr.Trace(op, err, "table", id)
}

// RenameTable implements catalog.Catalog: the table's directory moves in one step.
func (c *Catalog) RenameTable(ctx context.Context, from, to table.Identifier) error {
	const op = "renaming table"
	for _, id := range []table.Identifier{from, to} {
		if err := checkMain(op, id); err != nil {
			return err
		}
	}
	if !c.fio.Capabilities().Rename {
		return tarnerr.New(tarnerr.Unsupported, op, "the storage cannot move a directory in one step", "table", from, "to", to).
			WithHint("Copy the table into a new one.")
	}
	if err := c.checkTableThere(ctx, op, from); err != nil {
		return err
	}
	if err := c.checkDatabaseThere(ctx, op, to.Database); err != nil {
		return err
	}
	err := c.fio.Rename(ctx, c.tableDir(from), c.tableDir(to))
	if err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return c.resolveRename(ctx, op, from, to, err)
	}
	return tarnerr.Trace(op, err, "table", from, "to", to)
}

// resolveRename finds out where the table is after a move of unknown effect.
func (c *Catalog) resolveRename(ctx context.Context, op string, from, to table.Identifier, cause error) error {
	there, err := c.hasSchema(ctx, to)
	still, stillErr := c.hasSchema(ctx, from)
	switch {
	case err == nil && stillErr == nil && there && !still:
		return nil
	case err == nil && stillErr == nil && still && !there:
		return tarnerr.Wrap(tarnerr.Unavailable, op, cause, "table", from, "to", to)
	}
	return tarnerr.Wrap(tarnerr.CommitStateUnknown, op, cause, "table", from, "to", to).
		WithHint("Look for the table under both names before you repeat it.")
}

// DropTable implements catalog.Catalog.
func (c *Catalog) DropTable(ctx context.Context, id table.Identifier, ifExists bool) error {
	const op = "dropping table"
	if err := checkMain(op, id); err != nil {
		return err
	}
	if err := c.checkTableThere(ctx, op, id); err != nil {
		if ifExists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil
		}
		return err
	}
	// What names data goes first and the schema last: a drop that fails halfway
	// leaves an empty table that can be dropped again, and never snapshots that a
	// new table of this name would find.
	t := layout.Table{Dir: c.tableDir(id)}
	for _, dir := range []string{t.BranchesDir(), t.TagDir(), t.ChangelogDir(), t.SnapshotDir(), t.Dir} {
		if err := repeatable(op, c.fio.DeleteAll(ctx, dir), "table", id); err != nil {
			return err
		}
	}
	return nil
}

func (c *Catalog) hasSchema(ctx context.Context, id table.Identifier) (bool, error) {
	// The first schema is there unless someone removed it; only then is a listing needed.
	there, err := fileio.Exists(ctx, c.fio, c.layout(id).SchemaFile(0))
	if there || err != nil {
		return there, err
	}
	ids, err := c.schemas(id).IDs(ctx)
	return len(ids) > 0, err
}

func (c *Catalog) checkTableThere(ctx context.Context, op string, id table.Identifier) error {
	there, err := c.hasSchema(ctx, id)
	if err != nil {
		return tarnerr.Trace(op, err, "table", id)
	}
	if !there {
		return c.notFound(ctx, op, id)
	}
	return nil
}

// notFound says what is missing: the warehouse, the database, the table or the branch.
func (c *Catalog) notFound(ctx context.Context, op string, id table.Identifier) error {
	if err := c.checkDatabaseThere(ctx, op, id.Database); err != nil {
		return err
	}
	return tarnerr.New(tarnerr.NotFound, op, "no such table", "table", id, "warehouse", c.uri(c.warehouse)).
		WithHint("Check the spelling in the list of tables.")
}

func (c *Catalog) schemas(id table.Identifier) *schema.Store {
	return schema.NewStore(c.fio, c.layout(id).BranchDir(), c.components.Env)
}

func (c *Catalog) layout(id table.Identifier) layout.Table {
	return layout.Table{Dir: c.tableDir(id), Branch: id.Branch}
}
