package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Apply is the schema after changes, with the next id and the time still to be
// set by the caller. hasSnapshots says whether the table holds data: then some
// options can no longer change. Pure. Every rule is that of Java 1.4.2's
// SchemaManager, except that a path through an array or a map must name
// "element" or "value", where Java takes any word.
func Apply(s *Schema, changes []Change, hasSnapshots bool) (*Schema, error) {
	a := applier{
		old: s, hasSnapshots: hasSnapshots,
		fields: slices.Clone(s.Fields), ids: idSource{last: s.HighestFieldID},
		options: maps.Clone(s.Options), comment: s.Comment,
	}
	if a.options == nil {
		a.options = map[string]string{}
	}
	var renames []RenameColumn
	for _, c := range changes {
		if err := a.apply(c); err != nil {
			return nil, err
		}
		if r, ok := c.(RenameColumn); ok {
			renames = append(renames, r)
		}
	}
	next := &Schema{
		Version: Version, ID: s.ID + 1, Fields: a.fields, HighestFieldID: a.ids.last,
		PartitionKeys: s.PartitionKeys, PrimaryKeys: renameNames(s.PrimaryKeys, renames),
		Options: renameOptions(a.options, renames), Comment: a.comment, TimeMillis: s.TimeMillis,
	}
	if err := next.normalise(); err != nil {
		return nil, err
	}
	if err := next.Validate(); err != nil {
		return nil, err
	}
	return next, nil
}

type applier struct {
	old          *Schema
	hasSnapshots bool
	fields       []types.Field
	ids          idSource
	options      map[string]string
	comment      *string
}

// anew is the way out where a column cannot change.
const anew = "Create a new table with the column as it should be, and copy the data."

func refuse(op, cause string, kv ...any) *tarnerr.Error {
	return tarnerr.New(tarnerr.Invalid, op, cause, kv...)
}

func (a *applier) apply(c Change) error {
	switch c := c.(type) {
	case SetOption:
		return a.setOption(c.Key, c.Value)
	case RemoveOption:
		return a.removeOption(c.Key)
	case SetComment:
		a.comment = c.Comment
		return nil
	case AddColumn:
		return a.addColumn(c)
	case RenameColumn:
		return a.renameColumn(c)
	case DropColumn:
		return a.dropColumn(c)
	case UpdateType:
		return a.updateType(c)
	case UpdateNullable:
		return a.updateNullable(c)
	case UpdateColumnComment:
		return a.edit("changing column comment", c.Path, editField(func(f types.Field) (types.Field, error) {
			f.Description = c.Comment
			return f, nil
		}), nil)
	case UpdateDefault:
		return a.updateDefault(c)
	case MoveColumn:
		return a.moveColumn(c)
	}
	return tarnerr.New(tarnerr.Unsupported, "altering table", "no such kind of change", "change", fmt.Sprintf("%T", c)).
		WithHint("Use the changes of package schema.")
}

func (a *applier) addColumn(c AddColumn) error {
	const op = "adding column"
	if c.Type.Root == types.Invalid {
		return refuse(op, "the column has no type", "column", pathName(c.Path)).WithHint("Give it a type, such as INT.")
	}
	if !c.Type.Nullable {
		return refuse(op, "a column added to a table cannot be NOT NULL: rows already there have no value for it",
			"column", pathName(c.Path)).WithHint("Add it as nullable.")
	}
	id := a.ids.next()
	typ := a.ids.reassign(c.Type)
	return a.edit(op, c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		if strings.TrimSpace(name) == "" {
			return nil, refuse(op, "a column's name must not be blank", "column", pathName(c.Path)).WithHint("Give it a name.")
		}
		if indexOf(fields, name) >= 0 {
			return nil, tarnerr.New(tarnerr.AlreadyExists, op, "there is a column of this name", "column", pathName(c.Path)).
				WithHint("Choose another name.")
		}
		at, err := a.placeNew(fields, c)
		if err != nil {
			return nil, err
		}
		return slices.Insert(fields, at, types.Field{ID: id, Name: name, Type: typ, Description: c.Comment}), nil
	}, nil)
}

