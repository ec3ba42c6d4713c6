package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// randomType draws a type with members ids from next.
func randomType(t *rapid.T, depth int, next *int) types.Type {
	nullable := rapid.Bool().Draw(t, "nullable")
	if depth < 3 {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			e := randomType(t, depth+1, next)
			return types.Type{Root: types.Array, Nullable: nullable, Element: &e}
		case 1:
			k := types.MustParse(rapid.SampledFrom([]string{"INT NOT NULL", "STRING NOT NULL", "DATE NOT NULL"}).Draw(t, "key"))
			e := randomType(t, depth+1, next)
			return types.Type{Root: types.Map, Nullable: nullable, Key: &k, Element: &e}
		case 2:
			out := types.Type{Root: types.Row, Nullable: nullable}
			for i := range rapid.IntRange(1, 3).Draw(t, "members") {
				*next++
				id := *next
				out.Fields = append(out.Fields, types.Field{ID: id, Name: fmt.Sprintf("m%d", i), Type: randomType(t, depth+1, next)})
			}
			return out
		}
	}
	return types.MustParse(rapid.SampledFrom(scalarTypes).Draw(t, "scalar")).WithNull(nullable)
}

// TestRandomSchemas writes random values of random types under random options
// and reads them back, whole, projected and with members left out.
func TestRandomSchemas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
		id := 0
		var fields []types.Field
		for i := range rapid.IntRange(1, 4).Draw(rt, "columns") {
			id++
			own := id
			fields = append(fields, types.Field{ID: own, Name: fmt.Sprintf("c%d", i), Type: randomType(rt, 0, &id)})
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		rows := make([][]types.Value, rapid.IntRange(0, 120).Draw(rt, "rows"))
		for i := range rows {
			for _, f := range fields {
				rows[i] = append(rows[i], randomValue(r, f.Type, 0))
			}
		}
		rec := record(t, alloc, fields, rows)
		opts := fileformat.WriteOptions{
			Mem: alloc, Workers: rapid.IntRange(0, 3).Draw(rt, "workers"),
			Compression: rapid.SampledFrom([]string{"zstd", "none", "snappy"}).Draw(rt, "codec"),
			Options: map[string]string{
				"parquet.page.row.count.limit": fmt.Sprint(rapid.IntRange(1, 60).Draw(rt, "pageRows")),
				"parquet.page.size":            fmt.Sprint(rapid.IntRange(1, 2000).Draw(rt, "pageSize")),
				"parquet.block.size":           fmt.Sprint(rapid.IntRange(1, 4000).Draw(rt, "groupSize")),
			},
		}
		fs, _ := write(t, fields, opts, rec)
		want := textOf(fields, rec)
		info, err := fs.Stat(context.Background(), testPath)
		if err != nil {
			rt.Fatal(err)
		}
		f, err := Open(context.Background(), fs, testPath, info.Size, alloc)
		if err != nil {
			rt.Fatal(err)
		}
		f.plan = readPlan{least: 1, most: int64(rapid.IntRange(1, 500).Draw(rt, "window")), limit: int64(rapid.IntRange(0, 5000).Draw(rt, "limit")), gap: 10}
		f.tail, f.tailOff = f.tail[len(f.tail)-8:], f.Size-8 // nothing comes for free
		sameRows(t, rowsOf(t, f, fileformat.ReadRequest{
			Columns: fields, BatchRows: rapid.IntRange(1, 50).Draw(rt, "batch"), Workers: rapid.IntRange(0, 3).Draw(rt, "readers"),
		}), want)
		partial, want := lessMembers(fields), []string(nil)
		for _, row := range rows {
			var line []byte
			for c, p := range partial {
				line = append(line, '|')
				line = types.AppendValueText(line, p.Type, lessValue(fields[c].Type, p.Type, row[c]))
			}
			want = append(want, string(line))
		}
		sameRows(t, rowsOf(t, f, fileformat.ReadRequest{Columns: partial, BatchRows: 20}), want)
		f.Close()
		rec.Release()
		alloc.AssertSize(t, 0)
	})
}

// lessMembers renames everything and takes the first member of every ROW for
// one the file does not have: members are found by id.
func lessMembers(fields []types.Field) []types.Field {
	out := append([]types.Field(nil), fields...)
	for i := range out {
		out[i].Name = "x" + out[i].Name
		out[i].Type = lessType(out[i].Type)
	}
	return out
}

func lessType(t types.Type) types.Type {
	if t.Element != nil {
		e := lessType(*t.Element)
		t.Element = &e
	}
	if t.Root == types.Row {
		t.Fields = lessMembers(t.Fields)
		t.Fields[0].ID += 1000
		t.Fields[0].Type.Nullable = true
	}
	return t
}

func lessValue(from, to types.Type, v types.Value) types.Value {
	if v == nil {
		return nil
	}
	switch from.Root {
	case types.Array:
		out := []types.Value{}
		for _, e := range v.([]types.Value) {
			out = append(out, lessValue(*from.Element, *to.Element, e))
		}
		return out
	case types.Map:
		out := []types.Entry{}
		for _, e := range v.([]types.Entry) {
			out = append(out, types.Entry{Key: e.Key, Value: lessValue(*from.Element, *to.Element, e.Value)})
		}
		return out
	case types.Row:
		out := []types.Value{nil}
		for i, m := range v.([]types.Value)[1:] {
			out = append(out, lessValue(from.Fields[i+1].Type, to.Fields[i+1].Type, m))
		}
		return out
	}
	return v
}
