package player

import (
	"context"
	"encoding/json"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (p *player) create(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[struct {
		Columns       [][]string        `json:"columns"` // name, type, comment?
		PrimaryKeys   []string          `json:"primary_keys"`
		PartitionKeys []string          `json:"partition_keys"`
		Options       map[string]string `json:"options"`
		Comment       string            `json:"comment"`
	}](text)
	if err != nil {
		return err
	}
	spec := schema.Spec{
		PrimaryKeys: op.PrimaryKeys, PartitionKeys: op.PartitionKeys, Options: op.Options, Comment: op.Comment,
	}
	for _, c := range op.Columns {
		if len(c) < 2 {
			return tarnerr.New(tarnerr.Invalid, "reading operation", "a column needs name and type", "column", c)
		}
		t, err := types.Parse(c[1])
		if err != nil {
			return err
		}
		f := types.Field{Name: c[0], Type: t}
		if len(c) > 2 {
			f.Description = &c[2]
		}
		spec.Fields = append(spec.Fields, f)
	}
	if err := p.cat.CreateDatabase(ctx, id.Database, true); err != nil {
		return err
	}
	return p.cat.CreateTable(ctx, id, spec, false)
}

func (p *player) rename(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[struct {
		To string `json:"to"`
	}](text)
	if err != nil {
		return err
	}
	to, err := table.ParseIdentifier(op.To)
	if err != nil {
		return err
	}
	return p.cat.RenameTable(ctx, id, to)
}

func (p *player) drop(ctx context.Context, id table.Identifier, _ json.RawMessage) error {
	return p.cat.DropTable(ctx, id, false)
}

func (p *player) alter(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[struct {
		Changes []map[string]json.RawMessage `json:"changes"`
	}](text)
	if err != nil {
		return err
	}
	var changes []schema.Change
	for _, c := range op.Changes {
		for name, value := range c {
			read, ok := schemaChanges[name]
			if !ok {
				return unsupported("schema change " + name)
			}
			change, err := read(value)
			if err != nil {
				return tarnerr.Trace("reading schema change", err, "change", name)
			}
			changes = append(changes, change)
		}
	}
	return p.cat.AlterTable(ctx, id, changes...)
}

// path is a column: its name, or the names that lead to a nested one.
type path []string

func (p *path) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(p))
	}
	*p = path{""}
	return json.Unmarshal(text, &(*p)[0])
}

// pair is a JSON array of two.
type pair[A, B any] struct {
	a A
	b B
}

func (p *pair[A, B]) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.a, &p.b})
}

type place struct {
	First  json.RawMessage `json:"first"` // true, or the judge's word for it
	Last   json.RawMessage `json:"last"`
	After  string          `json:"after"`
	Before string          `json:"before"`
}

func (p place) where() schema.Where {
	return schema.Where{First: p.First != nil, Last: p.Last != nil, After: p.After, Before: p.Before}
}

var schemaChanges = map[string]func(json.RawMessage) (schema.Change, error){
	"add_column": change(func(c struct {
		Name    path    `json:"name"`
		Type    string  `json:"type"`
		Comment *string `json:"comment"`
		place
	}) (schema.Change, error) {
		t, err := types.Parse(c.Type)
		return schema.AddColumn{Path: c.Name, Type: t, Comment: c.Comment, Where: c.where()}, err
	}),
	"rename_column": change(func(c pair[path, string]) (schema.Change, error) {
		return schema.RenameColumn{Path: c.a, To: c.b}, nil
	}),
	"drop_column": change(func(c path) (schema.Change, error) { return schema.DropColumn{Path: c}, nil }),
	"update_type": change(func(c pair[path, string]) (schema.Change, error) {
		t, err := types.Parse(c.b)
		return schema.UpdateType{Path: c.a, Type: t}, err
	}),
	"nullability": change(func(c pair[path, bool]) (schema.Change, error) {
		return schema.UpdateNullable{Path: c.a, Nullable: c.b}, nil
	}),
	"move": change(func(c struct {
		Column string `json:"column"`
		place
	}) (schema.Change, error) {
		return schema.MoveColumn{Column: c.Column, Where: c.where()}, nil
	}),
	"set_option": change(func(c pair[string, string]) (schema.Change, error) {
		return schema.SetOption{Key: c.a, Value: c.b}, nil
	}),
	"remove_option": change(func(c string) (schema.Change, error) { return schema.RemoveOption{Key: c}, nil }),
	"comment":       change(func(c *string) (schema.Change, error) { return schema.SetComment{Comment: c}, nil }),
	"column_comment": change(func(c pair[path, *string]) (schema.Change, error) {
		return schema.UpdateColumnComment{Path: c.a, Comment: c.b}, nil
	}),
	"default_value": change(func(c pair[path, *string]) (schema.Change, error) {
		return schema.UpdateDefault{Path: c.a, Default: c.b}, nil
	}),
}

// change makes a reader of one kind of schema change from what its JSON holds.
func change[T any](build func(T) (schema.Change, error)) func(json.RawMessage) (schema.Change, error) {
	return func(text json.RawMessage) (schema.Change, error) {
		v, err := decode[T](text)
		if err != nil {
			return nil, err
		}
		return build(v)
	}
}
