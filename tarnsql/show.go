//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// shows names a statement that tells about the catalog.
func shows(c sqltext.Command) (string, bool) {
	switch c.(type) {
	case sqltext.ShowCatalogs:
		return "SHOW CATALOGS", true
	case sqltext.ShowCurrent:
		return "SHOW CURRENT", true
	case sqltext.ShowDatabases:
		return "SHOW DATABASES", true
	case sqltext.ShowTables:
		return "SHOW TABLES", true
	case sqltext.ShowColumns:
		return "SHOW COLUMNS", true
	case sqltext.ShowOptions:
		return "SHOW TBLPROPERTIES", true
	case sqltext.ShowPartitions:
		return "SHOW PARTITIONS", true
	case sqltext.ShowCreateTable:
		return "SHOW CREATE TABLE", true
	case sqltext.Describe:
		return "DESCRIBE", true
	}
	return "", false
}

// show runs a statement that tells about the catalog. An error is about what
// stands at the place returned with it.
func (db *DB) show(ctx context.Context, c sqltext.Command) (rows *Rows, at int, err error) {
	switch c := c.(type) {
	case sqltext.ShowCatalogs:
		rows, err = db.names("catalog", db.cats.names(), nil)
		return rows, 0, err
	case sqltext.ShowCurrent:
		column, name := "database", db.Database()
		if c.Catalog {
			column = "catalog"
			name, _ = db.cats.now()
		}
		rows, err = db.names(column, []string{name}, nil)
		return rows, 0, err
	case sqltext.ShowDatabases:
		rows, err = db.showDatabases(ctx, c.Like)
		return rows, 0, err
	case sqltext.ShowTables:
		rows, err = db.showTables(ctx, c)
		return rows, c.Database.At, err
	case sqltext.ShowColumns:
		rows, err = db.ofTable(ctx, c.Name, func(t table.Table) (*Rows, error) {
			return db.names("column", columnNames(t.Schema().Fields), nil)
		})
		return rows, c.Name.At, err
	case sqltext.ShowOptions:
		rows, err = db.ofTable(ctx, c.Name, func(t table.Table) (*Rows, error) { return db.options(t.Schema(), c.Key) })
		return rows, c.Name.At, err
	case sqltext.ShowPartitions:
		return db.showPartitions(ctx, c)
	case sqltext.ShowCreateTable:
		rows, err = db.ofTable(ctx, c.Name, func(t table.Table) (*Rows, error) {
			if t.Name().System != "" {
				return nil, tarnerr.New(tarnerr.Invalid, "showing table", "a system table is not created", "table", t.Name())
			}
			return db.names("create_table", []string{createText(t.Name(), t.Schema())}, nil)
		})
		return rows, c.Name.At, err
	case sqltext.Describe:
		rows, err = db.ofTable(ctx, c.Name, func(t table.Table) (*Rows, error) { return db.describe(t, c.Extended) })
		return rows, c.Name.At, err
	}
	return nil, 0, tarnerr.New(tarnerr.Internal, "running statement", "a command that nobody carries out")
}

func (db *DB) ofTable(ctx context.Context, name sqltext.Path, rows func(table.Table) (*Rows, error)) (*Rows, error) {
	t, err := db.lookup(ctx, name.Parts, opened{})
	if err != nil {
		return nil, err
	}
	return rows(t)
}

func (db *DB) showDatabases(ctx context.Context, like *sqltext.Pattern) (*Rows, error) {
	_, cat, _, err := db.databaseOf(nil)
	if err != nil {
		return nil, err
	}
	all, err := cat.ListDatabases(ctx)
	return db.names("database", matching(all, like), err)
}

func (db *DB) showTables(ctx context.Context, c sqltext.ShowTables) (*Rows, error) {
	_, cat, database, err := db.knownDatabase(ctx, c.Database.Parts)
	if err != nil {
		return nil, err
	}
	all, err := cat.ListTables(ctx, database)
	return db.names("table", matching(all, c.Like), err)
}

func matching(all []string, like *sqltext.Pattern) []string {
	return slices.DeleteFunc(all, func(n string) bool { return !like.Matches(n) })
}

// options are a table's options, or the one called key.
func (db *DB) options(s *schema.Schema, key string) (*Rows, error) {
	var rows [][]types.Value
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		if key == "" || k == key {
			rows = append(rows, []types.Value{k, s.Options[k]})
		}
	}
	return db.memoryRows([]types.Field{textColumn(0, "key"), textColumn(1, "value")}, rows)
}

func textColumn(id int, name string) types.Field {
	return types.Field{ID: id, Name: name, Type: types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}}
}

// names are rows of one text.
func (db *DB) names(column string, names []string, err error) (*Rows, error) {
	if err != nil {
		return nil, err
	}
	rows := make([][]types.Value, len(names))
	for i, n := range names {
		rows[i] = []types.Value{n}
	}
	return db.memoryRows([]types.Field{textColumn(0, column)}, rows)
}

