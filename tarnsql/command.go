//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// dispatch carries out a statement by its first word: DuckDB reads queries, all
// else is ours.
func (db *DB) dispatch(ctx context.Context, source *edited) (*Result, error) {
	tokens := sqltext.Lex(source.text)
	if feature, at := refusedWords(tokens); feature != "" {
		return nil, withPlace(tarnerr.New(tarnerr.Unsupported, "reading statement", feature).
			WithHint("Name an earlier state with AT (VERSION => n) or AT (TIMESTAMP => t); set options with ALTER TABLE."), source, at)
	}
	first := ""
	if len(tokens) > 0 {
		first = strings.ToUpper(tokens[0].Text)
	}
	switch first {
	case "SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "EXPLAIN":
		rows, err := db.query(ctx, source, nil)
		if err != nil {
			return nil, err
		}
		if first != "EXPLAIN" {
			first = "SELECT"
		}
		return &Result{Statement: first, Rows: rows}, nil
	}
	c, err := sqltext.ParseCommand(source.text)
	var syntax *sqltext.SyntaxError
	if errors.As(err, &syntax) {
		kind := tarnerr.Invalid
		if syntax.Feature {
			kind = tarnerr.Unsupported
		}
		return nil, withPlace(tarnerr.New(kind, "parsing", syntax.Why), source, syntax.At)
	}
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "running statement", err)
	}
	if shown, ok := shows(c); ok {
		rows, at, err := db.show(ctx, c)
		if err != nil {
			return nil, placeUnlessPlaced(err, source, at)
		}
		return &Result{Statement: shown, Rows: rows}, nil
	}
	switch c := c.(type) {
	case sqltext.Use:
		name, _, database, err := db.knownDatabase(ctx, c.Database.Parts)
		if err == nil {
			db.cats.use(name, database)
		}
		return done("USE", err, source, c.Database.At)
	case sqltext.UseCatalog:
		name, _, err := db.cats.find(c.Name.Text)
		if err == nil {
			db.cats.use(name, "")
		}
		return done("USE", err, source, c.Name.At)
	}
	if db.opts.ReadOnly {
		return nil, tarnerr.New(tarnerr.Denied, "running statement", "the DB was opened for reading only", "statement", first)
	}
	switch c := c.(type) {
	case sqltext.Insert:
		return db.insert(ctx, source, c)
	case sqltext.AlterTable:
		return db.alter(ctx, source, c)
	case sqltext.DropPartitions, sqltext.Truncate:
		return db.remove(ctx, source, c)
	}
	return db.change(ctx, source, c)
}

// change carries out a statement that makes, renames or drops something.
func (db *DB) change(ctx context.Context, source *edited, c sqltext.Command) (*Result, error) {
	switch c := c.(type) {
	case sqltext.CreateCatalog:
		return done("CREATE CATALOG", db.createCatalog(ctx, c), source, c.Name.At)
	case sqltext.DropCatalog:
		name, _, err := db.cats.find(c.Name.Text)
		if err == nil {
			err = db.cats.remove(name)
		} else if c.IfExists {
			err = nil
		}
		return done("DROP CATALOG", err, source, c.Name.At)
	case sqltext.CreateDatabase:
		_, cat, name, err := db.databaseOf(c.Name.Parts)
		if err == nil {
			err = cat.CreateDatabase(ctx, name, c.IfNotExists)
		}
		return done("CREATE DATABASE", err, source, c.Name.At)
	case sqltext.DropDatabase:
		_, cat, name, err := db.databaseOf(c.Name.Parts)
		if err == nil {
			err = cat.DropDatabase(ctx, name, c.IfExists, c.Cascade)
		}
		return done("DROP DATABASE", err, source, c.Name.At)
	case sqltext.CreateTable:
		to, cat, err := db.target(c.Name.Parts)
		if err == nil {
			err = cat.CreateTable(ctx, to.id, schema.Spec{
				Fields: c.Fields, PartitionKeys: c.PartitionKeys, PrimaryKeys: c.PrimaryKeys, Options: c.Options, Comment: c.Comment,
			}, c.IfNotExists)
		}
		return done("CREATE TABLE", err, source, c.Name.At)
	case sqltext.DropTable:
		return done("DROP TABLE", db.dropTable(ctx, c), source, c.Name.At)
	case sqltext.RenameTable:
		at, err := db.renameTable(ctx, c)
		return done("ALTER TABLE", err, source, at)
	}
	return nil, tarnerr.New(tarnerr.Internal, "running statement", "a command that nobody carries out")
}

// dropTable drops the table named, or the one whose name differs in case alone.
func (db *DB) dropTable(ctx context.Context, c sqltext.DropTable) error {
	at, cat, err := db.target(c.Name.Parts)
	if err != nil {
		return err
	}
	err = cat.DropTable(ctx, at.id, false)
	if tarnerr.KindOf(err) != tarnerr.NotFound {
		return err
	}
	other, err := near(ctx, cat, at.id, err)
	if err != nil {
		if c.IfExists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil
		}
		return err
	}
	return cat.DropTable(ctx, other, c.IfExists)
}

// renameTable moves a table; its new name lies in the same database when it
// names none. An error is about the name at the place returned with it.
func (db *DB) renameTable(ctx context.Context, c sqltext.RenameTable) (at int, err error) {
	t, err := db.lookup(ctx, c.From.Parts, opened{})
	if err != nil {
		if c.IfExists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return 0, nil
		}
		return c.From.At, err
	}
	from, cat, err := db.target(c.From.Parts)
	if err != nil {
		return c.From.At, err
	}
	to := c.To.Parts
	switch len(to) {
	case 1:
		to = []string{from.catalog, t.Name().Database, to[0]}
	case 2:
		to = []string{from.catalog, to[0], to[1]}
	}
	target, _, err := db.target(to)
	if err != nil {
		return c.To.At, err
	}
	if target.catalog != from.catalog {
		return c.To.At, tarnerr.New(tarnerr.Unsupported, "renaming table", "a table cannot move to another catalog", "table", t.Name(), "catalog", target.catalog)
	}
	return c.To.At, cat.RenameTable(ctx, t.Name(), target.id)
}

// done is the result of a statement without rows, or its error with its place.
func done(statement string, err error, source *edited, at int) (*Result, error) {
	if err != nil {
		return nil, withPlace(err, source, at)
	}
	return &Result{Statement: statement}, nil
}

// memoryRows are rows that are not read from anywhere.
func (db *DB) memoryRows(fields []types.Field, rows [][]types.Value) (*Rows, error) {
	s, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(db.engine.mem, s)
	defer b.Release()
	for _, row := range rows {
		for i, v := range row {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				return nil, err
			}
		}
	}
	rec := b.NewRecordBatch()
	return &Rows{
		fields: fields, schema: s,
		next: func(context.Context) (arrow.RecordBatch, error) {
			if rec == nil || rec.NumRows() == 0 {
				return nil, io.EOF
			}
			out := rec
			rec = nil
			return out, nil
		},
		close: func() error {
			if rec != nil {
				rec.Release()
			}
			return nil
		},
	}, nil
}
