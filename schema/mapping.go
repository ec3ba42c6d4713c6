package schema

import (
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Column says where a wanted column is found in a file written under another schema.
type Column struct {
	Wanted types.Field
	// Source is the position of the column among the file's columns (or of the
	// member among the file's ROW members), -1 when the file has none: it then
	// reads as null.
	Source int
	// Cast: values of the type From in the file are to be converted to the type
	// wanted, as Java converts them.
	Cast bool
	From types.Type
	// Same: the file's column is exactly what is wanted, in name-independent
	// structure and Arrow type; it can be passed on as it is.
	Same bool
	// Parts of a nested column that is not Same: a ROW's members in wanted order,
	// an array's, vector's or multiset's element, a map's key and value. For
	// element, key and value Source is 0, 0 and 1.
	Parts []Column
}

// Mapping finds each of the wanted columns of table in files written under the
// schema file, by field id, nested members too. A change of type that no
// conversion bridges, which only a foreign schema file can hold, is Unsupported.
// Pure; wanted may be any fields with table's ids.
func Mapping(file, table *Schema, wanted []types.Field) ([]Column, error) {
	if file.ID == table.ID {
		return MapFields(table.Fields, wanted)
	}
	return MapFields(file.Fields, wanted)
}

// MapFields is [Mapping] over plain lists of fields, for files that carry
// columns beside the table's (keys, sequence numbers).
func MapFields(file, wanted []types.Field) ([]Column, error) {
	out := make([]Column, len(wanted))
	for i, w := range wanted {
		out[i] = Column{Wanted: w, Source: -1}
		for j, f := range file {
			if f.ID != w.ID {
				continue
			}
			c, err := mapType(f.Type, w.Type)
			if err != nil {
				return nil, tarnerr.Trace("mapping columns of an older schema", err, "column", w.Name)
			}
			c.Wanted, c.Source = w, j
			out[i] = c
			break
		}
	}
	return out, nil
}

// mapType compares types below one field; Source and Wanted are the caller's to set.
func mapType(file, wanted types.Type) (Column, error) {
	if !file.IsNested() && !wanted.IsNested() && carried(file, wanted) {
		return Column{Same: true}, nil
	}
	if file.Root != wanted.Root || file.Length != wanted.Length || !file.IsNested() {
		if cast.Exists(file, wanted) {
			return Column{Cast: true, From: file}, nil
		}
		return Column{}, tarnerr.New(tarnerr.Unsupported, "reading a column whose type has changed",
			"old values cannot be converted", "from", file.WithNull(true), "to", wanted.WithNull(true)).
			WithHint("Read a snapshot before the change, or columns without this one.")
	}
	c := Column{Same: true}
	if file.Root == types.Row {
		parts, err := MapFields(file.Fields, wanted.Fields)
		if err != nil {
			return c, err
		}
		c.Parts = parts
		c.Same = len(file.Fields) == len(wanted.Fields)
		for i, p := range parts {
			c.Same = c.Same && p.Same && p.Source == i
		}
	}
	for _, part := range [][2]*types.Type{{file.Key, wanted.Key}, {file.Element, wanted.Element}} {
		if part[0] == nil || part[1] == nil {
			continue
		}
		p, err := mapType(*part[0], *part[1])
		if err != nil {
			return c, err
		}
		p.Wanted.Type, p.Source = *part[1], len(c.Parts)
		c.Parts = append(c.Parts, p)
		c.Same = c.Same && p.Same
	}
	if c.Same {
		c.Parts = nil
	}
	return c, nil
}

// carried says that every value of the file's type is, unchanged and in the
// same Arrow type, a value of the wanted type.
func carried(file, wanted types.Type) bool {
	if file.Root == wanted.Root && file.CRS == wanted.CRS && file.Algorithm == wanted.Algorithm {
		switch file.Root {
		case types.VarChar, types.VarBinary:
			return file.Length <= wanted.Length
		case types.Timestamp, types.TimestampLTZ:
			return file.Precision <= wanted.Precision && types.TimeUnit(file.Precision) == types.TimeUnit(wanted.Precision)
		case types.Time:
			return true // milliseconds whatever the precision
		}
		return file.WithNull(true).Equal(wanted.WithNull(true))
	}
	switch {
	case file.Root == types.Char && wanted.Root == types.VarChar, file.Root == types.Binary && wanted.Root == types.VarBinary:
		return file.Length <= wanted.Length
	}
	return false
}