func (a *applier) placeNew(fields []types.Field, c AddColumn) (int, error) {
	w := c.Where
	switch {
	case w.First:
		return 0, nil
	case w.After != "" || w.Before != "":
		i, err := placeBy("adding column", fields, pathName(c.Path), w)
		if err != nil {
			return 0, err
		}
		if w.After != "" {
			i++
		}
		return i, nil
	case w.Last:
		return len(fields), nil
	}
	if strings.EqualFold(a.old.Options["add-column-before-partition"], "true") && len(c.Path) == 1 {
		for i, f := range fields {
			if slices.Contains(a.old.PartitionKeys, f.Name) {
				return i, nil
			}
		}
	}
	return len(fields), nil
}

// placeBy finds the column that another is to stand after or before.
func placeBy(op string, fields []types.Field, column string, w Where) (int, error) {
	if w.After != "" && w.Before != "" {
		return 0, refuse(op, "two places for one column", "column", column, "after", w.After, "before", w.Before).
			WithHint("Give one of them.")
	}
	i := indexOf(fields, w.After+w.Before)
	if i < 0 {
		return 0, tarnerr.New(tarnerr.NotFound, op, "there is no such column to place it by", "column", column, "by", w.After+w.Before).
			WithHint("%s", columnsAre(fields))
	}
	return i, nil
}

func (a *applier) renameColumn(c RenameColumn) error {
	const op = "renaming column"
	if len(c.Path) == 1 {
		name := c.Path[0]
		if slices.Contains(a.old.PartitionKeys, name) {
			return refuse(op, "a partition key cannot be renamed", "column", name).WithHint(anew)
		}
		if i := indexOf(a.fields, name); i >= 0 && a.fields[i].Type.Root == types.Blob {
			return refuse(op, "a BLOB column cannot be renamed", "column", name).WithHint(anew)
		}
	}
	if strings.TrimSpace(c.To) == "" {
		return refuse(op, "a column's name must not be blank", "column", pathName(c.Path)).WithHint("Give the new name.")
	}
	return a.edit(op, c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		i := indexOf(fields, name)
		if i < 0 {
			return nil, noColumn(op, c.Path, fields)
		}
		if indexOf(fields, c.To) >= 0 {
			return nil, tarnerr.New(tarnerr.AlreadyExists, op, "there is a column of the new name", "column", pathName(c.Path), "to", c.To).
				WithHint("Choose another name.")
		}
		fields[i].Name = c.To
		return fields, nil
	}, nil)
}

func (a *applier) dropColumn(c DropColumn) error {
	const op = "dropping column"
	if len(c.Path) == 1 && (slices.Contains(a.old.PartitionKeys, c.Path[0]) || slices.Contains(a.old.PrimaryKeys, c.Path[0])) {
		return refuse(op, "a column of the primary key or the partition keys cannot be dropped", "column", c.Path[0]).
			WithHint(anew)
	}
	return a.edit(op, c.Path, func(fields []types.Field, name string) ([]types.Field, error) {
		i := indexOf(fields, name)
		if i < 0 {
			return nil, noColumn(op, c.Path, fields)
		}
		if len(fields) == 1 {
			return nil, refuse(op, "the last column cannot be dropped", "column", pathName(c.Path)).WithHint("Add another one first.")
		}
		return slices.Delete(fields, i, i+1), nil
	}, nil)
}

func (a *applier) updateType(c UpdateType) error {
	const op = "changing column type"
	if err := a.notKey(op, c.Path, true); err != nil {
		return err
	}
	retype := func(from types.Type) (types.Type, error) {
		to := c.Type
		if c.KeepNullable {
			to.Nullable = from.Nullable
		} else if err := a.nullToNotNull(op, c.Path, from, to.Nullable); err != nil {
			return from, err
		}
		explicit := !strings.EqualFold(a.old.Options["disable-explicit-type-casting"], "true")
		to, ok := convertible(from, to, explicit)
		if !ok {
			err := refuse(op, "values of the old type cannot become the new type", "column", pathName(c.Path), "from", from, "to", c.Type).
				WithHint("Add a column of the new type, and write to that one.")
			if from.IsNested() {
				err = err.WithHint("Change members, elements and values one by one, by their path.")
			} else if !explicit {
				err = err.WithHint("disable-explicit-type-casting=true allows widening only.")
			}
			return from, err
		}
		return to, nil
	}
	return a.edit(op, c.Path, editType(retype), retype)
}