// showPartitions reads the names of $partitions: those that have all the values
// asked for.
func (db *DB) showPartitions(ctx context.Context, c sqltext.ShowPartitions) (rows *Rows, at int, err error) {
	const op = "showing partitions"
	t, err := db.lookup(ctx, c.Name.Parts, opened{})
	if err != nil {
		return nil, c.Name.At, err
	}
	s := t.Schema()
	if t.Name().System != "" || len(s.PartitionKeys) == 0 {
		return nil, c.Name.At, tarnerr.New(tarnerr.Invalid, op, "the table is not partitioned", "table", t.Name())
	}
	only, err := partitionOf(t, c.Only)
	if err != nil {
		var at *columnError
		if errors.As(err, &at) {
			return nil, at.at, at.error
		}
		return nil, c.Name.At, err
	}
	all, err := db.partitionNames(ctx, c.Name, t)
	if err != nil {
		return nil, c.Name.At, err
	}
	rows, err = db.names("partition", slices.DeleteFunc(all, func(name string) bool { return !partitionHas(name, only) }), nil)
	return rows, c.Name.At, err
}

// partitionNames reads the names of $partitions.
func (db *DB) partitionNames(ctx context.Context, path sqltext.Path, t table.Table) ([]string, error) {
	id := t.Name()
	id.System = "partitions"
	_, cat, err := db.target(path.Parts)
	if err != nil {
		return nil, err
	}
	parts, err := cat.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return readTexts(ctx, parts, "partition")
}

// partitionHas reports that the partition of this name, column=value/column=value,
// has the values.
func partitionHas(name string, values map[string]string) bool {
	for column, value := range values {
		if !strings.Contains("/"+name+"/", "/"+column+"="+value+"/") {
			return false
		}
	}
	return true
}

// readTexts reads a column of text. The texts outlive its batches.
func readTexts(ctx context.Context, t table.Table, column string) ([]string, error) {
	r, err := t.Scan(ctx, table.Scan{Columns: []string{column}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return out, r.Close()
		}
		if err != nil {
			return nil, err
		}
		for i := range int(rec.NumRows()) {
			out = append(out, strings.Clone(rec.Column(0).ValueStr(i)))
		}
	}
}

// describe is a row for each column; extended, rows about the table follow.
func (db *DB) describe(t table.Table, extended bool) (*Rows, error) {
	s := t.Schema()
	nullable := types.Type{Root: types.Boolean, Nullable: true}
	fields := []types.Field{
		textColumn(0, "name"), textColumn(1, "type"), {ID: 2, Name: "nullable", Type: nullable},
		textColumn(3, "key"), textColumn(4, "default"), textColumn(5, "comment"),
	}
	var rows [][]types.Value
	for _, f := range s.Fields {
		var keys []string
		if slices.Contains(s.PrimaryKeys, f.Name) {
			keys = append(keys, "primary")
		}
		if slices.Contains(s.PartitionKeys, f.Name) {
			keys = append(keys, "partition")
		}
		rows = append(rows, []types.Value{
			f.Name, f.Type.WithNull(true).String(), f.Type.Nullable, orNull(strings.Join(keys, ", ")), pointed(f.Default), pointed(f.Description),
		})
	}
	if extended {
		tell := func(name, value string) { rows = append(rows, []types.Value{name, value, nil, nil, nil, nil}) }
		tell("", "")
		tell("# Table", t.Name().String())
		tell("# Location", t.Location())
		tell("# Schema id", strconv.FormatInt(s.ID, 10))
		if s.Comment != nil {
			tell("# Comment", *s.Comment)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Options)) {
			tell("# Option "+k, s.Options[k])
		}
	}
	return db.memoryRows(fields, rows)
}

func orNull(s string) types.Value {
	if s == "" {
		return nil
	}
	return s
}

func pointed(s *string) types.Value {
	if s == nil {
		return nil
	}
	return *s
}

// createText is the statement that makes such a table.
func createText(id table.Identifier, s *schema.Schema) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + backtick(id.Database) + "." + backtick(id.Table) + " (\n")
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("  " + backtick(f.Name) + " " + f.Type.String())
		if f.Default != nil {
			b.WriteString(" DEFAULT " + quoteText(*f.Default))
		}
		if f.Description != nil {
			b.WriteString(" COMMENT " + quoteText(*f.Description))
		}
	}
	if len(s.PrimaryKeys) > 0 {
		b.WriteString(",\n  PRIMARY KEY (" + backticks(s.PrimaryKeys) + ") NOT ENFORCED")
	}
	b.WriteString("\n)")
	if s.Comment != nil && *s.Comment != "" {
		b.WriteString(" COMMENT " + quoteText(*s.Comment))
	}
	if len(s.PartitionKeys) > 0 {
		b.WriteString("\nPARTITIONED BY (" + backticks(s.PartitionKeys) + ")")
	}
	if len(s.Options) > 0 {
		b.WriteString("\nWITH (\n")
		for i, k := range slices.Sorted(maps.Keys(s.Options)) {
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString("  " + quoteText(k) + " = " + quoteText(s.Options[k]))
		}
		b.WriteString("\n)")
	}
	return b.String()
}

func backtick(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func backticks(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = backtick(n)
	}
	return strings.Join(out, ", ")
}
