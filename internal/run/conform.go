package run

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// conform gives a column written under an older schema the type want: members
// of rows in their new places and under their new names, nulls for those it did
// not have, values converted where the type has changed. Other values are shared,
// not copied. The caller releases the result.
func conform(mem memory.Allocator, in arrow.Array, c schema.Column, want arrow.DataType) (arrow.Array, error) {
	if !converts(&c) && arrow.TypeEqual(in.DataType(), want, arrow.CheckMetadata()) {
		in.Retain()
		return in, nil
	}
	data, err := conformData(mem, in.Data(), &c, want)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

// conformData is conform for one node of a column; c is nil below a part that is the same.
func conformData(mem memory.Allocator, in arrow.ArrayData, c *schema.Column, want arrow.DataType) (arrow.ArrayData, error) {
	if c != nil && c.Cast {
		return converted(mem, in, c, want)
	}
	if in.DataType().ID() != want.ID() {
		return nil, tarnerr.New(tarnerr.Internal, "reading column", "the format gave another type than it was asked for", "want", want, "got", in.DataType())
	}
	var kids []arrow.ArrayData
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	part := func(i int) *schema.Column {
		if c == nil || c.Same || i >= len(c.Parts) {
			return nil
		}
		return &c.Parts[i]
	}
	add := func(from int, p *schema.Column, dt arrow.DataType) error {
		k, err := conformData(mem, in.Children()[from], p, dt)
		if err == nil {
			kids = append(kids, k)
		}
		return err
	}
	var err error
	switch want := want.(type) {
	case *arrow.StructType:
		if n := in.Offset() + in.Len(); lost(c) {
			return nullStruct(mem, want, n, in.Offset())
		}
		for i, f := range want.Fields() {
			from, p := i, part(i)
			if p != nil {
				from = p.Source
			}
			if from < 0 {
				kids = append(kids, batch.Nulls(mem, f.Type, in.Offset()+in.Len()))
			} else if err = add(from, p, f.Type); err != nil {
				return nil, err
			}
		}
	case *arrow.ListType:
		err = add(0, part(0), want.Elem())
	case *arrow.FixedSizeListType:
		err = add(0, part(0), want.Elem())
	case *arrow.MapType:
		var entries arrow.ArrayData
		if entries, err = conformEntries(mem, in.Children()[0], part, want); err == nil {
			kids = append(kids, entries)
		}
	}
	if err != nil {
		return nil, err
	}
	return array.NewData(want, in.Len(), in.Buffers(), kids, in.NullN(), in.Offset()), nil
}

// converts reports a column of which something has another type in the file.
func converts(c *schema.Column) bool {
	return c.Cast || slices.ContainsFunc(c.Parts, func(p schema.Column) bool { return converts(&p) })
}

func converted(mem memory.Allocator, in arrow.ArrayData, c *schema.Column, want arrow.DataType) (arrow.ArrayData, error) {
	rule, err := cast.New(c.From, c.Wanted.Type)
	if err != nil {
		return nil, err
	}
	values := array.MakeFromData(in)
	defer values.Release()
	out, err := rule.Array(mem, values, want)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}

// conformEntries conforms the struct of keys and values below a map. A multiset
// has a part for its elements only: their counts never change.
func conformEntries(mem memory.Allocator, in arrow.ArrayData, part func(int) *schema.Column, want *arrow.MapType) (arrow.ArrayData, error) {
	key, err := conformData(mem, in.Children()[0], part(0), want.KeyType())
	if err != nil {
		return nil, err
	}
	defer key.Release()
	value, err := conformData(mem, in.Children()[1], part(1), want.ItemType())
	if err != nil {
		return nil, err
	}
	defer value.Release()
	return array.NewData(want.Elem(), in.Len(), in.Buffers(), []arrow.ArrayData{key, value}, in.NullN(), in.Offset()), nil
}

// lost reports a row of whose wanted members the file has none: it reads as
// null, as in Java, because nothing in the file tells which rows were there.
func lost(c *schema.Column) bool {
	if c == nil || c.Same || len(c.Parts) == 0 {
		return false
	}
	for _, p := range c.Parts {
		if p.Source >= 0 {
			return false
		}
	}
	return true
}

func nullStruct(mem memory.Allocator, want *arrow.StructType, n, offset int) (arrow.ArrayData, error) {
	all := batch.Nulls(mem, want, n)
	defer all.Release()
	return array.NewSliceData(all, int64(offset), int64(n)), nil
}
