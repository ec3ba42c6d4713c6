//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// shows names a statement that tells about the catalog.
func shows(c sqltext.Command) (string, bool) {
	switch c.(type) {
	case sqltext.ShowDatabases:
		return "SHOW DATABASES", true
	case sqltext.ShowTables:
		return "SHOW TABLES", true
	case sqltext.ShowPartitions:
		return "SHOW PARTITIONS", true
	case sqltext.ShowCreateTable:
		return "SHOW CREATE TABLE", true
	case sqltext.Describe:
		return "DESCRIBE", true
	}
	return "", false
}

func (db *DB) show(ctx context.Context, c sqltext.Command) (*Rows, error) {
	switch c := c.(type) {
	case sqltext.ShowDatabases:
		names, err := db.cat.ListDatabases(ctx)
		return db.names("database", names, err)
	case sqltext.ShowTables:
		if c.Database == "" {
			c.Database = db.Database()
		}
		names, err := db.cat.ListTables(ctx, c.Database)
		return db.names("table", names, err)
	case sqltext.ShowPartitions:
		return db.showPartitions(ctx, c.Name)
	case sqltext.ShowCreateTable:
		t, err := db.lookup(ctx, c.Name, map[table.Identifier]table.Table{})
		if err != nil {
			return nil, err
		}
		if t.Name().System != "" {
			return nil, tarnerr.New(tarnerr.Invalid, "showing table", "a system table is not created", "table", t.Name())
		}
		return db.names("create_table", []string{createText(t.Name(), t.Schema())}, nil)
	case sqltext.Describe:
		t, err := db.lookup(ctx, c.Name, map[table.Identifier]table.Table{})
		if err != nil {
			return nil, err
		}
		return db.describe(t.Schema())
	}
	return nil, tarnerr.New(tarnerr.Internal, "running statement", "a command that nobody carries out")
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

// showPartitions reads the names of $partitions.
func (db *DB) showPartitions(ctx context.Context, name []string) (*Rows, error) {
	const op = "showing partitions"
	t, err := db.lookup(ctx, name, map[table.Identifier]table.Table{})
	if err != nil {
		return nil, err
	}
	if t.Name().System != "" || len(t.Schema().PartitionKeys) == 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "the table is not partitioned", "table", t.Name())
	}
	id := t.Name()
	id.System = "partitions"
	parts, err := db.cat.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := parts.Scan(ctx, table.Scan{Columns: []string{"partition"}})
	if err != nil {
		return nil, err
	}
	return &Rows{
		fields: parts.Schema().Select([]string{"partition"}), schema: r.Schema(), close: r.Close,
		next: func(ctx context.Context) (arrow.RecordBatch, error) {
			rec, err := r.Next(ctx)
			if err == nil {
				rec.Retain()
			}
			return rec, err
		},
	}, nil
}

func (db *DB) describe(s *schema.Schema) (*Rows, error) {
	fields := []types.Field{
		textColumn(0, "name"), textColumn(1, "type"), {ID: 2, Name: "nullable", Type: types.Type{Root: types.Boolean}},
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
