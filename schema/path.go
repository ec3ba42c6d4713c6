package schema

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// fieldsEdit changes the list of fields that holds the column called name. It
// may change the slice it is given.
type fieldsEdit func(fields []types.Field, name string) ([]types.Field, error)

// typeEdit changes a type in place of an array's element or a map's value.
type typeEdit func(types.Type) (types.Type, error)

func editField(change func(types.Field) (types.Field, error)) fieldsEdit {
	return func(fields []types.Field, name string) ([]types.Field, error) {
		i := indexOf(fields, name)
		if i < 0 {
			return nil, nil
		}
		var err error
		fields[i], err = change(fields[i])
		return fields, err
	}
}

func editType(change typeEdit) fieldsEdit {
	return editField(func(f types.Field) (types.Field, error) {
		t, err := change(f.Type)
		f.Type = t
		return f, err
	})
}

// edit walks to the column at path and changes it: a column or a member of a
// ROW by onFields, an array's element or a map's value by onType, which is nil
// when the change makes no sense there.
func (a *applier) edit(op string, path []string, onFields fieldsEdit, onType typeEdit) error {
	if len(path) == 0 {
		return refuse(op, "no column is named").WithHint("Name one.")
	}
	e := pathEdit{op: op, path: path, onFields: onFields, onType: onType}
	fields, err := e.inFields(a.fields, 0)
	if err != nil {
		return err
	}
	a.fields = fields
	return nil
}

type pathEdit struct {
	op       string
	path     []string
	onFields fieldsEdit
	onType   typeEdit
}

func (e *pathEdit) inFields(fields []types.Field, depth int) ([]types.Field, error) {
	fields = slices.Clone(fields)
	if depth == len(e.path)-1 {
		out, err := e.onFields(fields, e.path[depth])
		if err == nil && out == nil {
			err = noColumn(e.op, e.path, fields)
		}
		return out, err
	}
	i := indexOf(fields, e.path[depth])
	if i < 0 {
		return nil, noColumn(e.op, e.path[:depth+1], fields)
	}
	t, err := e.inType(fields[i].Type, depth+1)
	fields[i].Type = t
	return fields, err
}

func (e *pathEdit) inType(t types.Type, depth int) (types.Type, error) {
	switch t.Root {
	case types.Row:
		var err error
		t.Fields, err = e.inFields(t.Fields, depth)
		return t, err
	case types.Array, types.Map:
		want := "element"
		if t.Root == types.Map {
			want = "value"
		}
		if e.path[depth] != want {
			if t.Root == types.Map && e.path[depth] == "key" {
				return t, refuse(e.op, "a map's key cannot be changed", "column", pathName(e.path[:depth+1])).WithHint(anew)
			}
			return t, noColumn(e.op, e.path[:depth+1], nil).WithHint("Inside a %s the next name is %q.", t.Root, want)
		}
		element, err := *t.Element, error(nil)
		switch {
		case depth < len(e.path)-1:
			element, err = e.inType(element, depth+1)
		case e.onType == nil:
			err = refuse(e.op, "only the type and the nullability of an element or a value can change", "column", pathName(e.path)).
				WithHint("Name a column, or a member of a ROW.")
		default:
			element, err = e.onType(element)
		}
		t.Element = &element
		return t, err
	}
	return t, noColumn(e.op, e.path[:depth+1], nil).WithHint("%s is %s, which has no members.", pathName(e.path[:depth]), t.WithNull(true))
}

// noColumn says that the last name of path is none of fields, its neighbours.
func noColumn(op string, path []string, fields []types.Field) *tarnerr.Error {
	return tarnerr.New(tarnerr.NotFound, op, "there is no such column", "column", pathName(path)).WithHint("%s", columnsAre(fields))
}

func pathName(path []string) string { return strings.Join(path, ".") }

func indexOf(fields []types.Field, name string) int {
	return slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
}
