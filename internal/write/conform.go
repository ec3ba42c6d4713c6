package write

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// conformer brings batches to the table's columns: matched by name, in the
// table's order, with exactly the types of the Arrow contract.
type conformer struct {
	fields   []types.Field
	schema   *arrow.Schema // of fields
	defaults []types.Value // of columns with a default, else nil
	mem      memory.Allocator
}

func newConformer(fields []types.Field, mem memory.Allocator) (*conformer, error) {
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	c := &conformer{fields: fields, schema: schema, defaults: make([]types.Value, len(fields)), mem: mem}
	for i, f := range fields {
		if f.Default == nil {
			continue
		}
		if c.defaults[i], err = parseDefault(f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// parseDefault reads a column's default, which may stand in single quotes.
func parseDefault(f types.Field) (types.Value, error) {
	text := *f.Default
	if len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'' {
		text = text[1 : len(text)-1]
	}
	v, err := types.ParseValue(f.Type, text)
	return v, tarnerr.Trace("reading default value", err, "column", f.Name)
}

// conform returns rec as a batch of the table's columns, without copying
// values. The caller releases it.
func (c *conformer) conform(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if err := c.checkNames(rec.Schema()); err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, 0, len(c.fields))
	defer func() {
		for _, col := range cols {
			col.Release()
		}
	}()
	for i, f := range c.fields {
		var col arrow.Array
		at := rec.Schema().FieldIndices(f.Name)
		switch {
		case len(at) > 0:
			given := rec.Column(at[0])
			if why := mismatch(f.Type, c.schema.Field(i).Type, given.DataType()); why != "" {
				return nil, tarnerr.New(tarnerr.Invalid, "writing batch", why, "column", f.Name, "type", f.Type, "want", c.schema.Field(i).Type, "got", given.DataType()).
					WithHint("Cast the column to the Arrow type wanted.")
			}
			data := retype(c.schema.Field(i).Type, given.Data())
			col = array.MakeFromData(data)
			data.Release()
		case f.Type.Nullable:
			col = array.MakeArrayOfNull(c.mem, c.schema.Field(i).Type, int(rec.NumRows()))
		default:
			return nil, tarnerr.New(tarnerr.Invalid, "writing batch", "a column that is NOT NULL is missing", "column", f.Name).
				WithHint("Add the column to the batch.")
		}
		cols = append(cols, col)
	}
	return array.NewRecordBatch(c.schema, cols, rec.NumRows()), nil
}

// checkNames refuses columns the table does not have, and one name twice.
func (c *conformer) checkNames(s *arrow.Schema) error {
	seen := map[string]bool{}
	for _, f := range s.Fields() {
		if seen[f.Name] {
			return tarnerr.New(tarnerr.Invalid, "writing batch", "a column is there twice", "column", f.Name)
		}
		seen[f.Name] = true
		known := slices.ContainsFunc(c.fields, func(t types.Field) bool { return t.Name == f.Name })
		if !known && f.Name != types.KindColumn {
			return tarnerr.New(tarnerr.Invalid, "writing batch", "the table has no such column", "column", f.Name).
				WithHint("Leave the column out, or add it to the table.")
		}
	}
	return nil
}

// mismatch says why values of Arrow type got cannot be those of t, whose Arrow
// type is want; "" when they can. Names and nullability of list elements, map
// keys and values do not count; values are checked, not declarations.
func mismatch(t types.Type, want, got arrow.DataType) string {
	if want.ID() != got.ID() {
		return "the column has another Arrow type"
	}
	switch w := want.(type) {
	case *arrow.Decimal128Type:
		if g := got.(*arrow.Decimal128Type); g.Scale != w.Scale {
			return "the column has another scale"
		}
	case *arrow.TimestampType:
		g := got.(*arrow.TimestampType)
		if g.Unit != w.Unit {
			return "the column has another time unit"
		}
		if (g.TimeZone == "") != (w.TimeZone == "") {
			return "only TIMESTAMP WITH LOCAL TIME ZONE has a time zone in Arrow"
		}
	case *arrow.Time32Type:
		if g := got.(*arrow.Time32Type); g.Unit != w.Unit {
			return "the column has another time unit"
		}
	case *arrow.ListType:
		return mismatch(*t.Element, w.Elem(), got.(*arrow.ListType).Elem())
	case *arrow.FixedSizeListType:
		g := got.(*arrow.FixedSizeListType)
		if g.Len() != w.Len() {
			return "the vector has another length"
		}
		return mismatch(*t.Element, w.Elem(), g.Elem())
	case *arrow.MapType:
		g := got.(*arrow.MapType)
		key, value := pairTypes(t)
		if why := mismatch(key, w.KeyType(), g.KeyType()); why != "" {
			return why
		}
		return mismatch(value, w.ItemType(), g.ItemType())
	case *arrow.StructType:
		g := got.(*arrow.StructType)
		if g.NumFields() != w.NumFields() {
			return "the struct has another number of members"
		}
		for i, m := range members(t) {
			if g.Field(i).Name != m.Name {
				return "the struct has other members"
			}
			if why := mismatch(m.Type, w.Field(i).Type, g.Field(i).Type); why != "" {
				return why
			}
		}
	}
	return ""
}

// retype gives data the type want, which its own type does not mismatch. The
// caller releases the result.
func retype(want arrow.DataType, data arrow.ArrayData) arrow.ArrayData {
	var inner []arrow.DataType
	switch w := want.(type) {
	case *arrow.ListType:
		inner = []arrow.DataType{w.Elem()}
	case *arrow.FixedSizeListType:
		inner = []arrow.DataType{w.Elem()}
	case *arrow.MapType:
		inner = []arrow.DataType{w.Elem()}
	case *arrow.StructType:
		for _, f := range w.Fields() {
			inner = append(inner, f.Type)
		}
	}
	children := make([]arrow.ArrayData, len(inner))
	for i, dt := range inner {
		children[i] = retype(dt, data.Children()[i])
		defer children[i].Release()
	}
	return array.NewData(want, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
}

// pairTypes are the types of a map's or multiset's keys and values.
func pairTypes(t types.Type) (key, value types.Type) {
	if t.Root == types.Multiset {
		return *t.Element, types.Type{Root: types.Int}
	}
	return *t.Key, *t.Element
}

// members are the members of a ROW, or the two parts of a VARIANT.
func members(t types.Type) []types.Field {
	if t.Root == types.Variant {
		return []types.Field{
			{Name: "value", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
			{Name: "metadata", Type: types.Type{Root: types.VarBinary, Length: types.MaxLength}},
		}
	}
	return t.Fields
}

// fillDefaults returns rec with the nulls of columns that have a default
// replaced by it. The caller releases the result; rec is borrowed.
func (c *conformer) fillDefaults(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	cols := slices.Clone(rec.Columns())
	var made []arrow.Array
	defer func() {
		for _, m := range made {
			m.Release()
		}
	}()
	for i, v := range c.defaults {
		if v == nil || cols[i].NullN() == 0 {
			continue
		}
		filled, err := fill(c.mem, c.fields[i], cols[i], v)
		if err != nil {
			return nil, err
		}
		made = append(made, filled)
		cols[i] = filled
	}
	if len(made) == 0 {
		rec.Retain()
		return rec, nil
	}
	return array.NewRecordBatch(c.schema, cols, rec.NumRows()), nil
}

// fill copies col with v in place of nulls.
func fill(mem memory.Allocator, f types.Field, col arrow.Array, v types.Value) (arrow.Array, error) {
	b := array.NewBuilder(mem, col.DataType())
	defer b.Release()
	b.Reserve(col.Len())
	for i := range col.Len() {
		x := types.ValueAt(f.Type, col, i)
		if x == nil {
			x = v
		}
		if err := types.AppendValue(b, f.Type, x); err != nil {
			return nil, tarnerr.Trace("filling default value", err, "column", f.Name)
		}
	}
	return b.NewArray(), nil
}
