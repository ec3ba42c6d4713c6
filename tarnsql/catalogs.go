//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// firstCatalog is the name of the catalog that Open was given.
const firstCatalog = "warehouse"

// catalogs are those that names can belong to. Safe for concurrent use.
type catalogs struct {
	mu      sync.Mutex
	byName  map[string]catalog.Catalog
	bases   map[string]string // the database that USE CATALOG makes the current one
	made    []catalog.Catalog // by CREATE CATALOG; they are closed with the DB
	current string            // catalog
	base    string            // database
}

func newCatalogs(first catalog.Catalog, database string) *catalogs {
	return &catalogs{
		byName: map[string]catalog.Catalog{firstCatalog: first}, bases: map[string]string{firstCatalog: database},
		current: firstCatalog, base: database,
	}
}

// now are the names of the current catalog and database.
func (c *catalogs) now() (name, database string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.base
}

func (c *catalogs) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.byName))
}

// find returns the catalog called name, or the only one that differs in case.
func (c *catalogs) find(name string) (string, catalog.Catalog, error) {
	all := c.names()
	found, ok := foldedName(all, name)
	if !ok {
		return "", nil, tarnerr.New(tarnerr.NotFound, "looking up catalog", "no such catalog", "catalog", name).
			WithHint("%s", suggestion(name, all, "catalogs"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return found, c.byName[found], nil
}

// use makes a database the current one, of a catalog that is there.
func (c *catalogs) use(name, database string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if database == "" {
		database = c.bases[name]
	}
	c.current, c.base = name, database
}

func (c *catalogs) add(name string, cat catalog.Catalog, database string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[name] != nil {
		return false
	}
	c.byName[name], c.bases[name] = cat, database
	c.made = append(c.made, cat)
	return true
}

// remove forgets a catalog; statements that run go on with it.
func (c *catalogs) remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == c.current {
		return tarnerr.New(tarnerr.Invalid, "dropping catalog", "it is the current one", "catalog", name).
			WithHint("USE CATALOG another one first.")
	}
	delete(c.byName, name)
	delete(c.bases, name)
	return nil
}

func (c *catalogs) close() error {
	c.mu.Lock()
	made := c.made
	c.made = nil
	c.mu.Unlock()
	var errs []error
	for _, cat := range made {
		errs = append(errs, cat.Close())
	}
	return errors.Join(errs...)
}

// createCatalog opens the warehouse that the options name. As in Flink, the
// catalog has its default database from the start.
func (db *DB) createCatalog(ctx context.Context, c sqltext.CreateCatalog) error {
	const op = "creating catalog"
	if db.opts.OpenWarehouse == nil {
		return tarnerr.New(tarnerr.Unsupported, op, "CREATE CATALOG: this program opens no other warehouses", "catalog", c.Name.Text)
	}
	if slices.Contains(db.cats.names(), c.Name.Text) {
		if c.IfNotExists {
			return nil
		}
		return tarnerr.New(tarnerr.AlreadyExists, op, "there is one of this name", "catalog", c.Name.Text)
	}
	warehouse, database := "", "default"
	for _, key := range slices.Sorted(maps.Keys(c.Options)) {
		switch value := c.Options[key]; {
		case key == "warehouse":
			warehouse = value
		case key == "default-database":
			database = value
		case key == "type" && strings.EqualFold(value, "paimon"), key == "metastore" && strings.EqualFold(value, "filesystem"):
		default:
			return tarnerr.New(tarnerr.Unsupported, op, "the catalog option "+key+" = "+value, "catalog", c.Name.Text).
				WithHint("A catalog has type = paimon, metastore = filesystem, warehouse and default-database.")
		}
	}
	if warehouse == "" {
		return tarnerr.New(tarnerr.Invalid, op, "the option warehouse is missing", "catalog", c.Name.Text)
	}
	cat, err := db.opts.OpenWarehouse(ctx, warehouse)
	if err != nil {
		return err
	}
	if err := cat.CreateDatabase(ctx, database, true); err != nil {
		return errors.Join(err, cat.Close())
	}
	if !db.cats.add(c.Name.Text, cat, database) {
		return errors.Join(tarnerr.New(tarnerr.AlreadyExists, op, "there is one of this name", "catalog", c.Name.Text), cat.Close())
	}
	return nil
}

// databaseOf reads the name of a database, with its catalog where written.
func (db *DB) databaseOf(parts []string) (catalogName string, cat catalog.Catalog, database string, err error) {
	catalogName, current := db.cats.now()
	switch len(parts) {
	case 0:
		database = current
	case 1:
		database = parts[0]
	case 2:
		catalogName, database = parts[0], parts[1]
	default:
		return "", nil, "", tarnerr.New(tarnerr.Invalid, "reading name", "a database is named as database or catalog.database", "name", strings.Join(parts, "."))
	}
	catalogName, cat, err = db.cats.find(catalogName)
	return catalogName, cat, database, err
}

// knownDatabase is databaseOf for a database that is there, perhaps in another case.
func (db *DB) knownDatabase(ctx context.Context, parts []string) (catalogName string, cat catalog.Catalog, database string, err error) {
	catalogName, cat, name, err := db.databaseOf(parts)
	if err != nil {
		return "", nil, "", err
	}
	all, err := cat.ListDatabases(ctx)
	if err != nil {
		return "", nil, "", err
	}
	database, ok := foldedName(all, name)
	if !ok {
		return "", nil, "", tarnerr.New(tarnerr.NotFound, "looking up database", "no such database", "database", name).
			WithHint("%s", suggestion(name, all, "databases"))
	}
	return catalogName, cat, database, nil
}