func (a *applier) updateNullable(c UpdateNullable) error {
	const op = "changing nullability"
	if c.Nullable && len(c.Path) == 1 && slices.Contains(a.old.PrimaryKeys, c.Path[0]) {
		return refuse(op, "a primary-key column cannot be nullable", "column", c.Path[0]).WithHint(anew)
	}
	retype := func(from types.Type) (types.Type, error) {
		if err := a.nullToNotNull(op, c.Path, from, c.Nullable); err != nil {
			return from, err
		}
		return from.WithNull(c.Nullable), nil
	}
	return a.edit(op, c.Path, editType(retype), retype)
}

func (a *applier) nullToNotNull(op string, path []string, from types.Type, nullable bool) error {
	if from.Nullable && !nullable && !strings.EqualFold(a.old.Options["alter-column-null-to-not-null.disabled"], "false") {
		return refuse(op, "a nullable column cannot become NOT NULL, it may hold nulls", "column", pathName(path)).
			WithHint("Set the option alter-column-null-to-not-null.disabled=false when you know that it holds none.")
	}
	return nil
}

// notKey refuses a change of a key column.
func (a *applier) notKey(op string, path []string, primary bool) error {
	if len(path) != 1 {
		return nil
	}
	if slices.Contains(a.old.PartitionKeys, path[0]) {
		return refuse(op, "it is a partition key", "column", path[0]).WithHint(anew)
	}
	if primary && slices.Contains(a.old.PrimaryKeys, path[0]) {
		return refuse(op, "it belongs to the primary key", "column", path[0]).WithHint(anew)
	}
	return nil
}

func (a *applier) updateDefault(c UpdateDefault) error {
	const op = "changing default value"
	return a.edit(op, c.Path, editField(func(f types.Field) (types.Field, error) {
		f.Default = c.Default
		return f, checkDefault(f)
	}), nil)
}

// checkDefault refuses a default value that its column cannot hold.
func checkDefault(f types.Field) error {
	if f.Default == nil {
		return nil
	}
	text := *f.Default
	if len(text) >= 2 && strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'") {
		text = text[1 : len(text)-1]
	}
	if f.Type.IsNested() || f.Type.IsBytes() {
		return nil // Java takes any text: its bytes, or a form of its own
	}
	if _, err := types.ParseValue(f.Type, text); err != nil {
		return tarnerr.Wrap(tarnerr.KindOf(err), "validating default value", err, "column", f.Name).
			WithHint("Give a value of type %s.", f.Type.WithNull(true))
	}
	return nil
}

func (a *applier) moveColumn(c MoveColumn) error {
	const op = "moving column"
	from := indexOf(a.fields, c.Column)
	if from < 0 {
		return noColumn(op, []string{c.Column}, a.fields)
	}
	to := 0
	w := c.Where
	switch {
	case w.First:
	case w.Last:
		to = len(a.fields) - 1
	case w.After != "" || w.Before != "":
		by, err := placeBy(op, a.fields, c.Column, w)
		if err != nil {
			return err
		}
		to = by
		if by != from && w.After != "" && from > by {
			to++
		}
		if by != from && w.Before != "" && from < by {
			to--
		}
		if by != from && to == from {
			return nil // it stands there already
		}
	default:
		return refuse(op, "no place is given", "column", c.Column).WithHint("Say first, last, after or before another column.")
	}
	if to == from {
		return refuse(op, "the column stands there already", "column", c.Column).WithHint("Leave the change away.")
	}
	f := a.fields[from]
	a.fields = slices.Insert(slices.Delete(a.fields, from, from+1), to, f)
	return nil
}
