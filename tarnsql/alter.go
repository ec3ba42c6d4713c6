//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// alter changes a table's options, comment and columns, all in one new schema.
func (db *DB) alter(ctx context.Context, source *edited, c sqltext.AlterTable) (*Result, error) {
	const what = "ALTER TABLE"
	t, err := db.lookup(ctx, c.Name.Parts, opened{})
	if err != nil {
		if c.IfExists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return &Result{Statement: what}, nil
		}
		return nil, withPlace(err, source, c.Name.At)
	}
	if t.Name().System != "" {
		return nil, withPlace(tarnerr.New(tarnerr.Invalid, "altering table", "a system table cannot be changed", "table", t.Name()), source, c.Name.At)
	}
	b := changeBuilder{schema: t.Schema()}
	for _, change := range c.Changes {
		if err := b.add(change); err != nil {
			return nil, withPlace(err, source, change.At)
		}
	}
	if len(b.changes) == 0 {
		return &Result{Statement: what}, nil
	}
	at, cat, err := db.target(c.Name.Parts)
	if err != nil {
		return nil, err
	}
	at.id = t.Name()
	return done(what, cat.AlterTable(ctx, at.id, b.changes...), source, b.blame(c.Name.At))
}

// remove takes rows away: those of partitions, or all.
func (db *DB) remove(ctx context.Context, source *edited, c sqltext.Command) (*Result, error) {
	what, name, exists := "TRUNCATE", sqltext.Path{}, false
	drop, ofPartitions := c.(sqltext.DropPartitions)
	if ofPartitions {
		what, name, exists = "ALTER TABLE", drop.Name, drop.IfExists
	} else if t, ok := c.(sqltext.Truncate); ok {
		name = t.Name
	}
	t, err := db.lookup(ctx, name.Parts, opened{})
	if err != nil {
		if exists && tarnerr.KindOf(err) == tarnerr.NotFound {
			return &Result{Statement: what}, nil
		}
		return nil, withPlace(err, source, name.At)
	}
	out := &Result{Statement: what}
	if !ofPartitions {
		out.Report, err = t.Truncate(ctx, table.CommitOptions{})
	} else {
		var partitions []map[string]string
		if partitions, err = db.partitionsToDrop(ctx, t, drop); err != nil {
			return nil, placeColumn(err, source, name.At)
		}
		if len(partitions) == 0 {
			return out, nil
		}
		out.Report, err = t.DropPartitions(ctx, partitions, table.CommitOptions{})
	}
	if err != nil {
		uncommitted(ctx, what, out.Report, err)
		return nil, placeUnlessPlaced(err, source, name.At)
	}
	return out, nil
}

// partitionsToDrop are the partitions named that there are. One that is missing is
// an error without IF EXISTS, as in Flink and Spark.
func (db *DB) partitionsToDrop(ctx context.Context, t table.Table, c sqltext.DropPartitions) ([]map[string]string, error) {
	var out []map[string]string
	var names []string
	for i, p := range c.Partitions {
		values, err := partitionOf(t, p)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if names, err = db.partitionNames(ctx, c.Name, t); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return partitionHas(name, values) }) {
			out = append(out, values)
		} else if !c.MayMiss {
			return nil, &columnError{tarnerr.New(tarnerr.NotFound, "dropping partitions", "no such partition", "table", t.Name()).
				WithHint("See SHOW PARTITIONS, or write DROP IF EXISTS PARTITION."), p[0].Column.At}
		}
	}
	return out, nil
}

// changeBuilder turns changes as written into those of a schema.
type changeBuilder struct {
	schema  *schema.Schema
	changes []schema.Change
	places  []int
}

// blame is the place of the first change that the schema refuses, for an error.
func (b *changeBuilder) blame(otherwise int) int {
	for i := range b.changes {
		if _, err := schema.Apply(b.schema, b.changes[:i+1], true); err != nil {
			return b.places[i]
		}
	}
	return otherwise
}

