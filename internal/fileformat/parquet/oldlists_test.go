//go:build !noarrowgo

package parquet

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// listFile writes one column of lists [1, 2], [], null, [3] in the shape given;
// leafDef is the definition level of an element that is there.
func listFile(t *testing.T, column schema.Node, leafDef int16) []byte {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{column}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root)
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	cw, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	empty := min(1, leafDef-1)
	_, err = cw.(*file.Int32ColumnChunkWriter).WriteBatch([]int32{1, 2, 3}, []int16{leafDef, leafDef, empty, 0, leafDef}, []int16{0, 1, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if err := cw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestOldLists reads the forms of lists that Parquet had before today's.
func TestOldLists(t *testing.T) {
	must := schema.MustGroup
	leaf := func(name string, rep parquet.Repetition) schema.Node { return schema.NewInt32Node(name, rep, -1) }
	list := func(inner schema.Node) schema.Node {
		return must(schema.NewGroupNodeLogical("l", parquet.Repetitions.Optional, schema.FieldList{inner}, schema.NewListLogicalType(), -1))
	}
	group := func(name string, rep parquet.Repetition, kids ...schema.Node) schema.Node {
		return must(schema.NewGroupNode(name, rep, kids, -1))
	}
	req, opt, rep := parquet.Repetitions.Required, parquet.Repetitions.Optional, parquet.Repetitions.Repeated
	for _, c := range []struct {
		name    string
		column  schema.Node
		leafDef int16
		typ     string
		want    []string
	}{
		{"three levels", list(group("list", rep, leaf("element", opt))), 3, "ARRAY<INT>", []string{"[1,2]", "[]", "", "[3]"}},
		{"three levels, names of others", list(group("bag", rep, leaf("array_element", req))), 2, "ARRAY<INT NOT NULL>", []string{"[1,2]", "[]", "", "[3]"}},
		{"repeated leaf", list(leaf("element", rep)), 2, "ARRAY<INT NOT NULL>", []string{"[1,2]", "[]", "", "[3]"}},
		{"repeated group called array", list(group("array", rep, leaf("x", req))), 2, "ARRAY<ROW<x INT>>", []string{"[{1},{2}]", "[]", "", "[{3}]"}},
		{"repeated group called as the list", list(group("l_tuple", rep, leaf("x", req))), 2, "ARRAY<ROW<x INT>>", []string{"[{1},{2}]", "[]", "", "[{3}]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			alloc := checked(t)
			f, err := openBytes(listFile(t, c.column, c.leafDef), alloc)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fields := []types.Field{field(7, "l", c.typ)}
			var want []string
			for _, v := range [][]types.Value{{int64(1), int64(2)}, {}, nil, {int64(3)}} {
				var value types.Value
				if v != nil {
					list := []types.Value{}
					for _, e := range v {
						if fields[0].Type.Element.Root == types.Row {
							e = []types.Value{e}
						}
						list = append(list, e)
					}
					value = list
				}
				want = append(want, "|"+types.FormatValue(fields[0].Type, value))
			}
			sameRows(t, rowsOf(t, f, fileformat.ReadRequest{Columns: fields, BatchRows: 2}), want)
		})
	}
}

func TestBareRepeatedFieldIsRefused(t *testing.T) {
	data := listFile(t, schema.NewInt32Node("l", parquet.Repetitions.Repeated, -1), 1)
	f, err := openBytes(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Fields()[0].Type.String(); got != "ARRAY<INT NOT NULL> NOT NULL" {
		t.Errorf("shown as %s", got)
	}
	_, err = f.Read(context.Background(), fileformat.ReadRequest{Columns: f.Fields()})
	if tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("%v, want Unsupported", err)
	}
}
