//go:build cgo && !tarn_nosql

package tarnsql

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/types"
)

// nested maps LIST, ARRAY, MAP and STRUCT. Where anything inside has no Paimon
// type, the whole has none.
func (d *decoder) nested(t mapping.LogicalType) {
	switch mapping.GetTypeId(t) {
	case mapping.TypeList:
		d.child(mapping.ListTypeChildType(t))
		d.out, d.decode = types.Type{Root: types.Array, Nullable: true, Element: &d.children[0].out}, decodeList
	case mapping.TypeArray:
		d.child(mapping.ArrayTypeChildType(t))
		d.length = int(mapping.ArrayTypeArraySize(t))
		d.out = types.Type{Root: types.Vector, Nullable: true, Element: &d.children[0].out, Length: d.length}
		if r := d.children[0].out.Root; r > types.Double { // VECTOR holds none such
			d.out = types.Type{Root: types.Array, Nullable: true, Element: &d.children[0].out}
		}
		d.decode = decodeArray
	case mapping.TypeMap:
		d.child(mapping.MapTypeKeyType(t))
		d.child(mapping.MapTypeValueType(t))
		d.children[0].out.Nullable = false
		d.out = types.Type{Root: types.Map, Nullable: true, Key: &d.children[0].out, Element: &d.children[1].out}
		d.decode = decodeMap
	case mapping.TypeStruct:
		d.out, d.decode = types.Type{Root: types.Row, Nullable: true}, decodeStruct
		for i := range mapping.StructTypeChildCount(t) {
			d.child(mapping.StructTypeChildType(t, i))
			d.out.Fields = append(d.out.Fields, types.Field{ID: int(i), Name: mapping.StructTypeChildName(t, i), Type: d.children[i].out})
		}
	}
	for _, c := range d.children {
		if c.decode == nil {
			d.decode = nil
		}
	}
}

func (d *decoder) child(t mapping.LogicalType) {
	defer mapping.DestroyLogicalType(&t)
	d.children = append(d.children, newDecoder(t))
}

func decodeList(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	list := b.(*array.ListBuilder)
	child := mapping.ListVectorGetChild(vec)
	ok := valid(vec, from, n)
	for i, e := range vectorData[listEntry](vec, from+n)[from:] {
		if ok != nil && !ok[i] {
			list.AppendNull()
			continue
		}
		list.Append(true)
		if err := d.children[0].append(list.ValueBuilder(), child, int(e.offset), int(e.length)); err != nil {
			return err
		}
	}
	return nil
}

func decodeArray(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	list := b.(interface {
		array.Builder
		Append(bool)
		ValueBuilder() array.Builder
	})
	child := mapping.ArrayVectorGetChild(vec)
	ok := valid(vec, from, n)
	for i := range n {
		if ok != nil && !ok[i] {
			list.AppendNull()
			continue
		}
		list.Append(true)
		if err := d.children[0].append(list.ValueBuilder(), child, (from+i)*d.length, d.length); err != nil {
			return err
		}
	}
	return nil
}

func decodeMap(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	entries := b.(*array.MapBuilder)
	child := mapping.ListVectorGetChild(vec)
	keys, values := mapping.StructVectorGetChild(child, 0), mapping.StructVectorGetChild(child, 1)
	ok := valid(vec, from, n)
	for i, e := range vectorData[listEntry](vec, from+n)[from:] {
		if ok != nil && !ok[i] {
			entries.AppendNull()
			continue
		}
		entries.Append(true)
		if err := d.children[0].append(entries.KeyBuilder(), keys, int(e.offset), int(e.length)); err != nil {
			return err
		}
		if err := d.children[1].append(entries.ItemBuilder(), values, int(e.offset), int(e.length)); err != nil {
			return err
		}
	}
	return nil
}

func decodeStruct(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	row := b.(*array.StructBuilder)
	ok := valid(vec, from, n)
	if ok == nil {
		ok = make([]bool, n)
		for i := range ok {
			ok[i] = true
		}
	}
	row.AppendValues(ok)
	for i, c := range d.children {
		if err := c.append(row.FieldBuilder(i), mapping.StructVectorGetChild(vec, mapping.IdxT(i)), from, n); err != nil {
			return err
		}
	}
	return nil
}