func (b *changeBuilder) add(c sqltext.TableChange) error {
	put := func(change schema.Change) {
		b.changes, b.places = append(b.changes, change), append(b.places, c.At)
	}
	path, f, found := b.find(c.Column)
	where := schema.Where{First: c.First, After: b.column(c.After)}
	switch c.Do {
	case sqltext.SetOption:
		put(schema.SetOption{Key: c.Key, Value: c.Value})
	case sqltext.ResetOption:
		put(schema.RemoveOption{Key: c.Key})
	case sqltext.SetComment:
		put(schema.SetComment{Comment: c.Comment})
	case sqltext.AddColumn:
		if !found || !c.Lenient {
			put(schema.AddColumn{Path: path, Type: *c.Type, Comment: c.Comment, Where: where})
		}
	case sqltext.DropColumn:
		if found || !c.Lenient {
			put(schema.DropColumn{Path: path})
		}
	case sqltext.RenameColumn:
		put(schema.RenameColumn{Path: path, To: c.To})
	case sqltext.ModifyColumn:
		if !found {
			return tarnerr.New(tarnerr.NotFound, "altering table", "there is no such column", "column", strings.Join(c.Column, ".")).
				WithHint("%s", suggestion(c.Column[0], columnNames(b.schema.Fields), "columns"))
		}
		b.retype(c, path, f, put)
		if c.Comment != nil {
			put(schema.UpdateColumnComment{Path: path, Comment: c.Comment})
		}
		if c.Default != nil || c.NoDefault {
			put(schema.UpdateDefault{Path: path, Default: c.Default})
		}
		if where != (schema.Where{}) {
			if len(path) > 1 {
				return tarnerr.New(tarnerr.Unsupported, "altering table", "moving a column inside a ROW", "column", strings.Join(path, "."))
			}
			put(schema.MoveColumn{Column: path[0], Where: where})
		}
	}
	return nil
}

// retype changes a column's type and whether it may be null.
func (b *changeBuilder) retype(c sqltext.TableChange, path []string, f types.Field, put func(schema.Change)) {
	nullable := f.Type.Nullable
	if c.Type != nil {
		if !c.Type.EqualIgnoringNull(f.Type) {
			put(schema.UpdateType{Path: path, Type: *c.Type, KeepNullable: true})
		}
		if c.Declares && !(len(path) == 1 && slices.Contains(b.schema.PrimaryKeys, path[0])) {
			nullable = c.Type.Nullable
		}
	}
	if c.Nullable != nil {
		nullable = *c.Nullable
	}
	if nullable != f.Type.Nullable {
		put(schema.UpdateNullable{Path: path, Nullable: nullable})
	}
}

// find is the path to a column as the schema writes it, and the column itself.
func (b *changeBuilder) find(written []string) (path []string, f types.Field, found bool) {
	path = slices.Clone(written)
	fields := b.schema.Fields
	for i, name := range written {
		if f, found = foldedField(fields, name); !found {
			return path, f, false
		}
		path[i] = f.Name
		fields = inside(f.Type)
	}
	return path, f, found
}

// inside are the names below a column of a nested type.
func inside(t types.Type) []types.Field {
	switch t.Root {
	case types.Row:
		return t.Fields
	case types.Array:
		return []types.Field{{Name: "element", Type: *t.Element}}
	case types.Map:
		return []types.Field{{Name: "key", Type: *t.Key}, {Name: "value", Type: *t.Element}}
	}
	return nil
}

// column is a column's name as the schema writes it.
func (b *changeBuilder) column(name string) string {
	if f, ok := foldedField(b.schema.Fields, name); ok {
		return f.Name
	}
	return name
}

func columnNames(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// foldedField is the only field that a name means but for case; an exact one wins.
func foldedField(fields []types.Field, name string) (types.Field, bool) {
	found, ok := foldedName(columnNames(fields), name)
	if !ok {
		return types.Field{}, false
	}
	return fields[slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == found })], true
}
